package pool

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"strings"
	"sync"
)

//go:embed statspage
var statsFiles embed.FS

// The page's scripts, in the order in which they are put together. They make one script,
// whose names are its own.
var statsScripts = []string{"fields.js", "format.js", "dom.js", "detail.js", "table.js", "live.js", "main.js"}

// A page is a document and its Content-Security-Policy.
type page struct{ html, policy string }

// statsPage is put together once: it has nothing of the process in it, all of which comes by
// the JSON.
var statsPage = sync.OnceValue(func() page {
	var js strings.Builder
	js.WriteString("(() => {\n\"use strict\";\n")
	for _, name := range statsScripts {
		js.WriteString(statsFile(name))
	}
	js.WriteString("})();\n")
	css := statsFile("page.css")
	return page{
		html: strings.NewReplacer("{{CSS}}", css, "{{JS}}", js.String()).Replace(statsFile("page.html")),
		policy: strings.Join([]string{
			"default-src 'none'",
			"script-src " + cspHash(js.String()),
			"style-src " + cspHash(css),
			"connect-src 'self'", // the JSON
			"img-src data:",      // the empty icon, so that a browser doesn't ask for /favicon.ico
			"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
			"require-trusted-types-for 'script'", // no text becomes markup
		}, "; "),
	}
})

// statsFile is a file that is known to be there: TestStatsPage reads them all.
func statsFile(name string) string {
	b, err := statsFiles.ReadFile("statspage/" + name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// cspHash is the source expression for an inline element with this content (CSP level 3,
// section 2.3.1).
func cspHash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

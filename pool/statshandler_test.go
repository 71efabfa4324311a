package pool

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fixedStats is a source whose snapshot never changes.
type fixedStats Stats

func (s fixedStats) Stats() Stats { return Stats(s) }

// askStats asks the handler as a client with these Accept headers does.
func askStats(method string, src StatsSource, target string, accept ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Header["Accept"] = accept
	w := httptest.NewRecorder()
	StatsHandler(src).ServeHTTP(w, r)
	return w.Result()
}

func TestStatsHandlerNegotiates(t *testing.T) {
	const chromium = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	tests := []struct {
		accept []string
		html   bool
	}{
		{nil, false},
		{[]string{"*/*"}, false}, // curl
		{[]string{"application/json"}, false},
		{[]string{"application/json, text/plain, */*"}, false},
		{[]string{chromium}, true},
		{[]string{"TEXT/HTML"}, true},
		{[]string{"text/*"}, false},
		{[]string{"image/webp", "text/html;q=0.5"}, true},
		{[]string{"text/html;q=0, */*"}, false},
		{[]string{"text/html;q=0.5, application/json"}, false},
		{[]string{"text/html, application/json;q=0.9"}, true},
		{[]string{"text/html;q=0.9;v=1, application/json;q=0.90"}, true},
		{[]string{"text/html;q=nonsense"}, false},
		{[]string{"text/html;q=NaN"}, false},
		{[]string{"text/html;q=2"}, false},
		{[]string{"text/html;level=1;Q=1"}, true},
		{[]string{""}, false},
	}
	for _, tt := range tests {
		want := "application/json"
		if tt.html {
			want = "text/html; charset=utf-8"
		}
		resp := askStats("GET", fixedStats{}, "/", tt.accept...)
		if got := resp.Header.Get("Content-Type"); got != want {
			t.Errorf("Accept %q: Content-Type %q, want %q", tt.accept, got, want)
		}
	}
}

func TestStatsHandlerHeaders(t *testing.T) {
	for _, accept := range []string{"text/html", "*/*"} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			resp := askStats(method, fixedStats{}, "/", accept)
			status := http.StatusOK
			if method == "POST" {
				status = http.StatusMethodNotAllowed
				if got := resp.Header.Get("Allow"); got != "GET, HEAD" {
					t.Errorf("%s: Allow %q", method, got)
				}
			}
			if resp.StatusCode != status {
				t.Errorf("%s, Accept %s: status %d, want %d", method, accept, resp.StatusCode, status)
			}
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "Vary": "Accept", "X-Content-Type-Options": "nosniff",
				"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
			} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s, Accept %s: %s is %q, want %q", method, accept, name, got, want)
				}
			}
		}
	}
}

// TestStatsPage checks that the policy lets what is inline run, and nothing else.
func TestStatsPage(t *testing.T) {
	resp := askStats("GET", fixedStats{}, "/", "text/html")
	html := contentOf(t, resp)
	policy := map[string][]string{}
	for d := range strings.SplitSeq(resp.Header.Get("Content-Security-Policy"), ";") {
		words := strings.Fields(d)
		policy[words[0]] = words[1:]
	}
	for element, directive := range map[string]string{"script": "script-src", "style": "style-src"} {
		found := regexp.MustCompile(`(?s)<`+element+`\b([^>]*)>(.*?)</`+element+`>`).FindAllStringSubmatch(html, -1)
		if len(found) != 1 || found[0][1] != "" || len(found[0][2]) < 1000 {
			t.Fatalf("want one inline %s, found %d", element, len(found))
		}
		sum := sha256.Sum256([]byte(found[0][2]))
		want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if got := policy[directive]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", directive, got, want)
		}
	}
	for directive, want := range map[string]string{
		"default-src": "'none'", "connect-src": "'self'", "img-src": "data:", "base-uri": "'none'",
		"form-action": "'none'", "frame-ancestors": "'none'", "require-trusted-types-for": "'script'",
	} {
		if got := strings.Join(policy[directive], " "); got != want {
			t.Errorf("%s is %q, want %q", directive, got, want)
		}
	}
	// What the policy would refuse, or what would need the network.
	for _, bad := range []string{"{{", "style=", " src=", "javascript:", "http:", "https:", "innerHTML", "insertAdjacentHTML", "document.write", "@import", "url("} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if regexp.MustCompile(`(?i)\son[a-z]+=`).MatchString(html) {
		t.Error("the page has a handler in an attribute")
	}
	if len(html) > 64<<10 {
		t.Errorf("the page has %d bytes", len(html))
	}
}

// TestStatsPageNamesFields checks that the page knows each field of the JSON. One that it
// doesn't know it shows under "Other": give it a place in statspage/fields.js.
func TestStatsPageNamesFields(t *testing.T) {
	var js strings.Builder
	for _, name := range statsScripts {
		js.WriteString(statsFile(name))
	}
	for _, name := range jsonNames(reflect.TypeFor[Stats]()) {
		if !regexp.MustCompile(`["'.]` + name + `\b`).MatchString(js.String()) {
			t.Errorf("the page doesn't know the field %q", name)
		}
	}
}

// jsonNames are the names of all fields in a type's JSON.
func jsonNames(typ reflect.Type) (names []string) {
	switch typ.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer:
		return jsonNames(typ.Elem())
	case reflect.Struct:
		for f := range typ.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names = append(names, name)
			}
			names = append(names, jsonNames(f.Type)...)
		}
	}
	return names
}

// TestStatsHandlerOfOneHost checks the query, with a source that has no StatsOf.
func TestStatsHandlerOfOneHost(t *testing.T) {
	all := fixedStats{Hosts: []HostStats{{Host: "a:80", Scheme: "http"}, {Host: "b:80"}, {Host: "a:80", Scheme: "https"}}}
	for target, want := range map[string]int{"/": 3, "/?host=a:80": 2, "/?host=b%3A80": 1, "/?host=c:80": 0} {
		var got Stats
		if err := json.Unmarshal([]byte(contentOf(t, askStats("GET", all, target, "*/*"))), &got); err != nil {
			t.Fatal(err)
		}
		if got.Hosts == nil || len(got.Hosts) != want {
			t.Errorf("%s: hosts %+v, want %d", target, got.Hosts, want)
		}
	}
}

func contentOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

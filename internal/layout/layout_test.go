// Package layout has no code: its test keeps the imports of the module going down.
package layout

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "example.com/connwise"

// allowed says which packages of the module each of them may depend on, directly or not.
// A package that isn't named here is refused, so that its place gets a thought.
var allowed = map[string][]string{
	"/health":               {},
	"/internal/untrace":     {},
	"/dialer":               {"/health", "/internal/untrace"},
	"/internal/wire":        {},
	"/internal/h1":          {"/internal/wire"},
	"/internal/h2":          {"/internal/wire"},
	"/internal/fakenet":     {},
	"/internal/texttable":   {},
	"/internal/layout":      {},
	"/internal/peer":        {},
	"/internal/scenario":    {},
	"/internal/oracle":      {},
	"/internal/frontproxy":  {"/internal/peer"},
	"/internal/realproxy":   {},
	"/pool":                 {"/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace"},
	"/retry":                {"/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace"},
	"/pool/poolprom":        {"/retry", "/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace"},
	"/internal/probe":       {"/dialer", "/health", "/internal/untrace"},
	"/bench":                {"/retry", "/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace", "/internal/peer", "/internal/texttable"},
	"/internal/sidecartest": {},
	"/internal/sidecar":     {"/retry", "/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace"},
	"/internal/cli":         {},
	"/internal/benchproxy":  {"/internal/frontproxy", "/bench", "/retry", "/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace", "/internal/peer", "/internal/texttable"},
	"/internal/benchhtml":   {"/bench", "/retry", "/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace", "/internal/peer", "/internal/texttable"},
	"/internal/benchdiff":   {"/bench", "/retry", "/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace", "/internal/peer", "/internal/texttable"},
	"/internal/benchcli":    {"/internal/cli", "/internal/benchhtml", "/internal/benchdiff", "/internal/benchproxy", "/internal/frontproxy", "/bench", "/retry", "/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace", "/internal/peer", "/internal/texttable"},
	"/cmd/connwise":         {"/internal/cli", "/internal/benchcli", "/internal/benchhtml", "/internal/benchdiff", "/internal/benchproxy", "/internal/frontproxy", "/internal/sidecar", "/pool/poolprom", "/bench", "/internal/probe", "/retry", "/pool", "/dialer", "/health", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace", "/internal/peer", "/internal/texttable"},
}

// core are the packages that a user of the library links. They may use these modules and
// the standard library, and nothing else.
var (
	core        = []string{"/health", "/dialer", "/pool", "/retry", "/internal/h1", "/internal/h2", "/internal/wire", "/internal/untrace"}
	coreModules = []string{"golang.org/x/net/", "golang.org/x/sync/", "golang.org/x/sys/", "golang.org/x/text/"}
)

func TestImportsGoDown(t *testing.T) {
	for _, pkg := range list(t, "list", "./...") {
		rel := strings.TrimPrefix(pkg, module)
		may, known := allowed[rel]
		if !known {
			t.Errorf("%s: which packages may it import? Add it to the table", pkg)
			continue
		}
		for _, dep := range list(t, "list", "-deps", pkg) {
			drel, own := strings.CutPrefix(dep, module)
			if own && drel != rel && !slices.Contains(may, drel) {
				t.Errorf("%s depends on %s", pkg, dep)
			}
			if !own && slices.Contains(core, rel) && strings.Contains(strings.Split(dep, "/")[0], ".") &&
				!slices.ContainsFunc(coreModules, func(m string) bool { return strings.HasPrefix(dep, m) }) {
				t.Errorf("%s, which users link, depends on %s", pkg, dep)
			}
		}
	}
}

// list runs the go command in the module's root.
func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

package probe

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	req, err := http.NewRequest(http.MethodGet, "http://host/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("user", "pass word")
	added := http.Header{"A": {"Bearer tok.en", `with "quotes"`, "abc"}, "B": {"tok.en and more"}}
	m := maskOf(added, req)
	for text, want := range map[string]string{
		"nothing of it, abc":               "nothing of it, abc",
		"said tok.en":                      "said [hidden]",
		"said Bearer tok.en and more":      "said Bearer [hidden]",
		fmt.Sprintf("%q", `with "quotes"`): `"[hidden]"`,
		"Basic dXNlcjpwYXNzIHdvcmQ=":       "[hidden]",
		"dXNlcjpwYXNzIHdvcmQ= pass word":   "[hidden] [hidden]",
		"a\x1b[2J\r\n\xff":                 "a?[2J???",
	} {
		if got := m.text(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := m.text(strings.Repeat("x", maxText-2) + "tok.en"); len(got) != maxText || strings.Contains(got, "to") {
		t.Errorf("a cut text ends with %q", got[maxText-10:])
	}
}

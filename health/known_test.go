package health

import (
	"net/url"
	"regexp"
	"slices"
	"testing"
	"time"
)

func TestKnownTable(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for i, p := range known {
		if !name.MatchString(p.Name) || i > 0 && p.Name <= known[i-1].Name {
			t.Errorf("%q is no name, or not in its place", p.Name)
		}
		if u, err := url.Parse(p.Doc); err != nil || u.Scheme != "https" || u.Host == "" || u.Path == "" {
			t.Errorf("%s: the document %q is no https URL", p.Name, p.Doc)
		}
		for _, d := range []time.Duration{p.Idle, p.Unused} {
			if d != 0 && (d < time.Second || d > time.Hour || d%time.Second != 0) {
				t.Errorf("%s: %v is no timeout", p.Name, d)
			}
		}
		if p.Title == "" || p.Idle == 0 && p.Note == "" {
			t.Errorf("%s: there is something to say", p.Name)
		}
	}
}

func TestKnown(t *testing.T) {
	names := KnownNames()
	if !slices.IsSorted(names) || len(names) != len(known) {
		t.Errorf("names are %v", names)
	}
	for _, name := range names {
		if p, ok := Known(name); !ok || p.Name != name {
			t.Errorf("Known(%q) = %q, %v", name, p.Name, ok)
		}
	}
	for name, want := range map[string]time.Duration{"AWS-ALB": time.Minute, "Nginx": 75 * time.Second} {
		if p, ok := Known(name); !ok || p.Idle != want {
			t.Errorf("Known(%q).Idle = %v, %v", name, p.Idle, ok)
		}
	}
	for _, name := range []string{"", "nginx ", "netscape"} {
		if p, ok := Known(name); ok || p != (Proxy{}) {
			t.Errorf("Known(%q) = %v, %v", name, p, ok)
		}
	}
	names[0] = "changed"
	if KnownNames()[0] == "changed" {
		t.Error("the table can be changed from outside")
	}
}

package bench

import (
	"errors"
	"testing"
)

func TestAbsent(t *testing.T) {
	p, err := Options{Scenarios: []string{"steady", "goaway", "cancel"}, Protos: []string{"h1", "h1s", "h2"}}.plan()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		has  func(scenario, proto string) bool
		want string
	}{
		"in all":               {nil, ""},
		"in none":              {func(string, string) bool { return false }, "all rows"},
		"of a protocol":        {func(_, q string) bool { return q != "h2" }, "h2"},
		"of a scenario":        {func(s, _ string) bool { return s != "goaway" }, "goaway"},
		"of both":              {func(s, q string) bool { return q != "h2" && s != "cancel" }, "h2, cancel"},
		"of some rows":         {func(s, q string) bool { return q != "h1" || s == "steady" }, "goaway h1, cancel h1"},
		"the floor's, in part": {Floor().Has, "h2, goaway, cancel"},
	} {
		if got := p.absent(Client{Name: name, Has: tt.has}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestRunWithoutARowIsRefused(t *testing.T) {
	o := Options{Scenarios: []string{"steady"}, Protos: []string{"h2"}, Clients: []Client{Floor()}}
	if _, err := o.plan(); err == nil {
		t.Error("a run of nothing was accepted")
	} else if usage, ok := errors.AsType[*UsageError](err); !ok || usage.Option != "client" {
		t.Errorf("got %v", err)
	}
	o.Clients = append(o.Clients, NetHTTP())
	if _, err := o.plan(); err != nil {
		t.Error(err)
	}
}

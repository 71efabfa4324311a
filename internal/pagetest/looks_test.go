package pagetest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/accessibility"

	"example.com/connwise/pool"
)

// contrast finds text of less contrast than WCAG 2.2's criterion 1.4.3 asks for, in the
// colours of the page.
const contrast = `(() => {
	const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length === 3 ? [...m, 1] : m; };
	const lum = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
		.reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
	const back = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } throw "no background"; };
	const poor = [];
	let n = 0;
	for (const e of document.querySelectorAll("body *")) {
		const text = [...e.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
		if (!text || !e.checkVisibility() || e.tagName === "SCRIPT" || e.tagName === "NOSCRIPT") continue;
		const [a, b] = [lum(parse(getComputedStyle(e).color)), lum(back(e))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		n++;
		if (ratio < 4.5) poor.push(ratio.toFixed(2) + " " + e.outerHTML.slice(0, 120));
	}
	return n > 100 ? poor.slice(0, 20) : ["only " + n + " texts"];
})()`

// TestLooks looks at the page in both colour schemes, with 3 and with 500 hosts, with details
// and an error, for contrast, motion, and what is wider than a narrow window.
func TestLooks(t *testing.T) {
	for _, dark := range []bool{false, true} {
		for _, n := range []int{3, 500} {
			name := fmt.Sprintf("%d-%s", n, map[bool]string{false: "light", true: "dark"}[dark])
			t.Run(name, func(t *testing.T) {
				p := open(t, pool.StatsHandler(fleet(n)), look{dark: dark, fragment: "#live=0&open=https%3A%2F%2Fhost-001.example%3A443"})
				p.shows(n)
				p.until(`document.querySelector(".detail tbody td")`)
				p.shoot(name)
				eval[bool](p, `(document.getElementById("error").textContent = "Can't refresh", true)`)
				if poor := eval[[]string](p, contrast); len(poor) > 0 {
					t.Errorf("too little contrast: %q", poor)
				}
				if moves := eval[int](p, `[...document.querySelectorAll("*")].filter((e) => { const s = getComputedStyle(e); return s.animationName !== "none" || s.transitionDuration !== "0s"; }).length`); moves > 0 {
					t.Errorf("%d elements move", moves)
				}
			})
		}
	}
	t.Run("narrow", func(t *testing.T) {
		p := open(t, pool.StatsHandler(fleet(3)), look{width: 420, height: 900, fragment: "#live=0&open=https%3A%2F%2Fhost-001.example%3A443"})
		p.shows(3)
		p.until(`document.querySelector(".detail tbody td")`)
		p.shoot("narrow")
		if wide := eval[[]string](p, `[...document.querySelectorAll("header, .controls, #total, .detail .boxes, caption")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.outerHTML.slice(0, 100))`); len(wide) > 0 {
			t.Errorf("beyond the window: %q", wide)
		}
	})
}

// TestScreenReader reads the accessibility tree.
func TestScreenReader(t *testing.T) {
	p := open(t, pool.StatsHandler(fleet(3)), look{fragment: "#sort=-sent&live=0"})
	p.shows(3)
	tree := call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	roles, named := map[string]int{}, map[string]string{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role, name := text(n.Role), text(n.Name)
		roles[role]++
		named[role] = name
		switch role {
		case "button", "searchbox", "combobox", "columnheader", "rowheader", "table", "heading", "group", "search", "region":
			if name == "" {
				t.Errorf("a %s has no name", role)
			}
		}
	}
	for role, want := range map[string]int{"rowheader": 3 + 4, "searchbox": 1, "combobox": 2, "main": 1, "status": 1, "alert": 1, "heading": 1 + 2 + 4} {
		if roles[role] != want {
			t.Errorf("%d of role %s, want %d", roles[role], role, want)
		}
	}
	if name := eval[string](p, `document.title`); name == "" || eval[string](p, "document.documentElement.lang") != "en" {
		t.Errorf("title %q", name)
	}
}

func text(v *accessibility.Value) string {
	if v == nil || v.Value == nil {
		return ""
	}
	var s string
	_, _ = fmt.Sscanf(string(v.Value), "%q", &s)
	return s
}

// TestThePolicyIsInForce tries what the policy forbids: the tests' silence about violations
// means something.
func TestThePolicyIsInForce(t *testing.T) {
	p := open(t, pool.StatsHandler(fleet(3)), look{errors: true, fragment: "#live=0"})
	p.shows(3)
	eval[bool](p, `(() => {
		const s = document.createElement("script");
		try { s.textContent = "window.ran = 1"; document.body.append(s); } catch {}
		document.body.setAttribute("style", "color: red");
		return true;
	})()`)
	if eval[bool](p, "window.ran === 1") {
		t.Error("a script that isn't the page's ran")
	}
	p.until(`getComputedStyle(document.body).color !== "rgb(255, 0, 0)"`)
	if p.console() == "" {
		t.Error("the console says nothing of violations")
	}
	if got := eval[int](p, `fetch("/elsewhere").then((r) => r.status)`); got != http.StatusOK {
		t.Errorf("its own origin answers %d", got) // the handler is mounted everywhere
	}
}

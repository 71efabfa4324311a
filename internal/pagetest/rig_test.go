package pagetest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"
)

// browser is the context of the one Chromium in which each test has a tab.
var browser context.Context

func TestMain(m *testing.M) {
	end := startBrowser()
	code := m.Run()
	end()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// startBrowser leaves browser nil where there is no Chromium.
func startBrowser() (end func()) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return func() {}
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true))
	alloc, endAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, endTab := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chromium doesn't start:", err)
		os.Exit(1)
	}
	browser = ctx
	return func() {
		_ = chromedp.Cancel(ctx) // waits for the process
		endTab()
		endAlloc()
	}
}

// A look is how the page is looked at.
type look struct {
	dark          bool
	width, height int64 // zero: 1400 x 900
	fragment      string
	script        string // runs before the page's own
	errors        bool   // what the console says is no failure of the test
}

// A tab shows the page of a handler.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu   sync.Mutex
	said []string // by the console, violations of the Content-Security-Policy among it
}

// open serves h and opens its page. What appears on the console by the end fails the test.
func open(t *testing.T, h http.Handler, l look) *tab {
	t.Helper()
	if browser == nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is not installed, and CI=true")
		}
		t.Skip("chromium is not installed")
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	p := &tab{t: t}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(p.listen))
	t.Cleanup(cancel)
	p.do(ctx)
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	t.Cleanup(stop)
	p.ctx = ctx
	p.prepare(&l)
	p.do(ctx, chromedp.Navigate(srv.URL+"/debug/connwise"+l.fragment))
	t.Cleanup(func() {
		if said := p.console(); said != "" && !l.errors {
			t.Errorf("the console says:\n%s", said)
		}
	})
	return p
}

func (p *tab) prepare(l *look) {
	p.t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	if l.width == 0 {
		l.width, l.height = 1400, 900
	}
	call(p, log.Enable, cdp.Empty{})
	call(p, runtime.Enable, cdp.Empty{})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: l.script})
	p.do(p.ctx, chromedp.EmulateViewport(l.width, l.height))
}

// listen collects what the console says.
func (p *tab) listen(ev any) {
	said := ""
	switch ev := ev.(type) {
	case *log.EventEntryAdded:
		said = fmt.Sprintf("%s %s: %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text)
	case *runtime.EventExceptionThrown:
		said = fmt.Sprintf("exception: %+v", ev.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		said = fmt.Sprintf("console.%s", ev.Type)
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, said)
}

func (p *tab) console() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.said, "\n")
}

func (p *tab) do(ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// call runs a command of the DevTools protocol.
func call[P, R any](p *tab, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	r, err := chromedp.Call(p.ctx, cmd, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// eval evaluates an expression in the page, and waits for it if it is a promise. DevTools may
// do so in spite of the policy.
func eval[T any](p *tab, js string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// until looks at each frame whether an expression has become true.
func (p *tab) until(js string) {
	p.t.Helper()
	ok := eval[bool](p, fmt.Sprintf(`new Promise((done) => {
		const end = performance.now() + 10000;
		(function look() {
			if (%s) done(true);
			else if (performance.now() > end) done(false);
			else requestAnimationFrame(look);
		})();
	})`, js))
	if !ok {
		p.t.Fatalf("never true: %s; the page says:\n%.2000s", js, eval[string](p, "document.body.innerText"))
	}
}

// shows waits until the first state is there.
func (p *tab) shows(hosts int) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelectorAll('#hosts > tbody > tr:not(.detail)').length === %d", hosts))
}

// press presses keys one after the other, as a user does.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.do(p.ctx, chromedp.KeyEvent(k))
	}
}

// shoot keeps a picture in the directory CONNWISE_SCREENSHOTS, if that is set.
func (p *tab) shoot(name string) {
	p.t.Helper()
	dir := os.Getenv("CONNWISE_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

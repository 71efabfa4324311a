//go:build proxies && unix

package realproxy

import (
	"net"
	"os"
	"os/user"
	"testing"
	"time"
)

// reloadWait is how long a proxy may take to notice that it shall reload.
const reloadWait = time.Second

// A kind is a kind of proxy: how it is configured, started and reloaded. Clients connect to
// the last of its programs, and that one is reloaded.
type kind struct {
	name     string
	programs []program
	files    func(settings) map[string]string // the text of each, by its name in settings.dir

	reload     os.Signal               // nil with nil reloadArgs: it can't reload
	reloadArgs func(settings) []string // of a command that makes the running one reload, and ends after that
	reloading  string                  // what it says when it was told by reload
	replaced   string                  // what it says when the old configuration ends

	coarse  bool    // takes up to 2.4 times the idle timeout to close a connection
	limits  bool    // heeds settings.requests over HTTP/1.1, and over HTTP/2 if it's tested with that
	unused  []proto // over which it heeds settings.unused; over others such connections have the idle timeout, or none
	says408 bool    // as it closes them, over HTTP/1.1
	tells   bool    // says its idle timeout in a header, unasked or to those who ask to be kept alive

	// What it does on HTTP/2 connections.
	silentIdle bool   // closes idle ones without a GOAWAY
	deafIdle   bool   // a PING that it answers doesn't delay that
	cutsReload bool   // a reload cuts requests that run
	cutting    string // what it says when it cuts requests that it had taken, against its intent
}

// closed is after how many of its idle timeouts an idle connection is sure to be closed.
func (k kind) closed() float64 {
	if k.coarse {
		return 2.6
	}
	return 1.2
}

// allKinds are all that speak HTTP/2, and reloadKinds those of them with a graceful reload.
// http1Kinds are tested over HTTP/1.1, plain and with TLS.
var (
	http1Kinds  = []kind{nginx, haproxy, caddy, apache, node}
	silentKinds = []kind{nghttpx, hitch, ats} // send no GOAWAY before they close an idle connection
	allKinds    = []kind{nginx, haproxy, caddy, nghttpx, h2o, lighttpd, hitch, ats}
	reloadKinds = []kind{nginx, haproxy, caddy, nghttpx, h2o, lighttpd, hitch}
)

// A program is one that runs in the foreground and says on stdout or stderr when a
// configuration has come into force.
type program struct {
	name    string
	args    func(settings) []string
	running string
}

// ownUser is the user's name for configurations, where proxies started by root want
// to be told whose their workers shall be: others can't read the test's directory.
// Empty for all but root: workers stay who they are.
func ownUser() string {
	if os.Geteuid() != 0 {
		return ""
	}
	if u, err := user.LookupId("0"); err == nil {
		return u.Username
	}
	return "root"
}

// whenRoot is the line for root only.
func whenRoot(line string) string {
	if ownUser() == "" {
		return ""
	}
	return line
}

func TestReloadReplacesTheWorkers(t *testing.T) {
	for _, v := range direct(variants(reloadKinds, overH2), variants(http1Kinds, overTLS)) {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, v, shortIdle)
			k := v.kind
			if n, _ := r.proxy.front().out.count(k.replaced); n != 0 {
				t.Fatalf("it said %q before the reload", k.replaced)
			}
			if err := r.proxy.reloadNow(); err != nil {
				t.Fatal(err)
			}
			if err := r.proxy.front().await(k.replaced, 1, startTime); err != nil {
				t.Error(err)
			}
			if err := r.proxy.passesOn(); err != nil {
				t.Errorf("after the reload: %v", err)
			}
		})
	}
}

// split is net.SplitHostPort of an address that is known to be well-formed.
func split(addr string) (host, port string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err)
	}
	return host, port
}

// seconds is d for a configuration that takes whole seconds.
func seconds(d time.Duration) int { return int(d / time.Second) }

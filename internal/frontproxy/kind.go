//go:build unix

package frontproxy

import (
	"os"
	"os/user"
	"slices"
)

// A Kind is a kind of proxy: how it is configured, started and reloaded, and what is known of
// it. Clients connect to the last of its programs, and that one is reloaded.
type Kind struct {
	Name     string
	programs []program
	files    func(setup) map[string]string // the text of each, by its name in setup.dir

	reload     os.Signal            // nil with nil reloadArgs: it can't reload
	reloadArgs func(setup) []string // of a command that makes the running one reload, and ends after that
	reloading  string               // what it says when it was told by reload

	version  []string // arguments that make the front program say its version
	Replaced string   // what it says when the old configuration ends
	Protos   []Proto  // that it can be told to speak

	Seconds bool    // takes whole seconds for Settings.Idle
	Coarse  bool    // takes up to 2.4 times the idle timeout to close a connection
	Limits  []Proto // over which it heeds Settings.Requests
	Unused  []Proto // over which it heeds Settings.Unused; over others such connections have the idle timeout, or none
	Says408 bool    // as it closes them, over HTTP/1.1
	Tells   bool    // says its idle timeout in a header, unasked or to those who ask to be kept alive

	// What it does on HTTP/2 connections.
	SilentIdle bool   // closes idle ones without a GOAWAY
	DeafIdle   bool   // a PING that it answers doesn't delay that
	CutsReload bool   // a reload cuts requests that run
	Cutting    string // what it says when it cuts requests that it had taken, against its intent
}

// KindNamed returns the kind of that name.
func KindNamed(name string) (k Kind, ok bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{Nginx, HAProxy, Caddy, Apache, Nghttpx, H2O, Lighttpd, Hitch, ATS, Node}
}

// A program is one that runs in the foreground and says on stdout or stderr when a
// configuration has come into force.
type program struct {
	name    string
	args    func(setup) []string
	running string
}

// Reloads tells whether the kind can reload.
func (k Kind) Reloads() bool { return k.reload != nil || k.reloadArgs != nil }

// Closed is after how many of its idle timeouts an idle connection is sure to be closed.
func (k Kind) Closed() float64 {
	if k.Coarse {
		return 2.6
	}
	return 1.2
}

// ownUser is the user's name for configurations, where proxies started by root want
// to be told whose their workers shall be: others can't read the proxy's directory.
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

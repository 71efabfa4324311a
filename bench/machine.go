package bench

import (
	"runtime"
	"runtime/debug"
)

// A Machine is where a run took place, and what with.
type Machine struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`             // that the process may use
	CPU     string `json:"cpu,omitempty"`    // the model, where the system tells
	System  string `json:"system,omitempty"` // kernel and its version, where it tells
	Go      string `json:"go"`
	Version string `json:"version"` // of this module
}

// module is this module's path.
const module = "example.com/connwise"

func thisMachine() Machine {
	return Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		CPU: cpuModel(), System: systemVersion(),
		Go: runtime.Version(), Version: version(),
	}
}

// version is this module's, with the revision that it was built from where that is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}

// builtIn is a module's path with the version that this program was built with; the path alone
// where that isn't known, and empty without one.
func builtIn(path string) string {
	info, ok := debug.ReadBuildInfo()
	if path == "" || !ok {
		return path
	}
	for _, dep := range info.Deps {
		if dep.Path == path {
			return path + " " + dep.Version
		}
	}
	return path
}

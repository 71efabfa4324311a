//go:build !linux

package scenario

// deaf would return an address that answers no SYN.
func (r *rig) deaf() string {
	r.t.Skip("no socket here refuses to answer a SYN")
	return ""
}

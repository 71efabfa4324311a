//go:build !linux

package bench

func cpuModel() string      { return "" }
func systemVersion() string { return "" }

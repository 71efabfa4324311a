//go:build !linux

package health

func watch(w *Watcher) bool { return canPeek && sweeping.add(w) }

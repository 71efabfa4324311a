//go:build unix

package frontproxy

import (
	"bytes"
	"sync"
)

// maxOutput bounds an output, in bytes. A reload is a few lines.
const maxOutput = 1 << 20

// An output is what a process has said: the first maxOutput bytes of it.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed and replaced by every Write
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b[:min(len(b), maxOutput-o.text.Len())])
	close(o.changed)
	o.changed = make(chan struct{})
	return len(b), nil
}

// read has f look at the text, which f may not keep. changed is closed when there is more.
func (o *output) read(f func(text []byte)) (changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(o.text.Bytes())
	return o.changed
}

func (o *output) String() (s string) {
	o.read(func(text []byte) { s = string(text) })
	return s
}

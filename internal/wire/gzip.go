package wire

import (
	"compress/gzip"
	"io"
	"sync"
)

// gunzips has idle gzip.Readers: one costs 40 KiB to make.
var gunzips sync.Pool // of *gzip.Reader

// A Gunzip decodes an answer's body. It begins with the first Read, so that an answer can
// be returned before its body has come. It is not safe for concurrent use.
type Gunzip struct {
	src io.Reader
	zr  *gzip.Reader
	err error // sticky
}

// NewGunzip returns a decoder of src.
func NewGunzip(src io.Reader) *Gunzip { return &Gunzip{src: src} }

// Read decodes. Its errors are sticky, and give the decoder back, as io.EOF does.
func (g *Gunzip) Read(p []byte) (int, error) {
	if g.zr == nil && g.err == nil {
		g.zr, g.err = getGunzip(g.src)
	}
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.zr.Read(p)
	if err != nil {
		g.Drop(err)
	}
	return n, err
}

// Drop gives the decoder back; reads return err from now on.
func (g *Gunzip) Drop(err error) {
	if g.err == nil {
		g.err = err
	}
	if g.zr != nil {
		g.zr.Reset(nothing{}) // drops the reference to src
		gunzips.Put(g.zr)
		g.zr = nil
	}
}

func getGunzip(src io.Reader) (*gzip.Reader, error) {
	zr, _ := gunzips.Get().(*gzip.Reader)
	if zr == nil {
		return gzip.NewReader(src)
	}
	if err := zr.Reset(src); err != nil {
		zr.Reset(nothing{})
		gunzips.Put(zr)
		return nil, err
	}
	return zr, nil
}

// nothing is an empty reader.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

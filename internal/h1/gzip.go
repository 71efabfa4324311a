package h1

import (
	"compress/gzip"
	"io"
	"sync"
)

// gunzips has idle gzip.Readers: one costs 40 KiB to make.
var gunzips sync.Pool // of *gzip.Reader

// A gunzip decodes src. It begins with the first read, so that an answer can be
// returned before its body has come. Exchange.rmu guards it.
type gunzip struct {
	src io.Reader
	zr  *gzip.Reader
	err error // sticky
}

func (g *gunzip) read(p []byte) (int, error) {
	if g.zr == nil && g.err == nil {
		g.zr, g.err = getGunzip(g.src)
	}
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.zr.Read(p)
	if err != nil {
		g.drop(err)
	}
	return n, err
}

// drop gives the decoder back; reads return err from now on.
func (g *gunzip) drop(err error) {
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

// dropGzip gives the decoder back. x.rmu is held.
func (x *Exchange) dropGzip() {
	if x.gz != nil {
		x.gz.drop(io.EOF)
	}
}

package untrace

import (
	"context"
	"net/http/httptrace"
	"testing"
)

func TestContext(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "v"))
	called := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { called = true }})
	bare := Context(ctx)
	if httptrace.ContextClientTrace(bare) != nil {
		t.Error("the trace is still there")
	}
	over := httptrace.WithClientTrace(bare, &httptrace.ClientTrace{GotFirstResponseByte: func() {}})
	if httptrace.ContextClientTrace(over).GotFirstResponseByte(); called {
		t.Error("the old hook was called")
	}
	if bare.Value(key{}) != "v" {
		t.Error("a value is gone")
	}
	if cancel(); bare.Err() == nil {
		t.Error("the context's end is gone")
	}
}

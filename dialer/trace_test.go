package dialer

import (
	"context"
	"net/http/httptrace"
	"testing"
)

// What a resolver does on the network isn't the request's; its lookup is.
func TestLookupTraceHasTheDNSHooksAlone(t *testing.T) {
	for name, trace := range map[string]*httptrace.ClientTrace{
		"all":            {DNSStart: func(httptrace.DNSStartInfo) {}, ConnectStart: func(string, string) {}, GotFirstResponseByte: func() {}},
		"no DNS hook":    {ConnectStart: func(string, string) {}},
		"nothing at all": {},
	} {
		ctx := httptrace.WithClientTrace(context.Background(), trace)
		got := httptrace.ContextClientTrace(lookupTrace(ctx))
		if got.ConnectStart != nil || got.GotFirstResponseByte != nil {
			t.Errorf("%s: a hook that isn't DNS's is left", name)
		}
		if trace.DNSStart != nil && got.DNSStart == nil {
			t.Errorf("%s: the DNS hook is gone", name)
		}
	}
	if ctx := context.Background(); lookupTrace(ctx) != ctx {
		t.Error("a context without a trace was wrapped")
	}
}

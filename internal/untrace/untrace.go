// Package untrace takes an httptrace out of a context, so that other hooks can take its
// place: httptrace.WithClientTrace calls a trace that is there already as well.
package untrace

import (
	"context"
	"net/http/httptrace"
)

// Context returns ctx with all but its trace. Put another trace with at least one of the
// DNS or connect hooks on top: package net finds those by a key of its own, which only
// that hides.
func Context(ctx context.Context) context.Context { return untraced{ctx} }

type untraced struct{ context.Context }

func (u untraced) Value(key any) any {
	v := u.Context.Value(key)
	if _, ok := v.(*httptrace.ClientTrace); ok {
		return nil
	}
	return v
}

package dialer

import (
	"context"
	"slices"
)

type avoidKey struct{}

// maxAvoided bounds what a context can ask to avoid.
const maxAvoided = 8

// Avoid returns a context in which dials try addr, an "ip:port", behind the other addresses of
// a name, along with those that ctx avoids already (the last 8 count). It's a preference: where
// there is no other address, or none that connects, addr is as good as ever. Behind a proxy
// it's about the proxy's addresses. Hooks get the context, and do with it what they want.
func Avoid(ctx context.Context, addr string) context.Context {
	was := Avoided(ctx)
	if addr == "" || slices.Contains(was, addr) {
		return ctx
	}
	was = was[max(0, len(was)-maxAvoided+1):]
	return context.WithValue(ctx, avoidKey{}, append(slices.Clone(was), addr))
}

// Avoided returns the addresses that ctx was told to avoid. The caller must not change it.
func Avoided(ctx context.Context) []string {
	addrs, _ := ctx.Value(avoidKey{}).([]string)
	return addrs
}

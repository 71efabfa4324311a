// Package sidecar is `connwise proxy`: a reverse proxy in front of one upstream, for
// services in any language. Its client speaks plain HTTP to a loopback port or a Unix socket;
// the connections to the upstream are those of package pool, and package retry sends again
// what may be sent again.
//
// # A request's walk
//
//  1. net/http's server reads it (server.go), HTTP/1.1 or HTTP/2 without TLS.
//  2. Proxy.ServeHTTP (proxy.go) enters the generation in force (generation.go): the settings,
//     the pool and the policy that the request keeps to its end, whatever is reloaded meanwhile.
//  3. A small body is read before anything is sent (replay.go), so that it can be sent again.
//     What is larger, or doesn't end soon (late.go), streams through, and can be sent again only
//     as long as nothing was read of it.
//  4. httputil.ReverseProxy takes the hop-by-hop fields away, and rewrite.go aims the request at the
//     upstream. retry.Transport sends it, over pool.Transport.
//  5. The answer streams back. If it breaks off, so does the client's connection. If there is none, the
//     answer that answer.go makes says what is known of the request.
//
// # Settings
//
// settings.go has them as one value, table*.go the key, the meaning and the field of each, and from
// that table come the flags, the file (file.go, where errors have their line), and what is
// printed (print.go). load.go puts file and flags together; build.go makes a pool and a policy of it.
package sidecar

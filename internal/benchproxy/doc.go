// Package benchproxy gives the bench real proxies to put between clients and its peer:
// those of internal/frontproxy, on Unix.
package benchproxy

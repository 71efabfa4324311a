// Package wire has what the protocols of HTTP share with their user, package pool: a
// request and how it is to be sent, the facts of an exchange and its end, the errors, and
// what doesn't depend on how messages are framed. It has no policy.
package wire

// Package recipes shows connwise under libraries that it doesn't depend on: its examples run
// with them. It is a module of its own, so that they stay out of go.mod; `make test-recipes`
// runs it.
//
// google.golang.org/api isn't among them: for its option.WithHTTPClient a go command fetches
// every Google API and gRPC, 0.6 GB unpacked. Package retry's example of options shows the same
// with a stand-in.
package recipes

// Package pagetest tests the page of pool.StatsHandler in headless Chromium. It is a module of
// its own, so that what drives the browser stays out of go.mod; `make test-page` runs it, and
// needs Debian's package chromium. Without it the tests are skipped; with CI=true they fail.
package pagetest

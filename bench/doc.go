// Package bench compares HTTP clients under what proxies do to them: steady load,
// cold bursts, the race with an idle timeout, restarts, GOAWAYs. It takes any
// http.RoundTripper and puts connwise and net/http into one table.
//
// Run starts a peer in a child process, so that the CPU time and the allocations
// it measures are the client's (and those of the loop that calls it, the same for
// all), and asks the peer afterwards what it executed. So it doesn't have to trust
// a client's word: a call that failed although it was never executed, one that was
// executed twice, and one that was reported done and never executed are counted
// from the peer's record. The calling program has to give ChildMain a chance:
//
//	func main() {
//		if bench.IsChild() {
//			os.Exit(bench.ChildMain(os.Stdin, os.Stdout, os.Stderr))
//		}
//		...
//	}
//
// Calls are made in a closed loop, by so many callers of which each waits for its answer, or
// in an open one (Options.Load): at a rate, at random times, in bursts, on a ramp, or as a log
// recorded them. There a call's latency counts from when it was due. A measurement that
// waits for the answer before it sends the next request leaves out those that would have
// been sent meanwhile, which is called coordinated omission.
//
// The clients take turns within each row, on a new client and a new port each
// time, so that a machine that gets slower or faster meanwhile does so for all.
//
// With Options.Proxies real proxies stand between the clients and the peer, one after the
// other, with scenarios for them.
//
// With Options.Target the load goes to a server of one's own. There is no record
// then, and the columns that come from it are empty.
package bench

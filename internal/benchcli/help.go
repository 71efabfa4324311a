package benchcli

import (
	"strings"

	"example.com/connwise/bench"
	"example.com/connwise/internal/cli"
)

// longHelp tells what the command does, with clients of these names.
func longHelp(known []bench.Client, names []string) string {
	return `bench runs HTTP clients in turn against a faulty server of its own, in a process of
its own, and prints a row for each scenario, protocol and client.

Clients:
` + listHelp(names, func(name string) string { return noteOf(known, name) }) + `
All run in this process, in turns, with the same GOMAXPROCS. --max-conns is the limit
of each; --max-wait is for those that have such a setting, as connwise has: net/http
waits for a connection until the call ends. Below the table it says which client has
no part in which rows.

Scenarios:
` + listHelp(bench.ScenarioNames(), bench.About) + `
Protocols:
` + listHelp(bench.ProtoNames(), bench.AboutProto) + `
The server has one port for each row and speaks its protocol alone; over HTTP/2 it
takes 128 streams at a time on a connection. An answer by another protocol is a failure.

` + loadHelp + `
` + columnsHelp + reportHelp + `
With --proxy each of these real proxies, which has to be installed, stands between the
clients and the server, over h1 and h2 or what --proto names (no h2c). It is started for
each row, listens on loopback, and ends with it. There are other scenarios then:
` + listHelp(bench.ProxiedScenarioNames(), bench.AboutProxied) + `
Dials are then counted at the client, and "late" is the longest in milliseconds that a
timer of this process was late: where that comes near a tenth of the idle timeout,
failures in idle-race are the machine's as much as the client's. What a proxy can't do
is not run, and said below the table. There is one client more, connwise+confirm, in
restart over HTTP/1.1: it asks for a sign of life before each POST.

With --target the load goes to your own server: one GET for each protocol to see that
it's there, and then GETs of the scenario steady; burst runs only when named, nothing
else at all, with --all neither. HTTP/2 is used only where --proto names it. The server's
certificate has to be one that the system trusts, or (not on macOS and Windows) one that
the environment names: SSL_CERT_FILE=ca.pem connwise bench --target https://...
Each row sends at most --requests (1000 without it), and no request twice: connwise's
retries are off. Burst's waves are as large as --burst and --requests allow; --workers
doesn't bound them. A call that takes longer than --call-timeout (10s without it) has
failed. What the server executed isn't known, and such columns are left out. --load is taken,
and the notice that is printed before anything is sent says how much it is; its requests
are bounded by --requests all the same.`
}

const examples = `  connwise bench
  connwise bench --scenario idle-race,restart --proto h1s --duration 10s
  connwise bench --scenario goaway --proto h2,h2c
  connwise bench --scenario burst --proto h1s --burst 1000 --delay 200ms --duration 10s --rounds 5
  connwise bench --scenario burst --proto h1s --burst 1000 --max-conns 32 --max-wait 5s
  connwise bench --scenario burst-warm --proto h1s --duration 20s --rounds 1
  connwise bench --scenario steady --workers 64 --json
  connwise bench --scenario steady --load poisson:5000 --seed 1 --duration 10s
  connwise bench --scenario steady,restart --load bursts:500+200/1s --duration 15s
  awk '{print $1, $2 == "GET" ? "GET" : "POST"}' access.log >arrivals; connwise bench --scenario steady --load replay:arrivals
  connwise bench --scenario midflight --requests 50000 --strict connwise
  connwise bench --proxy nginx,haproxy
  connwise bench --proxy caddy --scenario restart --proto h1s --duration 30s
  connwise bench --all --out report.json --html report.html
  connwise bench compare before.json after.json
  connwise bench --target https://staging.example/healthz --workers 2 --requests 50`

// loadHelp tells of --load.
var loadHelp = `Load:
With --load closed, the default, so many callers (--workers) each make one call after the
other: while the server is slow it gets fewer. With the others a request is made when it is
due, whether or not earlier ones are done, and its latency counts from then, so that a stall
shows in the latencies of all that were due in it. Every client gets the same requests.
  constant:2000        so many in a second, evenly
  poisson:2000         so many in a second on average, at random times; --seed repeats them
  bursts:2000+500/1s   so many in a second, and 500 more at once every second
  ramp:100-5000        from one rate to another in the course of each round
  replay:FILE          as recorded: a line for each request, its time in seconds (with
                       decimals, as nginx's $msec) or as in RFC 3339, and then GET, POST
                       or nothing; the whole of it in each round where --duration isn't given.
                       nginx writes such lines by log_format arrivals '$msec $request_method';
                       awk can make one of the two of other methods, see the examples
No more than 10,000 are under way at a time; others wait, and their time runs. The scenarios
that take it: ` + strings.Join(cli.Wrap(strings.Join(bench.LoadScenarioNames(), ", ")+".", 76), "\n") + `
`

// columnsHelp tells what the tables and JSON have.
const columnsHelp = `Columns (those on which no row of a scenario has something to say are left out, and some
are in --wide alone):
  requests    calls made, those that open connections before the measuring included: in
              burst-warm and burst-limit net/http has that many more
  failed      calls that returned an error
  avoidable   of these, those that the server never executed, by its own record
  twice       calls executed more than once; GETs don't count, they may be repeated
  lost        calls reported as done that the server never executed
  dials       connections that the server accepted
  wasted      of these, those that never carried a request which was executed (without
              --wide where they are a tenth or more)
  peak        the most that it had open at one time (--wide)
  left        connections that were open at the end (cancel; without --wide where there are any)
  damaged     answers and POSTs whose body was another than the one sent (without --wide where
              there are any)
  dialled     calls that got a connection which was opened for a call, and not one that
              was ready (burst-warm, burst-limit)
  wave        full waves (burst), and the medians over them of a wave's p50 and p99 in
              microseconds and of its dials; the other latencies are of all waves together
  p50, p99    latencies in microseconds of calls with a 2xx answer. Failed calls have none:
              where one client fails and the other waits and sends again, as in restart,
              only the latter's figures have the wait in them
  req/s       calls made in a second, failed ones included: a client that fails at once makes
              more of them. MiB/s are the bodies of those that succeeded
  cpu us      CPU time of this process per request in microseconds, and allocs its
              allocations, the loop that makes the calls included
  of net/http the quotient of that CPU time and net/http's (or another client's, if it says
              so) in each round: the median, and how far the rounds went from it
  late ms     the longest in milliseconds that a timer of this process was late. Where that
              comes near a tenth of the idle timeout, failures in idle-race and silent are
              the machine's as much as the client's, and near a second those in deadaddr
  goroutines, fds, MiB grown, reads+writes (--wide)
              the most of this process at one time, by how much its memory grew from what it
              was after a collection of garbage, and its calls of read and write per request;
              Linux tells all of them, and counts no other system calls: not connwise's
              recvfrom, one for each request over HTTP/1.1, nor recvfrom and sendmsg, by which
              alone it reads and writes over HTTP/2 with TLS. So clients can't be compared by it

Progress goes to stderr, as a bar on a terminal and as a line for each row elsewhere. An
interrupt (Ctrl-C) ends the run and what is complete is reported: of the row under way the
rounds that all clients have made, marked with *. The exit code is 1 then, and when no call
of a row got a 2xx answer. A second interrupt ends it at once.

--json prints {"results":[...]} with the same: scenario, proto, client, load, partial,
requests, failed, avoidable, executed_twice, lost, dials, wasted_dials, peak_conns, dialled,
p50_us, p99_us, p999_us, waves, wave_p50_us, wave_p99_us, wave_dials, rps,
cpu_us_per_request, allocs_per_request, cpu_ratio, peak_goroutines, peak_fds,
peak_rss_growth_bytes, reads_writes_per_request; null where nothing is known. Where there is
such a thing also size, proxy, unmade, violations, cancelled, left_open, overtaken, wait_p50_us,
wait_p99_us, mib_per_s, cpu_us_per_mib, damaged, cpu_ratio_to, timers_late_ms, percentiles and
timeline. samples are the rounds, and beside the results are command, started, seed, machine,
clients, proxies and skipped.
`

// reportHelp tells of the files.
const reportHelp = `
--out FILE writes the same JSON beside the table: "bench compare" reads two of them. --html FILE
writes one page that needs nothing else: what the run shows in words, the plots of latency, of
CPU per request, and of answers, failures and dials in time, and all figures. Both also have the
command. A file that can't be written is refused before the run; one that is there keeps what
it has until the run is over. In the command, a URL's user, password and query values are hidden.
`

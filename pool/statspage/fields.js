// What the JSON has, and how it is shown: [key, label, kind, what it means]. Kinds: "n" is a
// count, "ns" a duration in nanoseconds, "text" text. What is in none of these lists is shown
// under "Other", so that nothing is left out.
const gauges = [
  ["open", "open", "n", "connections that are open, idle or in use"],
  ["idle", "idle", "n", "connections that carry no request"],
  ["in_use", "in use", "n", "connections that carry requests"],
  ["dialing", "dialing", "n", "connections that are being opened"],
  ["waiting", "waiting", "n", "requests that wait for a connection"],
];
const counters = [
  ["sent", "sent", "n", "requests given to a connection, replacements included"],
  ["failed", "failed", "n", "calls to the pool that ended in an error; a retry over it may have made them good"],
  ["reused", "reused", "n", "requests sent on a connection that had carried one before"],
  ["replaced", "replaced", "n", "requests sent again silently: their connection took no byte, or the peer refused them"],
  ["refused", "refused", "n", "HTTP/2: requests that the peer said it did not process"],
  ["goaways", "GOAWAYs", "n", "HTTP/2: connections on which the peer sent GOAWAY"],
  ["stale", "stale", "n", "idle connections found dead by the look before reuse"],
  ["dials", "dials", "n", "dials started"],
  ["dials_failed", "dial errors", "n", "dials that ended in an error"],
  ["dials_unused", "dials unused", "n", "dials whose connection nobody was waiting for any more"],
  ["dials_ahead", "dials ahead", "n", "dials that no request asked for"],
  ["opened", "opened", "n", "connections opened"],
  ["closed", "closed", "n", "connections closed"],
  ["waited", "waited", "n", "requests that had to wait for capacity or a dial"],
  ["wait_timeouts", "timed out", "n", "requests that waited too long, or found too many waiting"],
  ["wait_time_ns", "wait time", "ns", "the sum of the time that requests waited"],
  ["confirmed", "confirmed", "n", "requests whose connection was asked for a sign of life"],
  ["confirm_failed", "unconfirmed", "n", "of these, those whose connection gave none in time"],
];
const dialStages = [
  ["resolve", "looking up addresses", "n"],
  ["connect", "connecting", "n"],
  ["proxy", "the proxy", "n"],
  ["tls", "TLS", "n"],
  ["abandoned", "given up, as nobody waited any more", "n"],
];
const limits = [
  ["max_conns", "most connections", "n", "the limit in force for connections, open and dialing together; 0: none"],
  ["max_wait_ns", "longest wait", "ns", "how long a request may wait under that limit"],
  ["idle_limit_ns", "idle limit", "ns", "connections idle for longer aren't reused"],
  ["idle_limit_source", "set by", "text", "where the idle limit comes from"],
  ["unused_limit_ns", "limit of unused ones", "ns", "the same for connections that were never used"],
  ["unused_limit_source", "set by (unused ones)", "text", "where that limit comes from"],
  ["learnt_idle_ns", "learnt idle timeout", "ns", "after how long the peer closes idle connections"],
  ["learnt_unused_ns", "learnt for unused ones", "ns", "after how long the peer closes unused connections"],
  ["rtt_ns", "shortest round trip", "ns", "of TCP, to the peer or what answers for it"],
  ["dial_window", "dial window", "n", "how many dials may be in flight"],
];
const connFields = [
  ["addr", "address", "text", "the remote address"],
  ["proto", "protocol", "text", "the protocol that is spoken"],
  ["state", "state", "text", "in use or idle; settling: idle, to be used in a moment if the peer doesn't close it; witness: idle, and not used any more, to see when the peer closes it"],
  ["age_ns", "age", "ns", "since it was opened"],
  ["idle_ns", "idle for", "ns", "since its last answer ended"],
  ["requests", "requests", "n", "begun on it; unknown while it is in use over HTTP/1, and to a Guard"],
  ["streams", "streams", "n", "the requests that hold it"],
  ["stream_limit", "limit", "n", "how many the peer takes"],
  ["goaway", "GOAWAY", "flag", "the peer takes no new request on it"],
  ["suspect", "suspect", "flag", "a PING is to show whether the peer is there"],
  ["ping_rtt_ns", "PING", "ns", "the round trip of the last PING"],
  ["pings", "PINGs", "n", "PINGs sent"],
];
const field = new Map([...gauges, ...counters, ...limits].map((f) => [f[0], f]));
const named = new Set([...field.keys(), "host", "scheme", "proxy", "proto", "conns", "closed_by", "idle_closes", "idle_ages", "dial_failures", "wait_times", "dial_times", "bounds_ns", "rate", "why"]);

// The columns of the table of hosts. bad: more than zero isn't well; busy: not at rest.
const columns = [
  { key: "host", label: "host", kind: "text", help: "the host, and the proxy on the way to it" },
  { key: "proto", label: "protocol", kind: "text", help: "what the host was last found to speak" },
  ...gauges.map(([key, label, kind, help]) => ({ key, label, kind, help, mark: key === "waiting" ? "busy" : "" })),
  ...["idle_limit_ns", "idle_limit_source"].map(column),
  column("sent"),
  { key: "rate", label: "sent/s", kind: "rate", help: "requests per second since the state before" },
  ...["failed", "reused", "replaced", "stale", "dials", "dials_failed", "waited", "wait_time_ns", "wait_timeouts", "closed"].map(column),
  { key: "why", label: "closed mostly for", kind: "text", help: "the most frequent reason of closes" },
];

function column(key) {
  const [, label, kind, help] = field.get(key);
  return { key, label, kind, help, mark: /failed|timeouts|stale/.test(key) ? "bad" : "" };
}

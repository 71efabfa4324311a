-- One line with what wrk counted; times in microseconds.
done = function(summary, latency)
   local e = summary.errors
   io.write(string.format("RESULT %d %d %d %d %d %d %d %d %d\n", summary.requests, summary.duration,
      latency:percentile(50), latency:percentile(99), e.status, e.connect, e.read, e.write, e.timeout))
end

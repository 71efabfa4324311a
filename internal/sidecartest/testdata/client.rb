# Sends GETs and POSTs with Faraday over net-http-persistent, with the retries that these
# have by themselves (Faraday has none without its middleware).
require "faraday"
require "net/http/persistent"

base, name, busy, paced, seconds, ca = ARGV
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds.to_f
out = Mutex.new
client = Faraday.new(base, ssl: { ca_file: ca }) { |f| f.adapter :net_http_persistent, pool_size: 32 }

lane = lambda do |number, pause|
  count = 0
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
    count += 1
    path = "/#{name}-#{number}-#{count}"
    verb = count.odd? ? "GET" : "POST"
    begin
      answer = verb == "GET" ? client.get(path) : client.post(path, path * 20, "Content-Type" => "text/plain")
      head = answer.headers
      fields = [answer.status, head["Connwise-Unprocessed"] || "-", head["Connwise-Retries"] || "-", "-"]
    rescue StandardError => e
      fields = ["-", "-", "-", "#{e.class}: #{e.message}".gsub(/\s+/, " ")]
    end
    out.synchronize { puts([path, verb, *fields].join("\t")) }
    sleep(pause.call)
  end
end

lanes = Array.new(busy.to_i) { |i| Thread.new { lane.call("b#{i}", -> { 0.004 + rand * 0.008 }) } }
lanes += Array.new(paced.to_i) { |i| Thread.new { lane.call("p#{i}", -> { 0.15 + rand * 0.5 }) } }
lanes.each(&:join)

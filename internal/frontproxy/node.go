//go:build unix

package frontproxy

import (
	"strconv"
	"strings"
	"syscall"
)

// Node is a reverse proxy of Node's own modules. It is the only kind that says its idle
// timeout unasked. It closes with a FIN and no close_notify. Node lets connections idle for
// longer than it says, how much longer depends on its version; this one keeps its word, so
// that the race about the timeout is as hard as with the others. At a reload new workers
// take over; old ones end idle connections, and the others behind their answers.
var Node = Kind{
	Name: "node",
	programs: []program{{
		name:    "node",
		args:    func(s setup) []string { return []string{s.file("proxy.js")} },
		running: "workers are listening",
	}},
	files:     func(s setup) map[string]string { return map[string]string{"proxy.js": nodeProgram(s)} },
	reload:    syscall.SIGHUP,
	reloading: "got SIGHUP",
	Replaced:  "worker has left",
	version:   []string{"--version"},
	Protos:    []Proto{H1, TLS},
	Limits:    []Proto{H1}, // Node has none over TLS
	Unused:    []Proto{H1},
	Says408:   true,
	Tells:     true,
}

// nodeProgram is the proxy. Its constants are Go's quoted strings, which JavaScript reads
// alike: addresses and paths have nothing that differs.
func nodeProgram(s setup) string {
	host, port := split(s.addr)
	originHost, originPort := split(s.Origin)
	return strings.NewReplacer(
		"HOST", strconv.Quote(host), "PORT", port,
		"ORIGIN_HOST", strconv.Quote(originHost), "ORIGIN_PORT", originPort,
		"IDLE", strconv.FormatInt(s.Idle.Milliseconds(), 10),
		"UNUSED", strconv.FormatInt(s.Unused.Milliseconds(), 10),
		"REQUESTS", strconv.Itoa(s.Requests),
		"CERT_FILE", strconv.Quote(s.certFile), "KEY_FILE", strconv.Quote(s.keyFile()),
	).Replace(nodeSource)
}

const nodeSource = `'use strict';
const cluster = require('cluster'), fs = require('fs'), http = require('http'), https = require('https');
const cert = CERT_FILE, key = KEY_FILE, idle = IDLE, unused = UNUSED, workers = 2;

if (cluster.isPrimary) {
	const start = () => {
		let listening = 0;
		for (let i = 0; i < workers; i++) {
			cluster.fork().on('listening', () => {
				if (++listening === workers) console.log('workers are listening');
			});
		}
	};
	process.on('SIGHUP', () => {
		console.log('got SIGHUP');
		const old = Object.values(cluster.workers);
		start();
		cluster.on('listening', function leave(w) {
			cluster.removeListener('listening', leave);
			for (const w of old) if (w.isConnected()) w.send('leave');
		});
	});
	process.on('SIGTERM', () => {
		for (const w of Object.values(cluster.workers)) w.process.kill('SIGKILL');
		process.exit(0);
	});
	start();
	return;
}

let leaving = false;
const forward = (req, res) => {
	if (leaving) res.setHeader('Connection', 'close');
	res.on('finish', () => { if (!leaving) req.socket.setTimeout(idle); });
	const headers = {...req.headers};
	for (const name of ['connection', 'keep-alive', 'expect']) delete headers[name];
	const options = {host: ORIGIN_HOST, port: ORIGIN_PORT, method: req.method, path: req.url, headers, agent: false};
	const upstream = http.request(options, answer => {
		for (const name of ['connection', 'keep-alive', 'transfer-encoding']) delete answer.headers[name];
		res.writeHead(answer.statusCode, answer.headers);
		answer.pipe(res);
	});
	upstream.on('error', () => res.headersSent ? res.destroy() : res.writeHead(502).end());
	req.pipe(upstream);
};
const server = cert ?
	https.createServer({cert: fs.readFileSync(cert), key: fs.readFileSync(key)}, forward) :
	http.createServer({connectionsCheckingInterval: 100}, forward);
if (unused) server.headersTimeout = server.requestTimeout = unused;
server.keepAliveTimeout = idle;
server.maxRequestsPerSocket = REQUESTS;
process.on('message', () => {
	leaving = true;
	cluster.worker.disconnect();
	server.closeIdleConnections();
});
process.on('exit', () => console.log('worker has left'));
server.listen({host: HOST, port: PORT, backlog: 1024});
`

package health

import "time"

// known is sorted by name. Every figure was read in the document that its row names, or in
// the source of that document.
var known = [...]Proxy{
	{
		Name: "akamai", Title: "Akamai, client to edge",
		Idle: 500 * time.Second,
		Note: "The default of the behavior Persistent Connections: Client to Edge, for HTTP/1.1.",
		Doc:  "https://techdocs.akamai.com/terraform/docs/persistent-client-connection",
	},
	{
		Name: "apache", Title: "Apache httpd 2.4",
		Idle: 5 * time.Second, Unused: 20 * time.Second,
		Note: "KeepAliveTimeout. It's announced to requests with Connection: keep-alive. Unused is mod_reqtimeout's.",
		Doc:  "https://github.com/apache/httpd/blob/trunk/docs/conf/extra/httpd-default.conf.in",
	},
	{
		Name: "ats", Title: "Apache Traffic Server",
		Idle: 120 * time.Second,
		Note: "proxy.config.http.keep_alive_no_activity_timeout_in.",
		Doc:  "https://docs.trafficserver.apache.org/en/latest/admin-guide/files/records.yaml.en.html",
	},
	{
		Name: "aws-alb", Title: "AWS Application Load Balancer",
		Idle: 60 * time.Second,
		Note: "The same timeout counts for both sides, also while an answer is awaited. HTTP/2 pings don't reset it.",
		Doc:  "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html",
	},
	{
		Name: "aws-clb", Title: "AWS Classic Load Balancer",
		Idle: 60 * time.Second,
		Note: "TCP keep-alive probes don't reset it.",
		Doc:  "https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/config-idle-timeout.html",
	},
	{
		Name: "aws-nlb", Title: "AWS Network Load Balancer",
		Idle: 350 * time.Second, Unused: 350 * time.Second,
		Note: "For TCP and TLS listeners; the server behind it may close earlier.",
		Doc:  "https://docs.aws.amazon.com/elasticloadbalancing/latest/network/update-idle-timeout.html",
	},
	{
		Name: "azure-app-gateway", Title: "Azure Application Gateway",
		Idle: 120 * time.Second,
		Note: "HTTP/1.1. On a public address the TCP idle timeout is 4 minutes besides.",
		Doc:  "https://learn.microsoft.com/azure/application-gateway/application-gateway-faq",
	},
	{
		Name: "azure-lb", Title: "Azure Load Balancer",
		Idle: 4 * time.Minute, Unused: 4 * time.Minute, Silent: true,
		Note: "With TCP reset enabled for the rule it sends an RST. The server behind it may close earlier.",
		Doc:  "https://learn.microsoft.com/azure/load-balancer/load-balancer-tcp-reset",
	},
	{
		Name: "caddy", Title: "Caddy 2",
		Idle: 5 * time.Minute,
		Note: "The idle timeout of the global option servers.",
		Doc:  "https://caddyserver.com/docs/caddyfile/options#timeouts",
	},
	{
		Name: "cloudflare", Title: "Cloudflare, client to edge",
		Idle: 400 * time.Second,
		Note: "HTTP/1.1 and HTTP/2 alike; it can't be changed.",
		Doc:  "https://developers.cloudflare.com/fundamentals/reference/connection-limits/",
	},
	{
		Name: "envoy", Title: "Envoy, and what is built on it",
		Idle: time.Hour,
		Note: "idle_timeout of common_http_protocol_options, downstream. Products built on it may set another.",
		Doc:  "https://www.envoyproxy.io/docs/envoy/latest/faq/configuration/timeouts",
	},
	{
		Name: "gcp-lb", Title: "Google Cloud global external Application Load Balancer",
		Idle: 610 * time.Second,
		Note: "The client HTTP keepalive timeout; towards backends it's 600 s.",
		Doc:  "https://docs.cloud.google.com/load-balancing/docs/https/request-distribution",
	},
	{
		Name: "gcp-lb-regional", Title: "Google Cloud regional external Application Load Balancer",
		Idle: 600 * time.Second,
		Note: "The client HTTP keepalive timeout.",
		Doc:  "https://docs.cloud.google.com/load-balancing/docs/https/request-distribution",
	},
	{
		Name: "go", Title: "Go's net/http.Server",
		Note: "No limit unless IdleTimeout or ReadTimeout is set; ReadTimeout counts where IdleTimeout is zero.",
		Doc:  "https://pkg.go.dev/net/http#Server",
	},
	{
		Name: "gunicorn", Title: "Gunicorn",
		Idle: 2 * time.Second,
		Note: "keepalive. The sync worker has no persistent connections.",
		Doc:  "https://docs.gunicorn.org/en/stable/settings.html#keepalive",
	},
	{
		Name: "h2o", Title: "H2O",
		Idle: 10 * time.Second, Unused: 10 * time.Second,
		Note: "http1-request-timeout, in which the whole next request has to arrive; http2-idle-timeout is 10 s, too.",
		Doc:  "https://h2o.examp1e.net/configure/http1_directives.html",
	},
	{
		Name: "haproxy", Title: "HAProxy",
		Note: "It has no default: timeout http-keep-alive counts, else timeout http-request, else timeout client. A connection without a request gets a 408 after timeout http-request.",
		Doc:  "https://docs.haproxy.org/2.6/configuration.html",
	},
	{
		Name: "huawei-elb", Title: "Huawei Cloud Elastic Load Balance, HTTP and HTTPS",
		Idle: 60 * time.Second, Unused: 60 * time.Second,
		Note: "TCP listeners: 300 s.",
		Doc:  "https://support.huaweicloud.com/en-us/elb_faq/elb_faq_0309.html",
	},
	{
		Name: "iis", Title: "Microsoft IIS 7 and later",
		Idle: 2 * time.Minute,
		Note: "connectionTimeout of a site's limits.",
		Doc:  "https://learn.microsoft.com/iis/configuration/system.applicationhost/sites/sitedefaults/limits",
	},
	{
		Name: "jetty", Title: "Eclipse Jetty",
		Idle: 30 * time.Second, Unused: 30 * time.Second,
		Note: "jetty.http.idleTimeout of the module http.",
		Doc:  "https://github.com/jetty/jetty.project/blob/jetty-10.0.x/jetty-server/src/main/config/modules/http.mod",
	},
	{
		Name: "kestrel", Title: "ASP.NET Core Kestrel",
		Idle: 130 * time.Second,
		Note: "KestrelServerLimits.KeepAliveTimeout.",
		Doc:  "https://learn.microsoft.com/dotnet/api/microsoft.aspnetcore.server.kestrel.core.kestrelserverlimits.keepalivetimeout",
	},
	{
		Name: "lighttpd", Title: "lighttpd 1.4",
		Idle: 5 * time.Second, Unused: 60 * time.Second,
		Note: "server.max-keep-alive-idle and server.max-read-idle. Over TLS it sends a close_notify, and its FIN some seconds later.",
		Doc:  "https://github.com/lighttpd/lighttpd1.4/blob/master/doc/config/lighttpd.conf",
	},
	{
		Name: "nghttpx", Title: "nghttpx",
		Idle: time.Minute,
		Note: "--frontend-keep-alive-timeout, for HTTP/1; over HTTP/2 it's 3 minutes.",
		Doc:  "https://nghttp2.org/documentation/nghttpx.1.html",
	},
	{
		Name: "nginx", Title: "nginx",
		Idle: 75 * time.Second, Unused: 60 * time.Second,
		Note: "keepalive_timeout and client_header_timeout. It's announced if keepalive_timeout has a second parameter. Distributions ship other values.",
		Doc:  "https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_timeout",
	},
	{
		Name: "node", Title: "Node.js http.Server",
		Idle: 5 * time.Second, Announces: true,
		Note: "keepAliveTimeout; newer major versions than 25 may have 65 s. keepAliveTimeoutBuffer, 1 s, comes on top and isn't announced.",
		Doc:  "https://nodejs.org/docs/latest-v24.x/api/http.html#serverkeepalivetimeout",
	},
	{
		Name: "oci-lb", Title: "Oracle Cloud Infrastructure Load Balancer",
		Idle: 65 * time.Second,
		Note: "At most 10,000 requests per connection; neither can be changed.",
		Doc:  "https://docs.oracle.com/en-us/iaas/Content/Balance/Reference/connectionreuse.htm",
	},
	{
		Name: "puma", Title: "Puma 7",
		Idle: 65 * time.Second, Unused: 30 * time.Second,
		Note: "persistent_timeout, 20 s before Puma 7, and first_data_timeout.",
		Doc:  "https://github.com/puma/puma/blob/main/lib/puma/configuration.rb",
	},
	{
		Name: "tomcat", Title: "Apache Tomcat",
		Idle: 20 * time.Second, Unused: 20 * time.Second,
		Note: "connectionTimeout in the server.xml that it ships with, which counts where keepAliveTimeout isn't set. Embedded, without that file: 60 s.",
		Doc:  "https://tomcat.apache.org/tomcat-10.1-doc/config/http.html",
	},
	{
		Name: "traefik", Title: "Traefik",
		Idle: 180 * time.Second,
		Note: "respondingTimeouts.idleTimeout of an entry point.",
		Doc:  "https://doc.traefik.io/traefik/routing/entrypoints/",
	},
	{
		Name: "uvicorn", Title: "Uvicorn",
		Idle: 5 * time.Second,
		Note: "--timeout-keep-alive.",
		Doc:  "https://www.uvicorn.org/settings/",
	},
	{
		Name: "varnish", Title: "Varnish Cache",
		Idle: 5 * time.Second, Unused: 5 * time.Second,
		Note: "timeout_idle, in which the whole header of the next request has to arrive.",
		Doc:  "https://varnish-cache.org/docs/trunk/reference/varnishd.html#timeout-idle",
	},
}

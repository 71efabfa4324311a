package recipes_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
	"go.opentelemetry.io/contrib/instrumentation/net/http/httptrace/otelhttptrace"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// traced makes each request that is given to base a span: under a retry.Transport, one for each
// attempt, as OpenTelemetry's conventions ask for.
func traced(base http.RoundTripper, opts ...otelhttp.Option) http.RoundTripper {
	return otelhttp.NewTransport(counted{base}, opts...)
}

// counted sets http.request.resend_count on the span of a request that is sent again. By the
// conventions the first attempt's has none.
type counted struct{ base http.RoundTripper }

func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	if n := retry.ResendCount(req.Context()); n > 0 {
		trace.SpanFromContext(req.Context()).SetAttributes(semconv.HTTPRequestResendCount(n))
	}
	return c.base.RoundTrip(req)
}

// Each attempt is a client span under the caller's, and the server's is a child of the one that
// it has answered.
func Example_openTelemetry() {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	defer provider.Shutdown(context.Background())

	srv := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("Traceparent"))
	}))
	defer srv.Close()
	p, err := pool.New(pool.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: traced(p,
		otelhttp.WithTracerProvider(provider), // or otel.SetTracerProvider at the start of the program
		otelhttp.WithPropagators(propagation.TraceContext{}),
	)}}

	ctx, caller := provider.Tracer("example").Start(context.Background(), "caller")
	answer, err := get(ctx, client, srv.URL)
	caller.End()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range spans.Ended() {
		fmt.Println(s.Name(), "under caller:", s.Parent().SpanID() == caller.SpanContext().SpanID(), "resend_count:", resendCount(s))
	}
	fmt.Println("the server knows the second:", answer == traceparent(spans.Ended()[1]))
	// Output:
	// HTTP GET under caller: true resend_count: none
	// HTTP GET under caller: true resend_count: 1
	// caller under caller: false resend_count: none
	// the server knows the second: true
}

// TestClientTrace: the pool calls the hooks of httptrace, so the parts of an attempt can be
// spans too.
func TestClientTrace(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	defer provider.Shutdown(context.Background())
	srv := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()
	p, err := pool.New(pool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: traced(p,
		otelhttp.WithTracerProvider(provider),
		otelhttp.WithClientTrace(func(ctx context.Context) *httptrace.ClientTrace {
			return otelhttptrace.NewClientTrace(ctx)
		}),
	)}}
	if answer, err := get(t.Context(), client, srv.URL); answer != "hello" || err != nil {
		t.Fatalf("got %q, %v", answer, err)
	}
	names := map[string]int{}
	for _, s := range spans.Ended() {
		names[s.Name()]++
	}
	for name, want := range map[string]int{
		"HTTP GET": 2, "http.getconn": 2, "http.connect": 2, "http.headers": 2, "http.send": 2, "http.receive": 1,
	} {
		if names[name] != want {
			t.Errorf("%d spans %s, want %d; got %v", names[name], name, want, names)
		}
	}
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body) // the span ends here
	return string(body), err
}

func resendCount(s sdktrace.ReadOnlySpan) string {
	attrs := s.Attributes()
	i := slices.IndexFunc(attrs, func(a attribute.KeyValue) bool { return a.Key == semconv.HTTPRequestResendCountKey })
	if i < 0 {
		return "none"
	}
	return attrs[i].Value.String()
}

func traceparent(s sdktrace.ReadOnlySpan) string {
	sc := s.SpanContext()
	return fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags())
}

package recipes_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"

	"example.com/connwise/pool"
	"example.com/connwise/pool/poolprom"
	"example.com/connwise/retry"
	"github.com/prometheus/client_golang/prometheus"
	otelprom "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// metricsByBridge lets a reader of OpenTelemetry take what the pool and the retries show to
// Prometheus: an exporter gets both with everything else. They have a registry of their own, as
// otherwise the bridge would also pass on what prometheus.DefaultRegisterer has, a second time if
// that is scraped too.
func metricsByBridge(p *pool.Transport, rt *retry.Transport) metric.Producer {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		poolprom.New(p, poolprom.Options{}),
		poolprom.NewRetry(rt, poolprom.Options{}),
	)
	return otelprom.NewMetricProducer(otelprom.WithGatherer(reg))
}

// In a program the reader is a metric.NewPeriodicReader over the OTLP exporter; this one is read by
// hand. A periodic reader asks for as many snapshots as a scrape would: one each interval.
func Example_openTelemetryMetrics() {
	srv := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()
	p, err := pool.New(pool.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	rt := &retry.Transport{Base: p}

	reader := metric.NewManualReader(metric.WithProducer(metricsByBridge(p, rt)))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(context.Background())

	if _, err := get(context.Background(), &http.Client{Transport: rt}, srv.URL); err != nil {
		fmt.Println(err)
		return
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("retries:", sumOf(&all, "connwise_retry_retries_total"))
	fmt.Println("connections opened:", sumOf(&all, "connwise_pool_connections_opened_total"))
	fmt.Println("requests that waited for a dial:", countOf(&all, "connwise_pool_wait_duration_seconds"))
	// Output:
	// retries: 1
	// connections opened: 2
	// requests that waited for a dial: 2
}

func find(all *metricdata.ResourceMetrics, name string) metricdata.Aggregation {
	for _, scope := range all.ScopeMetrics {
		i := slices.IndexFunc(scope.Metrics, func(m metricdata.Metrics) bool { return m.Name == name })
		if i >= 0 {
			return scope.Metrics[i].Data
		}
	}
	return nil
}

func sumOf(all *metricdata.ResourceMetrics, name string) (sum float64) {
	data, _ := find(all, name).(metricdata.Sum[float64])
	for _, p := range data.DataPoints {
		sum += p.Value
	}
	return sum
}

func countOf(all *metricdata.ResourceMetrics, name string) (n uint64) {
	data, _ := find(all, name).(metricdata.Histogram[float64])
	for _, p := range data.DataPoints {
		n += p.Count
	}
	return n
}

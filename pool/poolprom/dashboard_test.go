package poolprom_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/connwise/pool/poolprom"
	"example.com/connwise/retry"

	"github.com/prometheus/client_golang/prometheus"
)

// A dashboard is what is looked at of dashboard.json.
type dashboard struct {
	SchemaVersion int    `json:"schemaVersion"`
	UID           string `json:"uid"`
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  struct{ UID string }
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ Expr string }
}

// A query is a panel's. It has Grafana's variables.
type query struct{ panel, expr string }

func readDashboard(t *testing.T) *dashboard {
	t.Helper()
	b, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func (d *dashboard) queries() (qs []query) {
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			qs = append(qs, query{p.Title, target.Expr})
		}
	}
	return qs
}

// filled has a value for each variable, as Grafana puts them in: all jobs and hosts.
func (q query) filled(interval string) string {
	return strings.NewReplacer("$__rate_interval", interval, "$job", ".+", "$instance", ".+", "$host", ".+").Replace(q.expr)
}

func TestDashboardIsWhole(t *testing.T) {
	d := readDashboard(t)
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
	}
	if !slices.Equal(names, []string{"datasource", "job", "instance", "host"}) || d.Templating.List[0].Type != "datasource" {
		t.Errorf("variables %v", names)
	}
	ids, titles := make(map[int]bool), make(map[string]bool)
	taken := make(map[[2]int]string)
	for _, p := range d.Panels {
		if ids[p.ID] || titles[p.Title] || p.Title == "" {
			t.Errorf("panel %d, %q: the id or the title isn't its own", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		if p.Type != "row" && (p.Datasource.UID != "${datasource}" || len(p.Targets) == 0) {
			t.Errorf("%s: data source %q, %d queries", p.Title, p.Datasource.UID, len(p.Targets))
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q, or beside the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	for _, q := range d.queries() {
		if strings.Contains(q.filled("1m"), "$") {
			t.Errorf("%s: an unknown variable in %s", q.panel, q.expr)
		}
	}
}

var (
	metricName = regexp.MustCompile(`\bconnwise_(?:pool|retry)_[a-z0-9_]+`)
	descName   = regexp.MustCompile(`fqName: "([^"]+)"`)
	alertName  = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
)

// defined are the names of all metrics.
func defined() map[string]bool {
	ch, names := make(chan *prometheus.Desc, 100), make(map[string]bool)
	poolprom.New(newTown(), poolprom.Options{}).Describe(ch)
	poolprom.NewRetry(new(retry.Transport), poolprom.Options{}).Describe(ch)
	close(ch)
	for d := range ch {
		names[descName.FindStringSubmatch(d.String())[1]] = true
	}
	return names
}

// Dashboard and alerts name metrics that there are, and the dashboard shows all of them.
func TestNamesAreDefined(t *testing.T) {
	names, shown := defined(), make(map[string]bool)
	for _, file := range []string{"dashboard.json", "alerts.yml", "testdata/alerts_test.yml"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range metricName.FindAllString(string(b), -1) {
			base := m
			for _, end := range []string{"_bucket", "_sum", "_count"} {
				if !names[base] {
					base = strings.TrimSuffix(m, end)
				}
			}
			if !names[base] {
				t.Errorf("%s: there is no metric %s", file, m)
			}
			shown[base] = shown[base] || file == "dashboard.json"
		}
	}
	for _, unshown := range []string{"connwise_pool_host_info", "connwise_retry_budget_recent_requests"} {
		shown[unshown] = true
	}
	for name := range names {
		if !shown[name] {
			t.Errorf("%s isn't on the dashboard", name)
		}
	}
}

func alertNames(t *testing.T) (names []string) {
	t.Helper()
	b, err := os.ReadFile("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range alertName.FindAllStringSubmatch(string(b), -1) {
		names = append(names, m[1])
	}
	return names
}

// Each alert is tried by promtool on figures that it fires on.
func TestAlertsAreTried(t *testing.T) {
	b, err := os.ReadFile("testdata/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	names := alertNames(t)
	for _, name := range names {
		if !strings.Contains(string(b), `alertname="`+name+`",alertstate="firing"`) {
			t.Errorf("%s isn't tried", name)
		}
	}
	if len(names) < 9 {
		t.Errorf("only %d alerts were found", len(names))
	}
}

# make help lists the targets.
GO ?= go
FUZZTIME ?= 20s
COUNT ?= 6
FAULT_REQUESTS ?= 50000
BENCHTIME ?= 1s
BENCH ?= .
PKGS ?= ./bench ./dialer ./pool ./internal/h1 ./internal/h2 ./health ./retry ./pool/poolprom
PROXIES ?= nginx,haproxy,caddy,apache,nghttpx

.DEFAULT_GOAL := help
.PHONY: help build test test-proxies test-bulk test-idle test-capacity test-recipes test-peers test-prometheus test-page test-sidecar test-sidecar-long test-oracle lint vulncheck bench bench-faults bench-peers bench-proxies fuzz cover tidy-check

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the command into bin/
	$(GO) build -o bin/ ./cmd/connwise

test: ## run all tests, with the race detector, in random order
	$(GO) test -race -shuffle=on ./...

test-proxies: ## run the tests behind real proxies (.ci/run names their Debian packages)
	$(GO) test -tags proxies -count=1 -p 1 -parallel 4 -timeout 15m ./internal/realproxy/... ./internal/benchproxy

test-bulk: ## send 100,000 requests through proxies that reload, over HTTP/2
	CONNWISE_BULK=100000 $(GO) test -tags proxies -count=1 -timeout 10m -run Bulk -v ./internal/realproxy/...

test-idle: ## race 200 lanes of POSTs for 30 s against each proxy's idle timeout (40 minutes)
	CONNWISE_LANES=200 CONNWISE_RACE_TIME=30s $(GO) test -tags proxies -count=1 -parallel 1 -timeout 90m -run 'IdleRace/./(h1|tls)/relay' -v ./internal/realproxy/...

test-capacity: ## warm connections, limits and bursts behind real proxies, for a minute each
	CONNWISE_CAPACITY_TIME=60s $(GO) test -tags proxies -count=1 -parallel 4 -timeout 15m -run 'Unused|MaxRequestsPer|ReloadOfWarm|MaxConnsPerHost|ColdBurst' -v ./internal/realproxy/...

test-recipes: ## run the examples with oauth2 and OpenTelemetry, a module of their own (internal/recipes)
	cd internal/recipes && $(GO) test -race -shuffle=on ./...

test-peers: ## run other people's clients in every scenario of the bench, a module of their own (bench/peers)
	cd bench/peers && $(GO) test -shuffle=on -count=1 -timeout 5m ./...

test-prometheus: ## hold dashboard and alerts against a real Prometheus (Debian's package prometheus)
	$(GO) test -tags prometheus -count=1 -timeout 2m -run 'Prometheus|AlertRules' ./pool/poolprom

test-page: ## run the tests of StatsHandler's page in headless Chromium (Debian's package chromium), a module of their own
	cd internal/pagetest && $(GO) test -shuffle=on -count=1 -timeout 3m ./...

test-sidecar: ## run Ruby, Python, curl and wrk through connwise proxy, beside nginx (.ci/run names the Debian packages)
	$(GO) test -tags sidecar -count=1 -timeout 2m -v ./internal/sidecartest

test-sidecar-long: ## the same for longer: the clients for 30 s, wrk for 30 s through the sidecar (3 minutes)
	CONNWISE_SIDECAR_TIME=30s CONNWISE_SIDECAR_LOAD=30s $(GO) test -tags sidecar -count=1 -timeout 10m -v ./internal/sidecartest

test-oracle: ## hold what 200,000 requests say of their fate against a peer that fails in every way
	CONNWISE_ORACLE=200000 $(GO) test -count=1 -timeout 15m -run PrecisionAndRecall -v ./internal/oracle

lint: ## gofmt, go vet and staticcheck (pinned in go.mod)
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags proxies ./internal/realproxy/... ./internal/benchproxy
	$(GO) vet -tags prometheus ./pool/poolprom
	$(GO) vet -tags sidecar ./internal/sidecartest
	$(GO) tool staticcheck ./...
	staticcheck=$$($(GO) tool -n staticcheck) && for module in internal/recipes internal/pagetest bench/peers; do \
		(cd $$module && $(GO) vet ./... && "$$staticcheck" ./...) || exit 1; done

vulncheck: ## look up known vulnerabilities (needs the network)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

bench: ## Go benchmarks for benchstat: BENCH and PKGS choose some, COUNT and BENCHTIME say how long
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) $(PKGS)

.PHONY: bench-diff
bench-diff: ## compare two outputs of make bench by benchstat: OLD=old.txt NEW=new.txt
	@test -r "$(OLD)" -a -r "$(NEW)" || { echo "usage: make bench-diff OLD=old.txt NEW=new.txt"; exit 2; }
	@$(GO) tool benchstat $(STATFLAGS) "$(OLD)" "$(NEW)"

bench-faults: ## FAULT_REQUESTS (50000) per fault scenario and protocol, of idle-race and silent per scenario; fails unless connwise has 0 avoidable, twice and lost
	$(GO) build -o bin/ ./cmd/connwise
	rc=0; faults="bin/connwise bench --rounds 1 --clients connwise,net/http --strict connwise $(FAULT_FLAGS)"; \
		$$faults --scenario restart,goaway,keepalive,midflight,refused,deadaddr,cancel --workers 128 --requests $(FAULT_REQUESTS) || rc=1; \
		$$faults --scenario idle-race,silent --workers 1000 --idle-timeout 2s --requests $$(($(FAULT_REQUESTS) / 4)) || rc=1; exit $$rc

bench-peers: ## every scenario over h1 and h2 with other people's clients, with JSON and a page in bin/ (5 minutes); PEERS_FLAGS adds flags
	cd bench/peers && $(GO) build -o ../../bin/connwise-peers .
	bin/connwise-peers --all --proto h1,h2 --rounds 2 --out bin/bench-peers.json --html bin/bench-peers.html $(PEERS_FLAGS)

bench-proxies: build ## the bench behind five real proxies, with a page and JSON in bin/ (5 minutes); PROXIES names others
	bin/connwise bench --proxy $(PROXIES) --html bin/bench-proxies.html --out bin/bench-proxies.json

fuzz: ## run each fuzz target for FUZZTIME (20s)
	@set -e; for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; done

cover: ## coverage by package, and coverage.html
	$(GO) test -coverprofile coverage.out ./...
	$(GO) tool cover -html coverage.out -o coverage.html

tidy-check: ## fail if a go.mod or go.sum would change
	$(GO) mod tidy -diff
	cd internal/recipes && $(GO) mod tidy -diff
	cd internal/pagetest && $(GO) mod tidy -diff
	cd bench/peers && $(GO) mod tidy -diff

.PHONY: build test test-concurrent test-others proof proof-checks proof-servers proof-cmd proof-race check lint demo bench generate

build: ## the program, as ./mcpcheck
	go build -o mcpcheck ./cmd/mcpcheck

# Linking without what only debuggers read takes half the time.
test: ## all tests; they need only Go
	@$(MAKE) --no-print-directory -j2 test-concurrent test-others

CONCURRENT = driver discovery check

test-concurrent: # with the race detector, which wants a C compiler
	@command -v cc >/dev/null || echo 'there is no C compiler here: without the race detector'
	go test $$(command -v cc >/dev/null && echo -race) $(CONCURRENT:%=./suites/%)

test-others:
	go list ./... | grep -v $(CONCURRENT:%=-e /suites/%$$) | xargs go test -timeout 30m -ldflags=-w

# What of the proofs make test leaves out, make proof shows.
proof: proof-checks proof-servers proof-cmd proof-race ## everything that can be proved, in hours

PART = 1/1
DRAWN = -from $(word 1,$(subst /, ,$(PART))) -one-of $(word 2,$(subst /, ,$(PART)))
CHECKS = ./fixtures/faults ./fixtures/variations

proof-checks: ## faults and variations in all settings, and what make test shows of them with the race detector; PART=3/7: a seventh
	go test -timeout 0 $(CHECKS) -whole $(DRAWN)
	go test -timeout 0 -race $(CHECKS) $(DRAWN)

proof-servers: ## the other bad servers in all settings, at full size
	go test -timeout 0 ./fixtures -whole

proof-cmd: ## the program: scripts with all checks, and what make test shows with the race detector
	go test -timeout 0 ./cmd/mcpcheck ./cmd/mcpcheck/internal/explore -whole
	go test -timeout 0 -race ./cmd/...

proof-race: ## all other packages with the race detector
	go test -timeout 0 -race ./fixtures ./suites/... ./reporters/...
	go test -timeout 0 -race ./schemas -whole

check: ## the proofs of one check and the catalogue: make check ID=tools/unknown-tool-code
	@test -n '$(ID)' || { echo 'which check? make check ID=tools/unknown-tool-code'; exit 2; }
	go test -run 'TestEveryFaultIsDetected|TestEveryCheckHasAFault|TestNoVariationFails' \
		./fixtures/faults ./fixtures/variations -check $(ID)
	go test ./suites

lint: ## what CI wants beyond the tests
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	go vet ./...
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...
	go tool staticcheck ./...

generate: ## files that are made from others
	go generate ./...

demo: build ## test the built-in server
	./mcpcheck run --demo

NODE_SERVER = .bench/node_modules/@modelcontextprotocol/server-everything/dist/index.js
NODE_MODERN = .bench/modern.mjs
OFFICIAL = .bench/official/node_modules

bench: ## ratios of a full run to a bare session, processes, memory, what a check and the recorder cost, and peers
	@command -v npm >/dev/null || echo 'there is no npm here: Node servers and the official suite are left out'
	@if command -v npm >/dev/null && ! test -e $(NODE_SERVER); then \
		npm install --silent --no-audit --no-fund --prefix .bench @modelcontextprotocol/server-everything@2026.8.31; fi
	@if command -v npm >/dev/null && ! test -e $(NODE_MODERN); then \
		npm install --silent --no-audit --no-fund --prefix .bench @modelcontextprotocol/server@2.4.0 zod@4.6.7 && \
		cp cmd/mcpcheck/testdata/modern.mjs $(NODE_MODERN); fi
	@if command -v npm >/dev/null && ! test -e $(OFFICIAL); then \
		npm install --silent --no-audit --no-fund --prefix .bench/official node@24 @modelcontextprotocol/conformance@0.1.16; fi
	MCPCHECK_BENCH_NODE="$$(test -e $(NODE_SERVER) && echo node $(CURDIR)/$(NODE_SERVER) stdio)" \
	MCPCHECK_BENCH_NODE_MODERN="$$(test -e $(NODE_MODERN) && echo node $(CURDIR)/$(NODE_MODERN))" \
	MCPCHECK_BENCH_OFFICIAL="$$(test -e $(OFFICIAL) && \
		echo $(CURDIR)/$(OFFICIAL)/.bin/node $(CURDIR)/$(OFFICIAL)/@modelcontextprotocol/conformance/dist/index.js server)" \
		go test -run '^$$' -bench . -benchtime 1x ./cmd/mcpcheck

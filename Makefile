.PHONY: build test lint demo bench generate

build: ## the program, as ./mcpcheck
	go build -o mcpcheck ./cmd/mcpcheck

test: ## all tests; they need only Go
	go test -timeout 60m ./...
	go test -timeout 60m -race ./suites/... ./reporters ./schemas # .ci/run does so with the rest, which takes minutes

lint: ## what CI wants beyond the tests
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	go vet ./...
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...
	go tool staticcheck ./...

generate: ## files that are made from others
	go generate ./...

demo: build ## judge the built-in server
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

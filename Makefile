.PHONY: build test lint demo bench generate

build: ## the program, as ./mcpcheck
	go build -o mcpcheck ./cmd/mcpcheck

test: ## all tests; they need only Go
	go test -timeout 30m ./...
	go test -timeout 30m -race ./suites/... ./reporters ./schemas # .ci/run does so with the rest, which takes minutes

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

bench: ## ratios of a full run to a bare session, memory, and what a check costs
	@if command -v npm >/dev/null && ! test -e $(NODE_SERVER); then \
		npm install --silent --no-audit --no-fund --prefix .bench @modelcontextprotocol/server-everything@2026.8.31; fi
	MCPCHECK_BENCH_NODE="$$(test -e $(NODE_SERVER) && echo node $(CURDIR)/$(NODE_SERVER) stdio)" \
		go test -run '^$$' -bench . -benchtime 1x ./cmd/mcpcheck

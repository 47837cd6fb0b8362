.PHONY: build test lint demo bench generate

build: ## the program, as ./mcpcheck
	go build -o mcpcheck ./cmd/mcpcheck

test: ## all tests; they need only Go
	go test -race ./...

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

bench: build ## ratios, memory, and what mcpcheck itself costs
	MCPCHECK_BENCH_NODE="$${MCPCHECK_BENCH_NODE-$$($(node-server))}" go test -run "^$$$$" -bench . -benchtime 1x ./cmd/mcpcheck

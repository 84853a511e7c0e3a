# What is built from the sources. Go is all that is needed.
export GOFLAGS = -mod=readonly -buildvcs=false -trimpath

.PHONY: build test release snapshot man clean

build: ## the program, for this machine, and the benchmarks' beside it
	CGO_ENABLED=0 go build ./cmd/tributary
	CGO_ENABLED=0 go -C tools build -o ../tributary-bench ./bench

test: ## all tests
	go test ./...
	go -C tools test ./...

release: ## archives, packages, image, checksums for all platforms, in dist
	go -C packaging run ./release

snapshot: ## the same for this machine's platform
	go -C packaging run ./release --only $$(go env GOOS)/$$(go env GOARCH)

man: ## the manual pages, in man
	go run ./cmd/tributary man

clean: ## what these made
	rm -rf dist man

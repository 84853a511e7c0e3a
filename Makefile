# What is built from the sources, and how it is checked. Go is all that is needed.
export GOFLAGS = -mod=readonly -buildvcs=false -trimpath

.PHONY: build quick test ci release snapshot man clean

build: ## the program, for this machine, and the benchmarks' beside it
	CGO_ENABLED=0 go build ./cmd/tributary
	CGO_ENABLED=0 go -C tools build -o ../tributary-bench ./bench

quick: ## under a minute once compiled: the walls, parser, binder, optimiser with their goldens, and kernels
	bash .ci/run format vet laws

test: ## under five minutes: every package, in the short form of its tests
	bash .ci/run short

ci: ## everything
	bash .ci/run

release: ## archives, packages, image, checksums for all platforms, in dist
	go -C packaging run ./release

snapshot: ## the same for this machine's platform
	go -C packaging run ./release --only $$(go env GOOS)/$$(go env GOARCH)

man: ## the manual pages, in man
	go run ./cmd/tributary man

clean: ## what these made
	rm -rf dist man tributary-bench

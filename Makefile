# The two commands of the README are `make run` and `make test`; the rest is for those who change the code.
# Needs Go, git and make alone.

GO     ?= go
BINARY := bin/platform
SHELL  := /bin/sh

.PHONY: run build test kills invariants check race bench golden lint hooks

## run: build, then start the platform and run the static walkthrough
run:
	@echo "compiling platform (the first time takes a minute or two) ..."
	@CGO_ENABLED=0 $(GO) build -o $(BINARY) ./cmd/platform
	@exec ./$(BINARY) up --walkthrough static

## build: the binary alone, as bin/platform
build:
	CGO_ENABLED=0 $(GO) build -o $(BINARY) ./cmd/platform

## test: every test, and the list of skipped ones against the committed list
test:
	@CGO_ENABLED=0 $(GO) run ./cmd/testall

## kills: the platform killed at every durable write of what it does, where `test` tries a few (minutes)
kills:
	PLATFORM_TEST_EVERY_KILL=1 CGO_ENABLED=0 $(GO) test -run EveryAct -timeout 30m ./server

## invariants: many more runs of the machine that holds promotion against its rules (ten minutes)
invariants:
	PLATFORM_TEST_RUNS=$${PLATFORM_TEST_RUNS:-4000} CGO_ENABLED=0 $(GO) test -count 1 -run TheInvariantsOfPromotion -timeout 60m ./flowclient/store ./server/controlplane

## race: the tests under the race detector (needs a C compiler); those that kill whole processes are left to `test`
race:
	PLATFORM_TEST_RUNS=25 CGO_ENABLED=1 $(GO) test -race -skip 'KilledA|AKillAfter' -timeout 40m ./...

## check: what must hold before a commit
check:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt: these files are not formatted:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	@if command -v golangci-lint >/dev/null 2>&1; then golangci-lint run; else echo "golangci-lint is not installed: skipped"; fi
	@$(MAKE) --no-print-directory test

## bench: benchmarks, each with its limit in the same run
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

## golden: write the golden files anew; review the diff
golden:
	$(GO) test $$(grep -rlE 'goldenfile|commandstest' --include=*_test.go . | xargs -n1 dirname | sort -u) -update

## hooks: run `make check` before every commit
hooks:
	printf '#!/bin/sh\nexec make check\n' > "$$(git rev-parse --git-path hooks)/pre-commit"
	chmod +x "$$(git rev-parse --git-path hooks)/pre-commit"

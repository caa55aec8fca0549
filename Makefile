# MCPist. `make help` lists the targets. Recipes use relative paths only, so a clone may live in a folder with spaces.

MAKEFLAGS += --no-print-directory
# Some images set it; then every process of a test compiles all of our code anew, half a second each.
unexport PYTHONDONTWRITEBYTECODE
ARGS ?=
T ?= tests
SETUP_INPUTS := pyproject.toml setup.py tools/setup requirements/build.txt requirements/runtime.txt

# A virtual environment holds absolute paths: in a moved or copied clone it has to be made anew.
ifneq ($(shell cat .venv/.clone 2>/dev/null),$(CURDIR))
SETUP_INPUTS += FORCE
endif

.PHONY: help run dev test test-long check check-static check-format check-lint check-types check-imports check-dependencies check-rules check-cost check-model \
        check-vulnerabilities check-console try-image console console-dev console-types sbom bench bench-peers format lock migrate clean setup node \
        test-console helm policy wrk FORCE
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: .venv/.runtime ## Set up and start the product: make run ARGS="--json"; MCPIST_HOME and MCPIST_PORT are respected
	@.venv/bin/python -m tools.console
	@exec .venv/bin/mcpist up $(ARGS)

dev: .venv/.runtime ## The same, started anew whenever a source file changes; the console by itself: make console-dev
	@.venv/bin/python -m tools.console
	@exec .venv/bin/python -m tools.reload $(ARGS)

# Work is handed out in long stretches: what the tests of a file share then starts in one worker only. Of three workers on two cores
# one mostly waits for a browser or a process.
test: setup node test-console helm ## Set up and run the tests: make test T=tests/core ARGS="-k name"
	@.venv/bin/pytest -n 3 --dist worksteal --durations 20 --durations-min 1 $(T) $(ARGS)

test-long: setup node test-console helm policy ## Run the tests that take long
	@.venv/bin/pytest -m long $(T) $(ARGS)

check: check-static check-rules check-cost ## Run every static check (make -k check: all, even after a failure)

# What `make test` does not run. The longest first, for `make -j`.
check-static: check-types check-console check-model check-imports check-lint check-dependencies check-format check-vulnerabilities

check-format: setup
	.venv/bin/ruff format --check .

check-lint: setup
	.venv/bin/ruff check .

# The wheel brings its own copy of pyright and of Node; nothing may be fetched, not even the question for a newer one.
check-types: setup
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 .venv/bin/pyright

check-imports: setup
	.venv/bin/lint-imports

check-dependencies: setup
	.venv/bin/deptry core broker admin_ui gateway jobs modules search server cli alembic

check-rules: setup
	.venv/bin/pytest -q tests/lint tests/mutation

# Bytecodes of a call, beside a baseline (tests/path/cost_of_a_call.json).
check-cost: setup
	.venv/bin/pytest -q tests/path/test_cost_of_a_call.py

# Every interleaving of a refresh, by Spin (Debian: spin, gcc); without it, this says so and goes on.
check-model: setup
	.venv/bin/python tools/check_model.py

check-console: setup
	@.venv/bin/python -m tools.console --check

# Where no database can be reached, this says so and goes on; ARGS=--required makes it fail.
check-vulnerabilities: setup ## Ask for known vulnerabilities of every locked package
	@.venv/bin/python -m tools.audit $(ARGS)

console: .venv/.runtime ## Build the web app (make run does, where its sources have changed)
	@.venv/bin/python -m tools.console --required

console-dev: .venv/.runtime ## Serve the web app's sources with reload on port 5173: docs/dev/console.md
	@.venv/bin/python -m tools.console --dev

console-types: setup ## Write the web app's types of the admin API anew, after a change of the API
	@.venv/bin/python -m tools.console_types

sbom: setup ## Write the software bill of materials of a runtime installation into dist/
	@.venv/bin/python -m tools.sbom

try-image: ## Build deploy/Dockerfile and start the image, without an image registry (Debian, as root)
	@deploy/try_image.sh

bench: setup wrk ## Measure speed: make bench ARGS="..."
	@.venv/bin/python -m tests.bench $(ARGS)

bench-peers: setup wrk ## Measure beside other gateways, each installed in .venv-peers: make bench-peers ARGS="..."
	@.venv/bin/python -m tests.bench.peers $(ARGS)

format: setup ## Format the code and apply the safe lint fixes
	.venv/bin/ruff check --fix-only .
	.venv/bin/ruff format .

lock: setup ## Write requirements/*.txt from pyproject.toml: make lock ARGS=--upgrade for the newest releases
	.venv/bin/python -m tools.lock $(ARGS)

migrate: .venv/.runtime ## Bring the database to the newest schema
	@.venv/bin/mcpist migrate $(ARGS)

clean: ## Remove what the other targets made (never the product's data)
	rm -rf .venv .venv-peers .venv-policy build dist *.egg-info tests/node/node_modules tests/agents/node_modules
	rm -rf admin_ui/console/node_modules admin_ui/console_dist
	rm -rf .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup: .venv/.dev

.venv/.runtime: $(SETUP_INPUTS)
	@tools/setup runtime

.venv/.dev: $(SETUP_INPUTS) requirements/dev.txt
	@tools/setup dev

# A registry out of reach must not take the other tests away: those that need these packages skip and say so.
node: setup
	@if [ -e tests/node/package.json ]; then tools/node-packages; fi

test-console: setup
	@.venv/bin/python -m tools.console --tests

# The same: without these, the tests of the chart skip and say so.
helm: setup
	@.venv/bin/python -m tools.helm

policy: setup
	@.venv/bin/python -m tools.policy

wrk:
	@command -v wrk >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq >&2 && apt-get install -y -qq wrk >&2; } || \
		echo 'mcpist: wrk is missing, so the numbers that need it are left out; install it (apt-get install wrk).' >&2

FORCE:

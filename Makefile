# Everything a newcomer needs: `make demo` and `make test` set up the rest by themselves.
# The recipes are plain sh; the only programs they expect are Python 3.11 or later and make.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.PHONY: help setup demo browser format lint test test-fast nightly bench docs docs-serve lock upgrade clean

BIN := .venv/bin
STAMP := .venv/.usance-setup
BENCH_STAMP := .venv/.usance-bench

# Caches stay in the project; a machine that shares uv's cache between projects sets UV_CACHE_DIR.
export UV_CACHE_DIR ?= $(CURDIR)/.cache/uv
export USANCE_CACHE ?= $(CURDIR)/.cache
export UV_NO_PROGRESS := 1
export NO_MKDOCS_2_WARNING := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# An environment that happens to be active must not be taken for ours.
export VIRTUAL_ENV := $(CURDIR)/.venv
unexport PYTHONPATH PYTHONHOME
# Compiled modules are kept, out of the tree, even where a machine is set to keep none: without them
# every process of a test spends seconds on compiling the libraries it imports.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX ?= $(CURDIR)/.cache/pycache

PYTEST := $(BIN)/python -m pytest
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock"

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

setup: $(STAMP) ## make .venv with pinned dependencies and the `usance` command (quick when done)
	@:

# uv comes from the lock like everything else, name, version and hashes; pip is only its door.
$(STAMP): requirements.lock pyproject.toml
	@if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  for name in $(PYTHON) python3.11 python3 python3.12 python3.13 python; do \
	    if "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then found=$$name; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "No Python 3.11 or later with the venv module was found." >&2; \
	    echo "Install one, or name it: make setup PYTHON=path/to/python3.11" >&2; exit 1; \
	  fi; \
	  echo "setup: making .venv with $$($$found -V)"; \
	  "$$found" -m venv --clear .venv || exit 1; \
	fi
	@echo "setup: installing the pinned dependencies"
	@awk '/^uv==/ { on = 1 } on { print } on && !/\\$$/ { exit }' requirements.lock > .venv/uv.lock
	@$(BIN)/python -m pip install --quiet --no-cache-dir --no-deps --require-hashes -r .venv/uv.lock
	@$(BIN)/uv pip sync --quiet --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@rm -f $(BENCH_STAMP)
	@touch $@
	@echo "setup: done, the command is .venv/bin/usance"

demo: setup ## show what exists so far, ending with a lender that is alive
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh demo/run

browser: setup ## let Playwright install a Chromium for the tests, where the machine has none
	$(BIN)/playwright install chromium

format: setup ## format the source and mend what can be mended by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: setup ## format, lint, types and import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy src tests tools $(wildcard bench) $(wildcard demo)
	$(BIN)/lint-imports --no-logo --cache-dir .cache/import-linter

test: lint ## all checks and tests (what CI runs)
	$(PYTEST) -n 2 --dist worksteal -m "not nightly"
	@$(MAKE) docs

test-fast: setup ## unit tests alone, under a minute
	$(PYTEST) -n 2 --dist worksteal -m "not slow and not nightly"

nightly: setup ## the long runs, with fresh random examples
	$(PYTEST) -n 2 --dist worksteal -m nightly --hypothesis-profile nightly

bench: setup $(BENCH_STAMP) ## measure speed against the alternatives, in one run
	$(BIN)/python -m bench

$(BENCH_STAMP): requirements-bench.lock $(STAMP)
	@$(BIN)/uv pip install --quiet --require-hashes -r requirements-bench.lock
	@touch $@

docs: setup ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

docs-serve: docs ## build the documentation and serve it to this machine until Ctrl-C
	@echo "http://127.0.0.1:8000 (Ctrl-C ends)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000

lock: setup ## write the lock files again after a change in pyproject.toml, keeping pins
	$(COMPILE) $(UPGRADE) pyproject.toml --group dev --output-file requirements.lock
	$(COMPILE) $(UPGRADE) --group bench --constraints requirements.lock --output-file requirements-bench.lock
	@$(MAKE) setup

upgrade: ## write the lock files again with the newest versions
	@$(MAKE) lock UPGRADE=--upgrade

clean: ## remove everything that was made
	rm -rf .venv .cache site dist
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

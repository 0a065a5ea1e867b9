# `make demo` and `make test` need Python 3.10+ and make, nothing else: each sets up what it uses in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_ARGS ?=
# Of the tests' time on two cores a quarter is waiting (for kills, for other processes): one more worker uses it.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
comma := ,

.PHONY: demo explore test test-core test-slow test-integrations docs check format speed learn clean

# Every extra, a browser's driver and other systems: an environment of its own, so that .venv stays small.
INTEGRATIONS := .venv-integrations

demo: $(VENV)/.demo
	$(BIN)/reshuffle demo

explore: $(VENV)/.demo
	$(BIN)/reshuffle serve families

test: $(VENV)/.dev
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not slow" -n $(WORKERS) $(ARGS)

# What needs no torch: rules, facts, reasoning, rule lists. `make test-core PYTHON=python3.13 VENV=.venv-3.13` tests another Python.
CORE := tests/rules tests/rulegraphs tests/kg tests/reasoning tests/rulelist tests/theories tests/test_constraints.py

test-core: $(VENV)/.core
	$(BIN)/python -m pytest -m "not slow" -n $(WORKERS) $(CORE) $(ARGS)

test-slow: $(VENV)/.dev $(INTEGRATIONS)/.all
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-full} $(BIN)/python -m pytest -m "slow or hypothesis" $(ARGS)
	$(INTEGRATIONS)/bin/python -m pytest integrations -m slow -n 0 $(ARGS)

test-integrations: $(INTEGRATIONS)/.all
	$(INTEGRATIONS)/bin/python -m pytest integrations -m "not slow" -n 0 --durations=15 --durations-min=1 $(ARGS)

# The documentation as a site: build/site/index.html, with a folder for each version. It needs no network; a warning is an error.
docs: $(INTEGRATIONS)/.all
	$(INTEGRATIONS)/bin/python docs/site/versions.py build/site

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

speed: $(VENV)/.bench
	$(BIN)/python -m benchmarks.speed

learn: $(VENV)/.learn

clean:
	rm -rf $(VENV) $(INTEGRATIONS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "reshuffle needs Python 3.10 or newer, and $(PYTHON) is older. Name one: make PYTHON=python3.12 ..." >&2; exit 2; }
	@echo "Setting up $(VENV) (once; a minute or two)" >&2
	@$(PYTHON) -m venv $(VENV)

# pip's own chatter is hidden; a failing install still prints its error.
define install
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -e '.$(1)'
	@touch $@
endef

# What is said before pip fetches torch.
define announce-torch
	@$(BIN)/python -c 'import torch' 2>/dev/null || [ "$$(uname -s)" != Linux ] || \
	  printf '%s\n' "Installing torch. On Linux pip may fetch a GPU build of several GB; for the CPU build (200 MB) stop here and run" \
	  "  make $(MAKECMDGOALS) PIP_ARGS='--extra-index-url URL'" \
	  "with the CPU address that https://pytorch.org/get-started/locally/ shows." >&2
endef

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(announce-torch)
	$(call install,[dev$(comma)learn])

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(call install,[dev])

$(VENV)/.bench: pyproject.toml constraints.txt | $(BIN)/python
	$(announce-torch)
	$(call install,[dev$(comma)learn$(comma)bench])

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(announce-torch)
	$(call install,[learn$(comma)explore])

$(VENV)/.learn: pyproject.toml constraints.txt | $(BIN)/python
	$(announce-torch)
	$(call install,[learn])

$(INTEGRATIONS)/.all: pyproject.toml constraints.txt
	@$(MAKE) --no-print-directory VENV=$(INTEGRATIONS) $(INTEGRATIONS)/.every-extra
	@touch $@

$(VENV)/.every-extra: pyproject.toml constraints.txt | $(BIN)/python
	$(announce-torch)
	$(call install,[all])

# Everything runs in .venv, which each target makes or completes first: `make test` works from a bare clone.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PEER_VENV := .venv-peer
TORCH_VENV := .venv-torch
BIN := $(VENV)/bin
# Modules are compiled when they are imported: most of the packages are not.
PIP_INSTALL := python -m pip install --quiet --disable-pip-version-check --no-compile
JOBS ?= 2
MINUTES ?= 10
PYTEST := $(BIN)/python -m pytest
# A worker takes half of the tests in their order, and then from the other: few fixtures are made twice.
PARALLEL := -n $(JOBS) --dist worksteal
# What `make demo` shows landing by landing.
DEMO := examples/vector_add.py
EXAMPLES := $(wildcard examples/*.py)

# Many tests start processes, which should not compile the source anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint types wheel check fuzz stress slow peer-test onnx-suite torch-test torch-suite gpu-suite bench dev clean
.DEFAULT_GOAL := help

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/.has-core ## print an example at every landing; compile, run and check all examples
	$(BIN)/stepwell run $(DEMO) --print-landings --check
	@for file in $(filter-out $(DEMO),$(EXAMPLES)); do \
	  echo; echo "$(BIN)/stepwell run $$file --check"; $(BIN)/stepwell run $$file --check || exit 1; \
	done
	@echo; $(BIN)/python examples/schedule_matmul.py

test: $(VENV)/.has-test ## the tests that protect main, with the same examples each time
	$(PYTEST) -q $(PARALLEL)

lint: $(VENV)/.has-lint ## ruff: rules and format
	$(BIN)/ruff check --output-format concise .
	$(BIN)/ruff format --check .

types: $(VENV)/.has-lint $(VENV)/.has-test ## pyright: strict on the source, basic on the tests
	$(BIN)/python .ci/typecheck.py

wheel: $(VENV)/.has-dev ## build the wheel, install it in a clean venv, run our tools and xDSL's there
	$(BIN)/python .ci/wheel.py

check: $(VENV)/.has-dev test lint types wheel ## all of the above but the demo

fuzz: $(VENV)/.has-test ## random programs, and random examples for the property tests: MINUTES=10, SEED=...
	$(BIN)/stepwell fuzz --minutes $(MINUTES) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) --tests tests

stress: $(VENV)/.has-core ## processes with one cache, killed at random, and damaged entries: MINUTES=10, SEED=...
	$(BIN)/python -m stepwell.tools.stress --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

slow: $(VENV)/.has-test ## the tests that take long, and that `make test` leaves out
	$(PYTEST) -q $(PARALLEL) -m slow

peer-test: $(VENV)/.has-test $(PEER_VENV)/.has-peers ## compare with apache-tvm and iree-opt, in a venv of their own
	STEPWELL_PEER_BIN=$(CURDIR)/$(PEER_VENV)/bin $(PYTEST) -q -m peer

onnx-suite: $(VENV)/.has-test ## ONNX's node tests; writes the tables of docs/onnx.md
	OMP_NUM_THREADS=1 $(BIN)/python -m stepwell.tools.onnx_suite -j $(JOBS) --write docs/onnx.md

torch-test: $(TORCH_VENV)/.has-torch ## the tests that need PyTorch, in a venv of their own
	$(TORCH_VENV)/bin/python -m pytest -q $(shell grep -rl 'importorskip("torch")' tests --include '*.py')

torch-suite: $(TORCH_VENV)/.has-torch ## models of torchvision and transformers; writes the table of docs/torch.md
	$(TORCH_VENV)/bin/$(PIP_INSTALL) torchvision transformers
	OMP_NUM_THREADS=1 $(TORCH_VENV)/bin/python -m stepwell.tools.torch_suite --write docs/torch.md

gpu-suite: $(VENV)/.has-test ## the corpus and every operator with default schedules on the emulated GPU
	$(BIN)/python -m stepwell.tools.gpu_suite

bench: $(VENV)/.has-core ## run every benchmark
	@for file in $(wildcard benchmarks/*.py); do echo "# $$file"; $(BIN)/python $$file || exit 1; done

dev: $(VENV)/.has-dev ## everything a developer needs, and the pre-commit hooks
	$(BIN)/pre-commit install

clean: ## remove what the other targets made, the venvs too
	rm -rf build dist *.egg-info .hypothesis .pytest_cache .ruff_cache $(VENV) $(PEER_VENV) $(TORCH_VENV)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "python 3.11 or newer is needed, '$(PYTHON)' is not; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.has-core: pyproject.toml | $(BIN)/python
	$(BIN)/$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.has-%: pyproject.toml | $(BIN)/python
	$(BIN)/$(PIP_INSTALL) --editable '.[$*]'
	@touch $@

# `dev` has the requirements of all the others: one installation takes 10 seconds less than four.
$(VENV)/.has-dev: pyproject.toml | $(BIN)/python
	$(BIN)/$(PIP_INSTALL) --editable '.[dev]'
	@touch $(foreach each,core test lint dev,$(VENV)/.has-$(each))

$(TORCH_VENV)/.has-torch: pyproject.toml
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/$(PIP_INSTALL) --editable '.[test,torch]'
	@touch $@

$(PEER_VENV)/.has-peers: pyproject.toml
	$(PYTHON) -m venv $(PEER_VENV)
	$(PEER_VENV)/bin/$(PIP_INSTALL) 'apache-tvm==0.27.*' 'apache-tvm-ffi==0.1.14.post1' 'iree-base-compiler>=3' pytest
	@touch $@

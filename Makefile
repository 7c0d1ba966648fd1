# Every target makes and reuses .venv by itself and may be run twice.
.DEFAULT_GOAL := help
.PHONY: help install demo quick test long oldest exports vulnerabilities provider browser r container lines audit mutants generated cluster soak server check format reference docs gallery screenshots bench coverage clean

PYTHON ?= python3
ROUNDS ?= 200
SAMPLE ?= 16
SEED ?= 1
JOBS ?= 2
MINUTES ?= 60
KILLS ?= 50
BIN := .venv/bin
USABLE := .venv/.usable
READY := .venv/.ready
OLDEST := .venv-oldest
EXPORTS := .venv-exports
VULNERABILITIES := .venv-vulnerabilities
export PIP_DISABLE_PIP_VERSION_CHECK = 1

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(USABLE): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@touch $(USABLE)

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[postgres,spark,plot,files,dev]'
	@touch $(USABLE) $(READY)

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet --constraint constraints-oldest.txt --editable '.[postgres,plot,files,test]'
	@touch $(OLDEST)/.ready

$(EXPORTS)/.ready: pyproject.toml constraints-exports.txt
	rm -rf $(EXPORTS)
	$(PYTHON) -m venv $(EXPORTS)
	$(EXPORTS)/bin/pip install --quiet --constraint constraints-exports.txt --editable '.[files,plot,test]' \
		'pysdmx[data,json,xml]' frictionless csvw csvw-eo
	@touch $(EXPORTS)/.ready

install: $(READY)  ## put Lapwing, its extras and the tools of its developers into .venv

.oidc/.ready: tests/oidc/package.json tests/oidc/package-lock.json
	mkdir -p .oidc
	cp $^ .oidc
	npm ci --prefix .oidc --ignore-scripts --no-audit --no-fund
	@touch $@

provider: .oidc/.ready  ## install what tests take from npm into .oidc: an OpenID provider, and axe-core (node 20)

demo: $(USABLE)  ## show what Lapwing does, on built-in data
	@$(BIN)/lapwing demo

quick: $(READY)  ## lint, layers and the fast tests: what a change needs first, in a minute
	$(BIN)/ruff check --output-format concise .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 -m "not slow" --durations 5 --durations-min 1

test: $(READY)  ## run the tests, but for those of make long and make browser
	$(BIN)/python -m pytest -n auto --maxprocesses 4 -m "not long" --ignore tests/browser

long: $(READY)  ## run the tests that take long: Spark, crashes, large statistics, the built package; not those of make browser
	$(BIN)/python -m pytest -n auto --maxprocesses 4 -m long --ignore tests/browser

oldest: $(OLDEST)/.ready  ## run the fast tests with the oldest versions that pyproject.toml allows
	$(OLDEST)/bin/python -m pytest -q -n auto --maxprocesses 4 -m "not slow" -W ignore

browser: $(READY)  ## look at the HTML pages in a real Chromium, installed if need be; pictures are kept in build/screenshots
	@test -n "$$LAPWING_CHROMIUM" || command -v chromium-browser > /dev/null || .ci/install chromium chromium fonts-dejavu-core || \
		echo "CHROMIUM COULD NOT BE INSTALLED: the tests of the pages in a browser are SKIPPED"
	@timeout 300 $(MAKE) --silent provider > /dev/null 2>&1 || \
		echo "AXE-CORE COULD NOT BE INSTALLED: the accessibility of the pages is NOT CHECKED"
	$(BIN)/python -m pytest -q -s tests/browser

container: $(READY)  ## take the steps of deploy/Containerfile in a clean root of Debian's packages, and ask the server in it; as root
	$(BIN)/python deploy/prove.py

r: $(READY)  ## check the R package, and let it ask a server on this machine
	$(BIN)/python -m pytest -q tests/unit/server/test_r.py

exports: $(EXPORTS)/.ready  ## check the files that are handed over with the tools of their formats
	$(EXPORTS)/bin/python -m pytest -q tests/unit/exports

$(VULNERABILITIES)/.ready:
	rm -rf $(VULNERABILITIES)
	$(PYTHON) -m venv $(VULNERABILITIES)
	$(VULNERABILITIES)/bin/pip install --quiet pip-audit==2.10.1
	@touch $(VULNERABILITIES)/.ready

vulnerabilities: $(VULNERABILITIES)/.ready  ## look up known vulnerabilities of the versions in constraints.txt, by pip-audit
	@$(VULNERABILITIES)/bin/python -m tests.vulnerabilities $(VULNERABILITIES)/bin/pip-audit

lines: $(READY)  ## run the tests and list the lines that none of them reaches; takes half as long again
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --cov --cov-report=term

audit: $(READY)  ## check on this machine that Lapwing keeps what it promises
	$(BIN)/lapwing audit

mutants: $(READY)  ## break the build on purpose, and count which faults the audit flags; PART=1/4 runs a quarter of them
	$(BIN)/python -m tests.mutants $(if $(PART),--part $(PART))

generated: $(READY)  ## the same with faults made by rules, by the audit and the tests: SAMPLE=16 of them, SEED=1, JOBS=2
	$(BIN)/python -m tests.generated --sample $(SAMPLE) --seed $(SEED) --jobs $(JOBS)

cluster: $(READY)  ## run the tests on Spark on a cluster of this machine, and on Spark Connect
	$(BIN)/python -m tests.cluster -q

soak: $(READY)  ## run the tests that draw at random again and again, with new examples: ROUNDS=200, or until MINUTES=60 are over
	$(BIN)/python -m tests.soak --rounds $(ROUNDS) --minutes $(MINUTES)

server: $(READY)  ## run the tests of the server under load and failure: KILLS=50 times it is killed
	LAPWING_KILLS=$(KILLS) $(BIN)/python -m pytest -q -s tests/unit/server/test_api.py tests/unit/server/test_load.py tests/unit/server/test_killed.py

check: $(READY)  ## lint, types, layers, generated pages
	$(BIN)/ruff check --output-format concise .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

format: $(READY)  ## put the code into its standard form
	$(BIN)/ruff check --quiet --output-format concise --fix .
	$(BIN)/ruff format .

reference: $(READY)  ## write the generated pages of docs/reference
	$(BIN)/python docs/generate.py

docs: reference  ## build the site into build/site: warnings, dead links and other hosts are errors
	$(BIN)/python docs/site/build.py

gallery: $(READY)  ## run the scripts and notebooks of examples/, and keep their pictures in docs/gallery
	$(BIN)/python docs/gallery/make.py

screenshots: docs  ## photograph pages of the site in Chromium, into build/screenshots, to be looked at
	$(BIN)/python docs/site/screenshots.py

bench: $(READY)  ## measure speed, timing and the peers, into docs/reference/benchmarks.md
	$(BIN)/python bench/noise.py
	$(BIN)/python bench/timing.py
	$(BIN)/python bench/ledger.py
	$(BIN)/python bench/server.py
	$(BIN)/python bench/accuracy.py
	$(BIN)/python bench/tree.py
	$(BIN)/python bench/quantiles.py
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/engines.py
	$(BIN)/python bench/expressions.py
	$(BIN)/python bench/weighted.py
	$(BIN)/python bench/check.py
	$(BIN)/python bench/tables.py

coverage: $(READY)  ## simulate how often error bars hold the truth, into docs/reference/benchmarks.md
	$(BIN)/python bench/coverage.py

clean:  ## remove what the targets made
	rm -rf .venv .venv-peers .venv-oldest .venv-exports .venv-vulnerabilities .oidc .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage build dist src/*.egg-info

# make train   set up, train configs/quickstart.yaml on the sample corpus
#              make train CONFIG=configs/… ARGS="--set name=…"   train and evaluate any config
# make compare   train the same without attention, and compare the two
# make translate TEXT="…"   set up, translate German or English with a bundled model (ARGS="--from en" says which)
# make serve   set up, open a page that shows the bundled models translating (ARGS="--port 9000 …")
# make demo    set up, write build/demo: that page as static files, whose model runs in the browser (needs npm)
# make playground   set up, write build/playground: a page on which attention is trained in the browser
# make test    set up, run the tests but the long ones              make check   lint, format, types
# make test-fast   a minute of them, which train nothing and start no other process
# make test-long   the long ones: crashes, many processes, walks of hostile inputs, planted errors, whole trainings
# make test-core   copies of the tree without nmt's add-ons: what is left passes its tests (ARGS="--all core": all of them)
# make test-oldest   the tests of fast modules, model and search with the oldest supported PyTorch, in .venv-oldest
# make multi30k-full   the whole chain of Multi30k with its captions: hours; goes on where it was interrupted
# make multi30k-scores   train a model per direction and language of Multi30k, and score all its test sets: hours
# make test-browser   the tests of that page, in Chromium         make test-page   types, lint and tests of its modules
# make docs    set up, build the documentation into build/docs (EXECUTE=force: run the tutorial instead of showing what is stored)
# make course   set up, build the course: its site and slides, into build/docs, and what Otter-Grader grades a class with, into build/class
# make reference   write what the reference and configs/schema.json take from the code anew
# make ablation   train every attention mechanism, write docs/ablation
# make clock   minutes from Multi30k's files to 40 BLEU on this machine (ARGS=--add: also a row in docs/clock.md)
# make bench   measure speed and memory; other toolkits beside, where PEERS holds them (benchmarks/peers.py)
PYTHON ?= python3
QUICKSTART := configs/quickstart.yaml
COMPARED := checkpoints/quickstart_compared
CONFIG ?= $(QUICKSTART)
ARGS ?=
EXECUTE ?= off
BIN := .venv/bin
DEMO := build/demo
BUNDLED := checkpoints/multi30k-de-en/model.safetensors

INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
WITH ?=  # `make setup WITH="docs browser"` also installs these, at once if nothing is installed
COMMA := ,

FAST_TESTS := tests/config tests/text $(wildcard tests/fast) tests/decoding/test_beam_search.py

OLDEST := .venv-oldest
OLDEST_TORCH := $(shell sed -n 's/.*"torch>=\([0-9.]*\)".*/\1/p' pyproject.toml)

.PHONY: course multi30k-full multi30k-scores reference setup translate train compare serve test test-fast test-long test-core test-mutations test-browser test-page test-oldest check docs demo playground ablation bench clock
setup: .venv/installed $(WITH:%=.venv/%-installed)

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nmt needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(INSTALL) '.[test,tensorboard,export,hub$(foreach name,$(WITH),$(COMMA)$(name))]'
	touch $@ $(WITH:%=.venv/%-installed)

.venv/%-installed: .venv/installed
	$(INSTALL) '.[$*]'
	touch $@

translate: setup
	@$(BIN)/python scripts/translate.py $(if $(TEXT),"$$TEXT") $(ARGS)

serve: .venv/serve-installed
	$(BIN)/python -m nmt serve $(ARGS)

demo: setup $(DEMO)/index.html
	@echo "Written: $(DEMO). To see it: python3 -m http.server --directory $(DEMO)"

$(DEMO)/index.html: $(BUNDLED) build/npm/node_modules $(shell find nmt/export nmt/model nmt/page -type f -not -name '*.pyc')
	rm -rf $(DEMO)
	$(BIN)/python -m nmt export $(BUNDLED) --precision int8 --page build/npm/node_modules/onnxruntime-web --output $(DEMO)

playground: setup
	rm -rf build/playground
	$(BIN)/python -m nmt.playground build/playground
	@echo "Written: build/playground. To see it: python3 -m http.server --directory build/playground"

build/npm/node_modules: nmt/export/browser/package-lock.json
	@command -v npm > /dev/null || { echo "the page that translates in the browser needs npm: apt-get install nodejs npm"; exit 2; }
	mkdir -p build/npm
	cp nmt/export/browser/package.json nmt/export/browser/package-lock.json build/npm
	cd build/npm && npm ci --silent --ignore-scripts
	touch $@

train: setup
	$(BIN)/python scripts/train.py $(CONFIG) $(ARGS)
ifeq ($(CONFIG)$(filter-out --resume,$(ARGS)),$(QUICKSTART))
	@echo "  make compare   (trains the same model without attention, and compares the two by sentence length)"
endif

compare: setup
	@[ -e checkpoints/quickstart/best.safetensors ] || { echo "make compare needs the model that make train trains: run it first"; exit 2; }
	$(BIN)/python scripts/train.py configs/quickstart_none.yaml --resume
	rm -rf $(COMPARED)
	$(BIN)/python scripts/evaluate.py checkpoints/quickstart/best.safetensors checkpoints/quickstart_none/best.safetensors --output $(COMPARED)

ablation: setup
	$(BIN)/python scripts/ablation.py --output docs/ablation $(ARGS)

multi30k-full: setup
	$(BIN)/doit $(ARGS)

multi30k-scores: setup
	$(BIN)/python scripts/multi30k_scores.py $(ARGS)

test: setup
	@command -v node > /dev/null || { echo "some of the tests need Node.js: apt-get install nodejs"; exit 2; }
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not long"

test-long: setup
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m long
	$(BIN)/python tests/mutations.py

# Plants errors in a copy of the project, and prints for each the test that notices it (ARGS="WORD…": some of them).
test-mutations: setup
	$(BIN)/python tests/mutations.py $(ARGS)

test-fast: setup
	$(BIN)/python -m pytest --numprocesses auto -m "not long" $(FAST_TESTS)

test-core: setup
	$(BIN)/python tools/test_core.py $(ARGS)

test-browser: .venv/browser-installed demo
	@{ command -v chromium-headless-shell || command -v chromium || command -v google-chrome; } > /dev/null || \
	    { echo "these tests need Chromium: apt-get install chromium-headless-shell, or chromium"; exit 2; }
	NMT_TEST_BROWSER=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal tests/browser

test-page: tests/page_modules/node_modules
	cd tests/page_modules && npm run --silent check && npm test --silent

tests/page_modules/node_modules: tests/page_modules/package-lock.json
	@command -v npm > /dev/null || { echo "these tests need Node.js with npm: apt-get install nodejs npm"; exit 2; }
	cd tests/page_modules && npm ci --silent
	touch $@

test-oldest: $(OLDEST)/installed
	$(OLDEST)/bin/python -m pytest --numprocesses auto $(wildcard tests/fast) tests/model tests/decoding/test_beam_search.py

# On Linux with an x86-64 processor, the package index has this PyTorch with CUDA alone: some 3 GB. For a build without
# CUDA (200 MB), set PIP_FIND_LINKS to a folder or page that offers one. It pins another sympy than constraints.txt.
$(OLDEST)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OLDEST)
	grep -vE '^(torch|sympy)==' constraints.txt > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/pip install --quiet --disable-pip-version-check --constraint $(OLDEST)/constraints.txt \
	    torch~=$(OLDEST_TORCH).0 --editable '.[test]'
	$(OLDEST)/bin/python -c 'import torch; print("torch", torch.__version__)'
	touch $@

bench: setup
	for name in training beside search startup growth pipeline attention_growth scaling; do \
	    echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit; done

clock: setup
	@$(BIN)/python benchmarks/clock.py $(ARGS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

reference: setup
	$(BIN)/python docs/_ext/config_schema.py configs/schema.json
	$(BIN)/python docs/_ext/generated_parts.py docs/reference/*.md

SITE := NMT_DOCS_EXECUTE=$(EXECUTE) $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going \
    --doctree-dir build/doctrees docs build/docs

course: .venv/course-installed .venv/docs-installed
	$(BIN)/python tools/course.py
	$(BIN)/python tools/course.py class build/class
	$(SITE)
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory build/slides/node_modules && \
	    $(BIN)/python tools/slides.py build/slides/node_modules build/docs/course/slides; else \
	    echo "The course comes without slides: they need npm (apt-get install nodejs npm)"; fi
	@echo "Written: build/docs/course/nano_nmt.html and the lessons beside it; slides/index.html; build/class"

build/slides/node_modules: docs/course/slides/package-lock.json
	mkdir -p build/slides
	cp docs/course/slides/package.json docs/course/slides/package-lock.json build/slides
	cd build/slides && npm ci --silent --ignore-scripts
	touch $@

docs: .venv/docs-installed
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory demo; else rm -rf $(DEMO); \
	    echo "The documents come without the page that translates in the browser: it needs npm (apt-get install nodejs npm)"; fi
	$(SITE)
	@rm -rf build/docs/demo; [ ! -d $(DEMO) ] || cp -r $(DEMO) build/docs/demo
	@rm -rf build/docs/playground; [ ! -d nmt/playground ] || $(BIN)/python -m nmt.playground build/docs/playground
	@echo "Written: build/docs/index.html"

# Every target does its own set-up and never prompts.
.PHONY: setup demo test test-all

setup:
	@ci/setup.sh

demo: setup
	@.venv/bin/replay demo

test: setup
	@.venv/bin/tox run --current-env -e lint,types,layers,replay,unit

test-all: setup
	@.venv/bin/tox run --current-env -e lint,types,layers,replay,unit,slow

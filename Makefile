# Every target does its own set-up; none of them prompts.
.PHONY: setup demo test test-all bench seeds schema

TOX = PATH="$(CURDIR)/.venv/bin:$$PATH" tox run --current-env --no-list-dependencies -e

setup:
	@ci/setup.sh

demo: setup
	@.venv/bin/replay demo

test: setup
	@$(TOX) lint,types,layers,replay,unit

test-all: setup
	@$(TOX) lint,types,layers,replay,prove,slow,unit

seeds: setup
	@ci/seeds.sh

schema: setup
	@.venv/bin/python -c 'from replay.reports.json import schema; print(schema(), end="")' >docs/report.schema.json

bench: setup
	@.venv/bin/python -m benchmarks

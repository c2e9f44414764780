# demo: the main job on the starter model.  test: check, then every test.  check: format, lint, types.
# vm: jails on cgroup version 2, in a virtual machine (as root, a quarter of an hour).
# Each makes .venv first when it is missing or out of date (.ci/setup says how and what it may lack).
# PYTEST_ARGS goes to pytest, for instance: make test PYTEST_ARGS="tests/test_layout.py -x"

PYTEST_ARGS ?=
export OMP_WAIT_POLICY ?= passive

.PHONY: demo test check setup vm clean distclean

demo: setup
	.venv/bin/appliance train recipes/starter.toml

test: check
	.venv/bin/python -m pytest $(PYTEST_ARGS)

check: setup
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m ruff check .
	.venv/bin/python -m mypy

setup:
	@bash .ci/setup

vm:
	python3 tests/vm/run.py --fast

clean:
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find appliance sandbox queue tui tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv

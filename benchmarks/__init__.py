"""Benchmarks beside the alternatives: `python -m benchmarks`, or `tox -e bench`; see README.md."""

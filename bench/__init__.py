"""Benchmarks of warpkit: `python -m bench [SUITE …] [--json FILE]`, from the repository's root.

harness.py  rows, goals, table, JSON file, and what a run ran on
timing.py   device time, graph of small launches, host time per call, copy
chains.py   cycles of one collective in a dependent chain
peers.py    builds and runs the CUDA C++ programs of cuda/ that are compared with
The other modules are the suites; results/ keeps what was measured.
"""

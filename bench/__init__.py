"""Benchmarks of warpkit: `python -m warpkit bench [SUITE …]`, or `python -m bench` from the repository's root.

harness.py  rows, goals, table, JSON file; machine.py: what a run ran on
mode.py     fully, quickly or in the simulator; running.py: a process for each suite
timing.py   device time, graph of small launches, host time per call, copy
chains.py   cycles of one collective in a dependent chain
peers.py    builds and runs the CUDA C++ programs of cuda/ that are compared with
compare.py  two records beside each other; plots.py: pictures of one
The other modules are the suites; results/ keeps what was measured.
"""

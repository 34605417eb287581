#!/bin/sh
# Bank conflicts of the load–store kernels: see conflicts.py. NCU names the profiler, PYTHON the interpreter.
#     bench/conflicts.sh > bench/results/DATE-GPU-bank-conflicts.txt
cd "$(dirname "$0")/.." && exec "${PYTHON:-python3}" -m bench.conflicts

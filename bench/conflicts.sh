#!/bin/sh
# Shared-memory bank conflicts of the load–store kernels (bench/block_copy.py), each launched once under Nsight Compute:
#     bench/conflicts.sh > bench/results/DATE-GPU-bank-conflicts.txt
# The first counter is the hardware's; it also counts waits that are no conflicts, so a small number means none. The
# `smsp__sass` ones count what the kernel's own instructions cause: conflicts, and wavefronts beside the fewest possible.
# Vectorized kernels use no shared memory and show what zero looks like. Clocks stay as they are.
set -eu
cd "$(dirname "$0")/.."
lsu=data_bank_conflicts_pipe_lsu_mem_shared
waves=smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared
metrics=l1tex__$lsu.sum,l1tex__${lsu}_op_ld.sum,l1tex__${lsu}_op_st.sum
metrics=$metrics,smsp__sass_l1tex_$lsu.sum,$waves.sum,${waves}_ideal.sum
exec "${NCU:-ncu}" --clock-control none --target-processes all --kernel-name regex:copy_ \
    --metrics "$metrics" "${PYTHON:-python3}" -m bench.block_copy

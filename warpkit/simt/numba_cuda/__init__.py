"""The hardware half of the waist: every operation of `warpkit.simt` lowered for numba-cuda.

This package is the only place that touches Numba's internals, LLVM or PTX.
"""

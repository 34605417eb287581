"""Numba's own device API, for users' unchanged kernels: each name of `numba.cuda`, with Numba's result types."""

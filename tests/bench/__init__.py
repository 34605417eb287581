"""The benchmarks' own kernels: that both sides of a comparison compute the same."""

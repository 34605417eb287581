"""The tests of `warpkit/cli` that run kernels."""

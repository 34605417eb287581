"""`python -m warpkit explain NAME`: which lowering a call gets and why, what it takes; compiled here, without a GPU.

report.py  the screen; why.py: what counts of instructions mean
calls.py   kernels with one call of a warp, block or grid function, of the bodies in values.py and items.py
arrays.py  calls of array functions
"""

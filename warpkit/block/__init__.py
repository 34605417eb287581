"""The block floor: collectives of all threads of a block, for every block shape, type and operator."""

from .reduce import block_max, block_min, block_product, block_reduce, block_sum

# Everything imported above is public: to add a primitive is to add its name to one import.
__all__ = sorted(name for name, value in globals().items() if callable(value) and not name.startswith("_"))

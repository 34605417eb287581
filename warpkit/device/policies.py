"""What the numbers of a policy may be."""

from typing import Any

import numpy as np

from ..errors import Refused


def check_bounds(policy: Any, **bounds: tuple[int, int]) -> None:
    """Refuse a policy in which a field is no integer from the least to the most of its bounds.

    Not by `in range(…)`: Python looks through all of a range for what is no int.
    """
    for name, (least, most) in bounds.items():
        value = getattr(policy, name)
        if type(value) is bool or not isinstance(value, int | np.integer) or not least <= value <= most:
            raise Refused(f"{type(policy).__name__}: {name} must be {least} to {most}, not {value!r}.")
        object.__setattr__(policy, name, int(value))  # policies are frozen; a NumPy integer is no int to the compiler

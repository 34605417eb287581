"""CUDA vector types: numba's simulated ones, taught their component type."""

import numpy as np
from numba.cuda.simulator.vector_types import SimulatedVectorType, vector_types

from warpkit.simt.simulator.elements import element_of

_construct = SimulatedVectorType.__init__


def teach():
    """Make construction convert and check components; give vectors a repr and what elements and fingerprints need."""
    for name, kind in vector_types.items():
        kind.component = np.dtype(name[:-2]).type
        kind.base_type = kind.component
    SimulatedVectorType.__init__ = _constructed
    SimulatedVectorType.__repr__ = lambda self: f"{self.name}({', '.join(map(str, self.as_list()))})"
    SimulatedVectorType._state_ = property(lambda self: tuple(part.tobytes() for part in self.as_list()))


def _constructed(self, *parts):
    _construct(self, *parts)
    element = element_of(self.component)
    for name in self._attrs:
        setattr(self, name, element.load(element.store(getattr(self, name))))

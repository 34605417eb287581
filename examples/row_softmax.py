"""Softmax of every row of a matrix, one call: the weights of an attention in which nobody looks ahead."""

import math

import numpy as np
from numba import config, cuda

import warpkit as wk


def masked(score, query, key):
    """Hide the keys behind a query: their share becomes exactly 0."""
    return score if key <= query else np.float32(-math.inf)


length, width = (40, 16) if config.ENABLE_CUDASIM else (4096, 64)
rng = np.random.default_rng(17)
queries, keys = rng.normal(size=(2, length, width)).astype(np.float32)
scores = queries @ keys.T / np.float32(math.sqrt(width))

place = np.arange(length, dtype=np.int32)
rows, columns = cuda.to_device(place.reshape(-1, 1)), cuda.to_device(place)  # their shapes go together as NumPy's do
weights = cuda.to_device(scores)
wk.device.transform(masked, weights, rows, columns, out=weights)
wk.device.softmax(weights, out=weights)  # in place, a row is read once
weights = weights.copy_to_host()

hidden = np.where(place <= place[:, None], scores.astype(float), -np.inf)
grown = np.exp(hidden - hidden.max(axis=1, keepdims=True))
assert np.allclose(weights, grown / grown.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-7)
assert not np.triu(weights, 1).any()
key = weights[-1].argmax()
print(f"{length} rows of {length}: the last one gives most to key {key}, a share of {weights[-1, key]:.4f}")

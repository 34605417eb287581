"""A network with weights of 8 and of 4 bits: lanes read each other's packed words."""

import numpy as np
from numba import config, cuda

import warpkit as wk

ALL_LANES = 0xFFFFFFFF
WARPS = 4  # a block


@cuda.jit
def layer(inputs, words, scales, bits, outputs):
    """Set outputs[sample, row] to the dot product of a sample and a row of weights: one warp each."""
    row = cuda.blockIdx.x * WARPS + wk.warp_id()
    sample = cuda.blockIdx.y
    if row < outputs.shape[1]:
        lane = wk.warp_lane_id()
        half = 1 << (bits - 1)
        mine = np.float32(0)
        for k in range(0, inputs.shape[1], 32):  # 32 weights of `bits` bits are `bits` words
            word = np.uint32(0)
            if lane < bits:
                word = words[row, (k >> 5) * bits + lane]
            word = wk.warp_read_lane(word, (lane * bits) >> 5, mask=ALL_LANES)  # the one that holds this lane's weight
            code = (word >> np.uint32((lane * bits) & 31)) & np.uint32(2 * half - 1)
            mine += inputs[sample, k + lane] * np.float32(np.int32(code) - half)
        total = wk.warp_active_sum(mine, mask=ALL_LANES)
        if lane == 0:
            outputs[sample, row] = total * scales[row]


def quantise(weights, bits):
    """Return each row's scale, its weights as integers from 0 on, and these packed into words of 32 bits."""
    half = 2 ** (bits - 1)
    scales = np.abs(weights).max(axis=1) / (half - 1)
    codes = np.rint(weights / scales[:, None] + half).astype(np.uint8)
    single = np.unpackbits(codes[:, :, None], axis=2, count=bits, bitorder="little")
    words = np.packbits(single.reshape(len(weights), -1), axis=1, bitorder="little").view(np.uint32)
    return scales.astype(np.float32), codes, words


rng = np.random.default_rng(26)
images = rng.uniform(0, 1, (1 if config.ENABLE_CUDASIM else 4, 128)).astype(np.float32)
network = [rng.normal(0, inner**-0.5, (rows, inner)).astype(np.float32) for rows, inner in ((64, 128), (10, 64))]
exact = np.maximum(images @ network[0].T, 0) @ network[1].T
for bits, allowed in ((8, 0.2), (4, 1.0)):
    found = simulated = images
    for step, weights in enumerate(network):
        scales, codes, words = quantise(weights, bits)
        outputs = cuda.device_array((len(images), len(weights)), np.float32)
        arrays = [cuda.to_device(array) for array in (found, words, scales)]
        layer[(-(-len(weights) // WARPS), len(images)), 32 * WARPS](*arrays, bits, outputs)
        found = outputs.copy_to_host()
        simulated = simulated @ ((codes.astype(np.float32) - 2 ** (bits - 1)) * scales[:, None]).T
        if step == 0:
            found, simulated = np.maximum(found, 0), np.maximum(simulated, 0)
    assert np.abs(found - simulated).max() < 2e-3
    assert np.abs(found - exact).max() < allowed
    print(f"{bits}-bit weights: outputs differ by at most {np.abs(found - exact).max():.3f} from those of 32 bits")

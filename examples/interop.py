"""Arrays of CuPy and PyTorch in kernels and in array functions, without a copy, on their library's stream."""

from importlib.util import find_spec

import numpy as np
from numba import config, cuda

import warpkit as wk

ALL_LANES = 0xFFFFFFFF


@cuda.jit
def centre(x, out):
    """Subtract from every item the mean of its row of 32."""
    i = cuda.grid(1)
    out[i // 32, i % 32] = x[i // 32, i % 32] - wk.warp_active_sum(x[i // 32, i % 32], mask=ALL_LANES) / np.float32(32)


def given(name, host):
    """Return a library's array of the same items, and an empty one."""
    if name == "cupy":
        import cupy

        return cupy.asarray(host), cupy.empty(host.shape, host.dtype)
    if name == "torch":
        import torch

        return torch.from_numpy(host).cuda(), torch.empty(host.shape, device="cuda")
    return cuda.to_device(host), cuda.device_array(host.shape, host.dtype)


def taken(name, array):
    """Return a NumPy array of what warpkit returned, taken over by a library where it lies."""
    if name == "cupy":
        import cupy

        return cupy.asnumpy(cupy.asarray(array))
    if name == "torch":
        import torch

        return torch.as_tensor(array, device="cuda").cpu().numpy()
    return array.copy_to_host()


host = np.random.default_rng(5).random((16 if config.ENABLE_CUDASIM else 4096, 32), np.float32)
for name in ("numba", "cupy", "torch"):
    if find_spec(name) is None:
        print(f"{name}: not installed, left out")
    elif config.ENABLE_CUDASIM and name != "numba":
        print(f"{name}: left out, its arrays need a GPU")
    else:
        x, out = given(name, host)
        wk.launch(centre, host.size // 128, 128, x, out)  # on the library's current stream
        high = taken(name, wk.device.select(out, lambda v: v > 0.25))

        centred = taken(name, out)
        assert np.allclose(centred, host - host.mean(axis=1, keepdims=True), atol=1e-6)
        assert (high == centred[centred > 0.25]).all()
        assert wk.device.argmax(out) == centred.argmax()
        print(f"{name}: {len(host)} rows centred, {high.size} items above 0.25 kept")

"""Arrays of CuPy and PyTorch in a kernel, without a copy, on their framework's stream."""

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


def run_on_numba(host):
    """Return the centred rows by Numba's own arrays."""
    out = cuda.device_array(host.shape, host.dtype)
    centre[host.size // 128, 128](cuda.to_device(host), out)
    return out.copy_to_host()


def run_on_cupy(host):
    """Return the centred rows by CuPy arrays, on CuPy's current stream."""
    import cupy

    x, out = cupy.asarray(host), cupy.empty(host.shape, host.dtype)
    stream = cuda.external_stream(cupy.cuda.get_current_stream().ptr)
    centre[host.size // 128, 128, stream](x, out)
    return cupy.asnumpy(out)


def run_on_torch(host):
    """Return the centred rows by PyTorch tensors, on PyTorch's current stream."""
    import torch

    x, out = torch.from_numpy(host).cuda(), torch.empty(host.shape, device="cuda")
    stream = cuda.external_stream(torch.cuda.current_stream().cuda_stream)
    centre[host.size // 128, 128, stream](x, out)
    return out.cpu().numpy()


host = np.random.default_rng(5).random((16 if config.ENABLE_CUDASIM else 4096, 32), np.float32)
for name, run in (("numba", run_on_numba), ("cupy", run_on_cupy), ("torch", run_on_torch)):
    if find_spec(name) is None:
        print(f"{name}: not installed, left out")
    elif config.ENABLE_CUDASIM and name != "numba":
        print(f"{name}: left out, its arrays need a GPU")
    else:
        centred = run(host)
        assert np.allclose(centred, host - host.mean(axis=1, keepdims=True), atol=1e-6)
        print(f"{name}: {len(host):,} rows centred")

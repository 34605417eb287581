"""Compile kernels without a GPU, count instructions, assemble.

Works only in processes without the simulator, where Numba has no compiler; importing it is harmless there.
"""

import contextlib
import functools
import re
import types
from unittest import mock

from numba import cuda

CC = (9, 0)


@contextlib.contextmanager
def without_gpu(cc=CC):
    """Answer Numba's question for the current device, which a kernel that calls a device function asks."""
    device = types.SimpleNamespace(compute_capability=cc)
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=device):
        yield


def plain(kernel):
    """Return the Python function of a kernel, decorated or not."""
    return getattr(kernel, "py_func", kernel)


def compile_ptx(kernel, *argtypes, cc=CC, debug=False, opt=True):
    """Return the PTX of a kernel for these argument types; the pieces joined where there are several (debug)."""
    with without_gpu(cc):
        pieces, _ = cuda.compile_all(
            plain(kernel), argtypes, cc=cc, debug=debug, opt=opt, device=False, abi="numba", output="ptx"
        )
    return "\n".join(pieces)


@functools.lru_cache(maxsize=256)
def compile_once(kernel, *argtypes, **options):
    """Do `compile_ptx`, once for the same kernel, types and options: what is compiled must not depend on more."""
    return compile_ptx(kernel, *argtypes, **options)


def result_type(function, *argtypes):
    """Return the type that a device function gives for these argument types."""
    from numba.cuda.compiler import compile_cuda

    with without_gpu():
        return compile_cuda(plain(function), None, argtypes, cc=CC).signature.return_type


def body(ptx):
    """Return the instructions, one a line: no comments, directives or labels."""
    lines = (line.strip().lstrip("{ \t") for line in ptx.splitlines())
    return [line for line in lines if line and not line.startswith(("//", ".", "$", "}", ")"))]


def places(ptx, name):
    """Return where, in the order of the instructions, those stand whose name starts with `name`."""
    return [n for n, line in enumerate(body(ptx)) if re.match(rf"(@!?%\w+\s+)?{re.escape(name)}", line)]


def count(ptx, name):
    """Count the instructions whose name starts with `name`, also under a predicate and in inline assembly."""
    return len(places(ptx, name))


def shuffles(ptx):
    """Count the shuffles: each moves one 32-bit word."""
    return count(ptx, "shfl.sync")


def assert_register_only(ptx):
    """Assert that nothing lives in local memory, nothing is called, nothing compared that the assembler gets wrong."""
    assert mistaken_bounds(ptx) == []
    assert ".local" not in ptx
    assert count(ptx, "call") == 0
    assert ".extern" not in ptx


def mistaken_bounds(ptx):
    """Return the comparisons that the assembler of CUDA 13.0 gets wrong on sm_90 and sm_100: max(min(x, n), 0) == n.

    It takes them for max(min(x, n), 0) == x. Bounded from below first, a count is compared rightly.
    """
    bounds, found = {}, []
    for line in body(ptx):
        name, _, operands = line.rstrip(";").partition(" ")
        parts = [part.strip() for part in operands.split(",")]
        if name in ("min.s32", "max.s32"):
            bounds[parts[0]] = name, parts[1:]
        elif name == "setp.eq.s32":
            for count, other in (parts[1:], parts[:0:-1]):
                outer, (inner, zero) = bounds.get(count, ("", ("", "")))
                if outer == "max.s32" and zero == "0" and other in bounds.get(inner, ("", ()))[1]:
                    found.append(line)
    return found


def assemble(ptx, cc=CC):
    """Assemble with nvJitLink, which comes with numba-cuda's wheels; return registers, stack and spill bytes."""
    from cuda.bindings import nvjitlink

    code = ptx.encode()
    handle = nvjitlink.create(2, [f"-arch=sm_{cc[0]}{cc[1]}", "-verbose"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, code, len(code), "kernel")
        nvjitlink.complete(handle)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    text = log.decode(errors="replace")
    stack, stores, loads = re.search(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill", text
    ).groups()
    registers = re.search(r"Used (\d+) registers", text)[1]
    return types.SimpleNamespace(registers=int(registers), stack=int(stack), spills=int(stores) + int(loads))

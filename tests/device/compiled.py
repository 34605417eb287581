"""Kernels of array functions as they are compiled for a launch: image and PTX, without a GPU."""

from unittest import mock

from tests.ptx import CC, count, mistaken_bounds
from warpkit.simt.numba_cuda import compiler


def image_and_ptx(function, specs, options=None):
    """Return the image of a kernel, and its PTX, in which the assembler finds nothing that it gets wrong."""
    texts, linked = [], compiler._linked

    def spying(library, *given):
        texts.append("\n".join(library.get_asm_strs(cc=(*CC, "a"))))
        return linked(library, *given)

    with mock.patch.object(compiler, "_linked", spying):
        image = compiler.compile_image(function, specs, options, cc=CC)
    assert mistaken_bounds(texts[0]) == []
    return image, texts[0]


def assert_registers_only(image, ptx):
    """Assert that nothing lives in local memory, nothing is called, nothing divided, and that it goes to the disk."""
    assert image.local == image.spills == 0
    assert count(ptx, "call") == count(ptx, "div") == count(ptx, "rem") == 0
    assert image.storable


def wide_loads(ptx):
    """Count the loads of 16 bytes from global memory."""
    return sum(count(ptx, f"ld.global.{how}") for how in ("v4.u32", "v4.f32", "v4.b32", "v2.u64", "v2.f64", "v2.b64"))


def wide_stores(ptx):
    """Count the stores of 16 bytes to global memory."""
    return sum(count(ptx, f"st.global.{how}") for how in ("v4.u32", "v4.f32", "v4.b32", "v2.u64", "v2.f64", "v2.b64"))

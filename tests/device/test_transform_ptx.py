"""What the kernels of elementwise functions are made of: 16 bytes at once, reads first, in registers, no division."""

import numpy as np
import pytest

from tests.ptx import count
from warpkit.device.digitize import finding
from warpkit.device.reduce_plan import COUNT, INVERSE
from warpkit.device.reduce_reading import count_given, count_on_device
from warpkit.device.transform_kernel import Form, Port, transform_kernel
from warpkit.simt.specs import array_spec, tuple_spec

from .compiled import assert_registers_only, image_and_ptx, wide_loads, wide_stores

FORM = Form(4, 2, 256)


def array(dtype, axes=1):
    """Return the spec of an array as the kernel takes it."""
    return tuple_spec((array_spec(dtype, axes, axes == 1), tuple_spec((INVERSE,) * axes)))


def compiled(function, sources, targets, form=FORM, several=False, counter=False):
    """Return image and PTX; sources and targets: (port, spec) each."""
    number, spec = (count_on_device, array_spec(np.int64, 1)) if counter else (count_given, COUNT)
    ports = [tuple(port for port, _ in some) for some in (sources, targets)]
    specs = [tuple_spec(tuple(spec for _, spec in some)) for some in (sources, targets)]
    kernel = transform_kernel(function, number, *ports, several, form)
    return image_and_ptx(kernel, (spec, COUNT, *specs))


def vectors(dtype, nbytes=16):
    """Return port and spec of an array that is accessed in vectors."""
    return Port(np.dtype(dtype).type, 1, nbytes, half=np.dtype(dtype) == np.float16), array(dtype)


def test_two_inputs_and_one_output():
    image, ptx = compiled(lambda a, b: a * 3 + b, [vectors("f4"), vectors("f4")], [vectors("f4")])
    assert_registers_only(image, ptx)
    assert (wide_loads(ptx), wide_stores(ptx)) == (4, 2)
    assert image.shared == 0
    assert image.registers <= 40
    assert count(ptx, "bar") == 0


def test_several_outputs_of_different_sizes():
    image, ptx = compiled(lambda a: (a, a > 3), [vectors("f4")], [vectors("f4"), vectors("?", 4)], several=True)
    assert_registers_only(image, ptx)
    assert (wide_loads(ptx), wide_stores(ptx)) == (2, 2)


@pytest.mark.parametrize("axes", [1, 4])
def test_item_by_item(axes):
    ports = [(Port(np.float16, axes, 0, half=True), array("f2", axes)), (Port(np.float64, axes), array("f8", axes))]
    assert_registers_only(*compiled(lambda a: a, ports[:1], ports[1:], Form(1, 2, 256), counter=True))


def test_records():
    dtype = np.dtype("u1,f4")
    ports = [(Port((np.uint8, np.float32), record=True), array(dtype))] * 2
    assert_registers_only(*compiled(lambda r: (r[0], r[1] + r[0]), ports[:1], ports[1:], Form(1, 2, 256)))


@pytest.mark.parametrize(("reversed_edges", "known"), [(False, True), (True, True), (False, False)])
def test_digitize(reversed_edges, known):
    function = finding(np.float64, True, reversed_edges, known)
    edges = Port(None, whole=True), array_spec(np.float64, 1)
    image, ptx = compiled(function, [vectors("f4", 8), edges], [vectors("i8")], Form(2, 2, 256))
    assert_registers_only(image, ptx)
    assert wide_stores(ptx) == 2

"""`explain`: every function has its kernel, the figures are those that PTX tests count, the reasons are right."""

import re

import numba
import numpy as np
import pytest
from numba import cuda

import warpkit as wk
from tests.ptx import compile_ptx, count, shuffles
from warpkit import device
from warpkit.__main__ import main
from warpkit.cli.explain import arrays, report, why
from warpkit.cli.explain.calls import OPERATORS, OWN_OPERATORS, SHAPES, body_of
from warpkit.cli.explain.command import capability_of, dtype_of
from warpkit.cli.explain.given import MASKS, Given, required
from warpkit.simt.numba_cuda.absent import Array

KNOWN = report.functions()
COLLECTIVES = [
    name
    for name in wk.__all__
    if (name.startswith(("warp_", "block_", "lookback_")) or name == "grid_reduce") and name != "lookback_pass"
]  # `lookback_pass` is no call in a kernel: it makes one
ONE_OF_EACH_SHAPE = {required(function): name for name, function in KNOWN.items() if name in COLLECTIVES}
ASKED = report.Asked("", np.dtype(np.float32))


def given(name, dtype="f4", mask="no mask"):
    return Given(np.dtype(dtype), 32, 2, OWN_OPERATORS.get(name, OPERATORS["add"]), MASKS[mask])


def explained(capsys, *arguments):
    """Return what `explain` prints, its line breaks taken out."""
    assert main(["explain", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("text", "dtype"),
    [(f"{kind[0]}{bits}", f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
    + [(f"f{bits}", f"float{bits}") for bits in (16, 32, 64)]
    + [("c64", "complex64"), ("c128", "complex128"), ("bool", "bool"), ("float64", "float64"), ("f4", "float32")],
)
def test_dtypes_have_short_names_too(text, dtype):
    assert dtype_of(text) == np.dtype(dtype)


def test_what_is_typed_may_be_a_short_name(capsys):
    assert "block_sum · float16, " in explained(capsys, "block_sum", "--dtype", "f16", "--cc", "9.0")


@pytest.mark.parametrize("name", COLLECTIVES)
def test_every_collective_can_be_explained(name):
    assert name in KNOWN
    body, specs = body_of(KNOWN[name], given(name))
    assert callable(body)
    assert len(specs) == 4


def test_every_shape_is_that_of_a_function():
    assert set(ONE_OF_EACH_SHAPE) == set(SHAPES)


@pytest.mark.parametrize("name", ONE_OF_EACH_SHAPE.values())
def test_a_function_of_each_shape_compiles(name):
    found = report.compiled(KNOWN[name], given(name), ASKED)

    assert 0 < found.image.registers <= 255
    assert found.image.local == found.image.spills == 0


@pytest.mark.parametrize("name", [name for name in KNOWN if name.startswith("device.")])
def test_every_array_function_gets_its_arguments(name):
    found = arrays.arguments_of(KNOWN[name], Array, given(name, "i4"))

    assert set(required(KNOWN[name])) <= set(found) | {"args"}
    assert all(arrays.describe(*pair) for pair in found.items())


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", ["f4", "i4", "f8"])
def test_the_counts_are_those_of_the_ptx(mask, dtype):
    masked = cuda.jit(device=True)(MASKS[mask])

    def kernel(x, m, out):
        out[0] = wk.warp_active_sum(x[0], mask=masked(m))

    array = numba.from_dtype(np.dtype(dtype))[::1]
    ptx = compile_ptx(kernel, array, numba.uint32, array)
    counts = report.compiled(wk.warp_active_sum, given("warp_active_sum", dtype, mask), ASKED).counts
    assert counts["shuffles"] == shuffles(ptx)
    assert counts["redux"] == count(ptx, "redux.sync")
    assert counts["active masks"] == count(ptx, "activemask")


def test_a_sum_of_floats_is_a_butterfly_and_says_why(capsys):
    text = explained(capsys, "warp_active_sum", "--dtype", "float32", "--cc", "9.0")

    assert re.search(r"shuffles 15 15 5 ", text)
    assert "No redux.sync: there is none for float32" in text
    for sentence in (why.BUTTERFLY, why.POINTERS, why.BOTH):
        assert sentence in text
    assert "Cost of warp_reduce, by the contract:" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dtype", "int32"], why.REDUX),
        (["--dtype", "int32", "--cc", "7.5"], "No redux.sync: compute capability 7.5 has none"),
        (["--dtype", "int32", "--width", "8"], "logical warps here have 8 lanes"),
        (["--dtype", "float64"], "a float64 is 2 words: 2 shuffles for each step"),
    ],
    ids=str,
)
def test_the_reason_is_that_of_type_width_and_gpu(capsys, options, said):
    assert said in explained(capsys, "warp_active_sum", "--cc", "9.0", *options)


def test_a_block_function_shows_barriers_and_shared_bytes(capsys):
    text = explained(capsys, "block_sum", "--dtype", "float64", "--threads", "128", "--cc", "9.0")

    assert "blocks of 128" in text
    assert int(re.search(r"shared bytes (\d+)", text)[1]) > 0
    assert int(re.search(r"barriers (\d+)", text)[1]) > 2
    assert why.SEVERAL in text
    assert "by the contract: 2 barriers" in text
    assert why.SEVERAL not in explained(capsys, "block_count", "--cc", "9.0")


def test_an_array_function_shows_grid_kernel_and_wide_loads(capsys):
    text = explained(capsys, "sum", "--dtype", "float32", "--items", "4096", "--cc", "9.0")

    assert "device.sum · x: 4,096 float32 · sm_90" in text
    assert re.search(r"Grid: \d+ blocks? of \d+ threads", text)
    assert "16-byte loads" in text


def test_the_absent_gpu_goes_away_again():
    from warpkit.simt import machine
    from warpkit.simt.numba_cuda.absent import absent_gpu

    before = {name: getattr(machine, name) for name in ("properties", "load", "compile_image", "occupancy")}
    with absent_gpu((8, 0)) as gpu:
        assert machine.properties() is gpu
        assert gpu.compute_capability == (8, 0)
        arrays.prepared(device.max, Array, given("max", "u1"))
    assert {name: getattr(machine, name) for name in before} == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["warp_actve_sum"], "Did you mean warp_active_sum"),
        (["warp_sum"], "Did you mean warp_active_sum, warp_prefix_sum, "),
        (["lookback_pass"], "for lookback_pass see help(warpkit.lookback_pass)."),
        (["parallel_for"], "for parallel_for see help(warpkit.parallel_for)."),
        (
            ["block_sum", "--dtype", "bool"],
            "block_sum: a sum of bool is not defined; use block_count or cast to int32.",
        ),
        (["block_sum", "--dtype", "float33"], "explain: data type 'float33' not understood"),
        (["block_reduce", "--op", "plus"], "explain: there is no operator 'plus'; there are add"),
        (["block_sum", "--threads", "2000"], "explain: a block has 1 to 1024 threads, not 2000."),
        (["block_reduce_items", "--items", "-1"], "explain: --items must not be negative, as -1 is."),
        (["warp_active_sum", "--width", "7"], "warp_active_sum: width must be 1, 2, 4, 8, 16 or 32, not 7."),
        (["warp_active_sum", "--cc", "six"], "explain: --cc must be a compute capability such as 9.0, not 'six'."),
        (["warp_active_sum", "--cc", "6.1"], "explain: --cc must be 7.0 or more, not 6.1."),
    ],
    ids=str,
)
def test_what_cannot_be_explained_is_said_in_a_sentence(capsys, arguments, said):
    assert main(["explain", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_compute_capability_is_read():
    assert capability_of("12.0") == (12, 0)


def test_an_argument_that_nothing_is_known_for_is_refused():
    def stranger(x, whatever):
        """Have an argument that no array function has."""

    with pytest.raises(wk.Refused, match="nothing is known for the argument whatever of stranger"):
        arrays.arguments_of(stranger, Array, given("stranger"))

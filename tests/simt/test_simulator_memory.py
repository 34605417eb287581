"""Arrays, records, vectors, shared, local and constant memory, and atomics, as a kernel sees them."""

import numpy as np
import pytest
from numba import cuda, float32, int32, types

import warpkit as wk
from warpkit.errors import RaceFault, Refused
from warpkit.simt import simulator
from warpkit.simt.simulator.scalars import Float32, Int32

PAIR = np.dtype([("a", np.float32), ("b", np.int32), ("c", np.int16, 3)])


def once(body, *args, threads=1, shared_bytes=0):
    cuda.jit(body)[1, threads, 0, shared_bytes](*args)


def test_attributes_indices_slices_and_views():
    x = np.arange(60, dtype=np.int32).reshape(3, 4, 5)

    def kernel(x):
        assert (x.shape, x.size, x.ndim, len(x), x.itemsize) == ((3, 4, 5), 60, 3, 3, 4)
        assert (x.dtype, x.strides, x.nbytes) == (np.int32, (80, 20, 4), 240)
        assert type(x[1, 2, 3]) is Int32
        assert x[1, 2, 3] == x[1][2][3] == x[(1, 2, 3)] == x[-2, -2, -2] == 33
        assert [int(v) for v in x[0, 1]] == [5, 6, 7, 8, 9]
        row = x[2, 1:3, ::2]
        assert row.shape == (2, 3)
        row[1, 2] = -1
        x[0][0][:] = 7
        x[1, 0, 1:3] = x[2, 0, 0:2]
        flat = x.reshape(60)
        flat[59] += 100
        assert x.ravel()[59] == 159
        assert x.T[4, 3, 2] == 159
        assert x[..., 0][1, 1] == 25
        assert x.view(np.uint32)[0, 0, 0] == 7

    once(kernel, x)
    assert (x[2, 2, 4], x[0, 0].tolist(), x[1, 0].tolist()) == (-1, [7] * 5, [20, 40, 41, 23, 24])


def test_strided_and_overlapping_parts_of_a_device_array():
    base = cuda.to_device(np.zeros(20, np.int32))

    def kernel(even, tail):
        even[cuda.laneid] = cuda.laneid
        tail[0] = 99

    once(kernel, base[::2], base[5:], threads=10)
    assert base.copy_to_host().tolist() == [0, 0, 1, 0, 2, 99, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0]


def test_ufuncs_with_out_and_arrays_in_tuples():
    def kernel(pair, out):
        np.add(pair[0], pair[1], out)
        out[0] += len(pair)

    out = np.zeros(4, np.float32)
    once(kernel, (np.arange(4, dtype=np.float32), np.ones(4, np.float32)), out)
    assert out.tolist() == [3, 2, 3, 4]


@pytest.mark.parametrize("space", ["global", "shared"])
def test_records_are_references_and_move_whole(space):
    data, out = np.zeros(4, PAIR), np.zeros(4, PAIR)
    data["a"], data["b"], data["c"] = [1, 2, 3, 4], 5, [[1, 2, 3]] * 4

    def kernel(data, out):
        if space == "shared":
            place = cuda.shared.array(4, PAIR)
            for i in range(4):
                place[i] = data[i]
        else:
            place = data
        record = place[1]
        held = simulator.held_record(record)
        record.a += 1.5
        record["b"] = 2**31 + 3
        record.c[2] = 70000
        assert type(place[1].a) is Float32
        assert (place[1].a, place[1]["b"], place[-3].c[2]) == (3.5, -(2**31) + 3, 4464)
        assert (held.a, held.b, held["c"][2]) == (2.0, 5, 3)
        place.a[0] = 9
        place["b"][0] = 8
        assert (place[0].a, place[0].b) == (9, 8)
        out[0], out[1] = place[0], held
        out[2] = place[1]
        held.a = 77
        out[3] = held
        assert simulator.record_bytes(out[3]) == simulator.record_bytes(held)
        with pytest.raises(AttributeError, match="no field 'nothing'"):
            record.nothing  # noqa: B018

    once(kernel, data, out)
    assert out["a"].tolist() == [9, 2, 3.5, 77]
    assert out["b"].tolist() == [8, 5, -(2**31) + 3, 5]
    assert out["c"][2].tolist() == [1, 2, 4464]


def test_a_record_argument_and_nested_records():
    nested = np.dtype([("p", PAIR), ("k", np.uint8)])
    x = np.zeros(2, nested)

    def kernel(x, argument):
        x[0].p.a = argument.a
        x[1].p = x[0].p
        x[1].k = 257

    once(kernel, x, np.array([(2.5, 1, (0, 0, 0))], PAIR)[0])
    assert (x["p"]["a"].tolist(), x["k"].tolist()) == ([2.5, 2.5], [0, 1])


def test_vectors_convert_their_components_and_lie_in_arrays():
    def kernel(out):
        v = cuda.float32x4(1, 2.5, 3, 0.1)
        assert type(v.x) is Float32
        assert v.w == np.float32(0.1)
        assert cuda.uint8x2(257, -1).as_list() == [1, 255]
        assert cuda.int2(1.9, cuda.int1(7)).as_list() == [1, 7]
        s = cuda.shared.array(2, cuda.float32x4)
        s[0] = v
        s[1] = cuda.float4(cuda.float2(5, 6), s[0].z, s[0].w)
        p = cuda.local.array(1, (np.int8, (np.float32, np.bool_)))
        p[0] = (300, (0.1, 1))
        assert p[0] == (44, (np.float32(0.1), True))
        out[0], out[1] = s[1].x + s[1].z, s[0].y
        with pytest.raises(TypeError, match="expects 4"):
            cuda.float32x4(1, 2)

    out = np.zeros(2)
    once(kernel, out)
    assert out.tolist() == [8.0, 2.5]


def test_shared_arrays_of_one_line_and_of_one_helper_are_apart_and_a_loop_keeps_its_own():
    def helper(dtype, value):
        scratch = cuda.shared.array(2, dtype)
        scratch[cuda.laneid] = value
        return scratch

    def kernel(out):
        lane = cuda.laneid
        a, b = cuda.shared.array(2, np.float32), cuda.shared.array(2, np.int64)
        a[lane], b[lane] = 0.5, 7
        c, d = helper(np.int32, 1), helper(np.int32, 2)
        e = [helper(kind, 3) for kind in (np.int8, np.float64)]
        for turn in range(3):
            f = cuda.shared.array(2, np.int32)
            if turn == 0:
                f[lane] = 10
            f[lane] += 1
        out[lane] = (a[lane] + b[lane], c[lane], d[lane], e[0][lane] + e[1][lane], f[lane])[lane * 0 + 0]
        out[lane] += 1000 * c[lane] + 100 * d[lane] + 10 * f[lane] + e[0][lane] / e[1][lane]

    out = np.zeros(2)
    once(kernel, out, threads=2)
    assert (out == 7.5 + 1000 + 200 + 130 + 1).all()


def test_blocks_have_their_own_shared_memory_and_threads_their_own_local_memory():
    @cuda.jit
    def kernel(out):
        s, mine = cuda.shared.array((2, 16), int32), cuda.local.array(3, float32)
        t, b = cuda.threadIdx.x, cuda.blockIdx.x
        s[0, t] = mine[2] = b * 100 + t
        cuda.syncthreads()
        out[b, t] = s[0, 15 - t] + mine[2]

    out = np.zeros((9, 16))
    kernel[9, 16](out)
    assert (out == 200 * np.arange(9)[:, None] + 15).all()


def test_fresh_memory_is_poisoned():
    def kernel():
        for make in (cuda.shared.array, cuda.local.array):
            assert np.isnan(make(2, np.float32)[0])
            assert make(2, np.int32)[1] == np.int32(0xCDCDCDCD - 2**32)
            assert make(2, np.uint8)[1] == 0xCD
            assert np.isnan(make(1, PAIR)[0].a)
            assert np.isnan(make(1, np.complex64)[0].real)
        assert cuda.shared.array(0, np.uint16)[3] == 0xCDCD

    once(kernel, shared_bytes=16)


@pytest.mark.parametrize("name", ["device_array", "mapped_array", "pinned_array"])
def test_arrays_that_nobody_wrote_are_poisoned(name):
    def fresh(shape, dtype):
        array = getattr(cuda, name)(shape, dtype)
        return array if name == "pinned_array" else array.copy_to_host()

    assert np.isnan(fresh((3, 2), np.float32)).all()
    assert (fresh(5, np.int16).view(np.uint16) == 0xCDCD).all()
    assert fresh(2, [("a", np.int32), ("b", np.float64)])["a"][1] == np.int32(0xCDCDCDCD - 2**32)
    assert fresh(0, np.float64).size == 0


def test_arrays_like_another_are_poisoned_and_copies_are_not():
    assert np.isnan(cuda.device_array_like(np.zeros(3)).copy_to_host()).all()
    assert np.isnan(cuda.pinned_array_like(np.zeros((2, 2)))).all()
    assert cuda.to_device(np.arange(3)).copy_to_host().tolist() == [0, 1, 2]


def test_dynamic_shared_memory_is_one_memory_in_every_dtype():
    def kernel(sizes):
        words, bytes_ = cuda.shared.array(0, np.uint32), cuda.shared.array((0,), types.uint8)
        words[1] = 0x01020304
        assert [int(b) for b in bytes_[4:8]] == [4, 3, 2, 1]
        sizes[0], sizes[1] = words.size, bytes_.size

    sizes = np.zeros(2)
    once(kernel, sizes, shared_bytes=11)
    assert sizes.tolist() == [2, 11]


def test_constant_memory_is_read_only_and_promotes():
    table = np.arange(5, dtype=np.int16)

    def kernel(out):
        constant = cuda.const.array_like(table)
        out[0] = constant[4] * 10000
        with pytest.raises(ValueError, match="read-only"):
            constant[0] = 1

    out = np.zeros(1)
    once(kernel, out)
    assert out[0] == 40000


def test_shared_by_key_and_types():
    def kernel():
        a = simulator.shared("scratch", 4, np.int32)
        assert simulator.shared("scratch", (4,), int32) is a
        assert simulator.shared("other", 4, np.int32) is not a
        assert simulator.shared("scratch", 4, np.float32) is not a
        assert simulator.local((2, 2), types.float16).shape == (2, 2)
        assert simulator.local(1, types.Tuple((types.int8, types.float32))).dtype.names == ("f0", "f1")
        assert simulator.local(1, types.UniTuple(types.int8, 3)).itemsize == 3
        a[0] = 5
        assert simulator.read(a, 0, "acquire") == 5
        simulator.write(a, 1, 2**31, "release")
        assert simulator.atomic("add", a, 1, 1) == -(2**31)
        simulator.fence("block")
        simulator.pause(1)
        for wrong in (lambda: simulator.read(a, 0, "sloppy"), lambda: simulator.fence("galaxy")):
            with pytest.raises(ValueError, match="one of"):
                wrong()

    once(kernel)


def test_a_race_through_a_record_field_is_seen_and_through_another_field_is_not():
    def kernel(same):
        s = cuda.shared.array(1, PAIR)
        if cuda.laneid == 0:
            s[0].a = 1
        elif same:
            s[0].a = 2
        else:
            s[0].b = 2

    once(kernel, False, threads=2)
    with pytest.raises(RaceFault):
        once(kernel, True, threads=2)


WIDE = np.int64(8)


MAKES = {make.__qualname__: make for make in (wk.shared_array, wk.local_array, cuda.shared.array, cuda.local.array)}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_a_shape_that_the_kernel_has_computed_is_refused_as_by_the_compiler(make):
    for shape in (lambda n, x: n, lambda n, x: cuda.blockDim.x + 1, lambda n, x: (4, x[0])):
        with pytest.raises(Refused, match=r"array: shape must be a compile-time .* not int(32|64)\. \(.*memory.py"):
            once(lambda n, x, shape=shape: make(shape(n, x), np.float32), 4, np.ones(1, np.int64))
    once(lambda: make((WIDE, 2), np.float32))

"""Every step of the tour against NumPy, on texts that are hard for one of them."""

import numpy as np
import pytest

from warpkit.cli.steps import STEPS, cipher, data, indented, nesting
from warpkit.cli.steps.data import Data

TEXTS = {
    "one byte": b"x",
    "one newline": b"\n",
    "newlines only": b"\n" * 70,
    "no newline at all": b"Nobody ends this line" * 9,
    "newline at the end": b"first\nsecond\n",
    "no newline at the end": b"first\nsecond",
    "newline ends a warp": b"a" * 31 + b"\n" + b"b" * 31 + b"\n" + b"c",
    "equally long lines": b"abcd\nefgh\nijkl\n" * 5,
    "a line over several blocks": b"s\n" + b"long" * 80 + b"\nend",
    "longest line last": b"a\nbb\nccc\ndddd",
    "Windows line ends": b"one\r\ntwo\r\n",
    "binary": bytes(range(256)) + b"\0" * 37 + b"\xff" * 5,
    "33 lines": b"".join(b"%d\n" % 10**i for i in range(17)) * 2,
    "both cases": b"AbCaBc zZ @[`{",
    "indented, blank and empty lines": b"\tone\n  two\n\n \nthree \n" * 3 + b" ",
    "nested": b"f(a[i], {b: (c)})) ([",
    "closed more often than opened": b")))((([",
    "lines of 72 and 73 bytes": b"a" * 72 + b"\n" + b"b" * 73 + b"\n" + b"c" * 73,
}


@pytest.fixture(params=TEXTS, ids=str)
def text(request):
    return Data(np.frombuffer(TEXTS[request.param], np.uint8))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__.rpartition(".")[2])
def test_a_step_agrees_with_numpy(step, text):
    answer = step.run(text)

    assert data.differs(answer, step.expected(text)) is None
    assert step.show(answer)


@pytest.mark.parametrize("step", [indented, nesting], ids=lambda step: step.TITLE)
@pytest.mark.parametrize("blocks", [1, 2])
def test_blocks_that_take_several_tiles(step, blocks, monkeypatch):
    monkeypatch.setattr(step, "MOST_BLOCKS", blocks)
    lines = [b" " * (k % 3) + b"(" * k + b"x" * (40 - k) + b")" * (k - k % 2) + b"\n" for k in range(40)]
    text = Data(np.frombuffer(b"".join(lines) * 3, np.uint8))
    assert text.text.size > 3 * step.TILE

    answer = step.run(text)

    assert data.differs(answer, step.expected(text)) is None
    assert min(map(len, answer.values())) > 50


def test_a_pipeline_of_several_pieces(monkeypatch):
    monkeypatch.setattr(cipher, "LEAST", 64)
    text = Data(np.frombuffer(b"The quick brown fox jumps over the lazy DOG [`{@ " * 9, np.uint8))

    answer = cipher.run(text)

    assert answer == cipher.expected(text)
    assert answer["pieces"] == 6


@pytest.mark.gpu
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.TITLE)
@pytest.mark.parametrize("size", [800_000, 5_000_001])
def test_a_step_agrees_with_numpy_on_a_large_text(step, size):
    letters = np.frombuffer(b"aaaeeeinost    ()[]{}\n", np.uint8)
    text = Data(np.random.default_rng(size).choice(letters, size))

    assert data.differs(step.run(text), step.expected(text)) is None


def test_numpy_side_against_python():
    for raw in TEXTS.values():
        lines = raw.split(b"\n")
        if lines[-1] == b"":
            del lines[-1]
        assert Data(np.frombuffer(raw, np.uint8)).lengths.tolist() == [len(line) for line in lines]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ({"a": np.array([1, 2, 4])}, "a[2]: 4 instead of 3"),
        ({"a": np.array([1, 2])}, "a: int64[2] instead of int64[3]"),
        ({"a": np.array([1, 2, 3], np.int32)}, "a: int32[3] instead of int64[3]"),
        ({"a": np.array([1, 2, 3])}, None),
    ],
    ids=str,
)
def test_a_difference_is_found_and_named(answer, what):
    assert data.differs(answer, {"a": np.array([1, 2, 3])}) == what


@pytest.mark.parametrize(("got", "equal"), [(1.000001, True), (1.00001, False), (np.nan, False)])
def test_floats_may_differ_in_their_last_bits_only(got, equal):
    found = data.differs({"a": np.float32(got)}, {"a": np.float32(1)})

    assert (found is None) == equal

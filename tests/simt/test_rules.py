"""What goes with what: the rules that both machines share, over every operator and kind."""

import pytest

from tests.simt.waist import SCALARS
from warpkit.errors import Refused
from warpkit.simt import ops
from warpkit.simt.kinds import Kind, kind_of_dtype
from warpkit.simt.rules import check_operand, redux_form

pytestmark = pytest.mark.everywhere
BITWISE = (ops.bit_and, ops.bit_or, ops.bit_xor)
LOGICAL = (ops.logical_and, ops.logical_or)
EXTREMA = (ops.minimum, ops.maximum, ops.fmin, ops.fmax)
KINDS = {dtype.name: kind_of_dtype(dtype) for dtype in SCALARS.values()}


def name_of(op):
    """Name a parameter in a test's id."""
    return op.__name__


def refused(op, family):
    """Say whether `op` is not defined on numbers of a family."""
    if op in BITWISE or op in LOGICAL:
        return family in ("float", "complex")
    return family == ("complex" if op in EXTREMA else "bool" if op is ops.add else None)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
@pytest.mark.parametrize("op", ops.IDENTITIES, ids=name_of)
def test_operators_refuse_scalars_that_they_have_no_meaning_for(op, kind):
    vector = Kind("int32x2", "vector", parts=(kind, kind))
    mixed = Kind("(int32, x)", "tuple", parts=(KINDS["int32"], kind))
    for operand in (kind, vector, mixed):
        if not refused(op, kind.family):
            check_operand(op, operand, "here")
            continue
        with pytest.raises(Refused) as caught:
            check_operand(op, operand, "here")
        message = str(caught.value)
        assert message.startswith("here: ")
        assert operand.name in message
        assert "test_rules.py:" in message
        assert "\n" not in message


@pytest.mark.parametrize(
    "kind",
    [
        Kind("record of 8 bytes", "record"),
        Kind("None", "none"),
        Kind("x", "array"),
        Kind("((int32))", "tuple", parts=(Kind("(int32)", "tuple", parts=(KINDS["int32"],)),)),
        Kind("()", "tuple"),
    ],
    ids=lambda kind: kind.name,
)
@pytest.mark.parametrize("op", [ops.add, ops.bit_or, ops.maximum], ids=name_of)
def test_operators_act_on_flat_values_only(op, kind):
    with pytest.raises(Refused) as caught:
        check_operand(op, kind, "here")
    assert kind.name in str(caught.value)
    assert "your own operator" in str(caught.value)


@pytest.mark.parametrize("kind", [*KINDS.values(), Kind("bfloat16", "float", 16)], ids=lambda kind: kind.name)
def test_which_pairs_the_hardware_reduces_at_once(kind):
    for op in ops.IDENTITIES:
        form = redux_form(op, kind)
        if kind.is_integer and kind.bits <= 32:
            assert form == (None if op in (ops.mul, *LOGICAL) else "integer")
        elif kind.family == "float" and kind.bits <= 32:
            assert form == ("ordered" if op in (ops.minimum, ops.maximum) else None)
        else:
            assert form is None
    assert redux_form(None, kind) is None  # a user's operator

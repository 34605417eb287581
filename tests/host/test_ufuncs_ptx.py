"""NumPy's ufuncs that a GPU does not have are refused in one sentence, and those that it has compile."""

import numpy as np
import pytest

from warpkit.errors import Refused
from warpkit.simt.numba_cuda.compiler import TypingErrors, compile_image
from warpkit.simt.numba_cuda.returned import returned_dtype
from warpkit.simt.specs import array_spec

CC = (9, 0)
ALL = sorted({each for each in vars(np).values() if isinstance(each, np.ufunc)}, key=lambda ufunc: ufunc.__name__)
DTYPES = [np.dtype(code) for code in "lfD"]


@pytest.mark.parametrize("ufunc", ALL, ids=lambda ufunc: ufunc.__name__)
def test_every_ufunc_compiles_or_is_refused_in_a_sentence(ufunc):
    def body(*given):
        return ufunc(*given)

    compiled, refused = 0, []
    for dtype in DTYPES:
        try:
            compiled += returned_dtype(body, [dtype] * ufunc.nin, CC).dtype.kind in "biufc"
        except Refused as refusal:
            refused.append(str(refusal))
    assert compiled + len(refused) == len(DTYPES)
    assert all(said.startswith("body calls ") and "\n" not in said for said in refused)
    taken = (np.absolute, np.add, np.subtract, np.multiply, np.sqrt, np.exp, np.floor, np.sin, np.isfinite)
    assert compiled >= 2 or ufunc not in taken


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda x: np.heaviside(x, x), "<lambda> calls NumPy's heaviside, which a GPU does not have"),
        (lambda x: np.rint(x), "<lambda> calls NumPy's rint, which a GPU does not have"),
        (lambda x: np.gcd(x, x), "<lambda> calls NumPy's gcd for numbers of such types, which"),
        (np.modf, "modf calls a ufunc of NumPy's, which a GPU does not have"),
    ],
    ids=["unknown", "without a meaning", "wrong types", "itself"],
)
def test_what_is_refused_says_what_it_is(body, said):
    with pytest.raises(Refused, match=f"^{said}"):
        returned_dtype(body, [np.dtype(np.float32 if "gcd" not in said else np.float64)], CC)


def test_kernels_refuse_too_and_other_lookups_that_fail_are_left_alone():
    def kernel(x):
        x[0] = np.cbrt(x[0])

    with pytest.raises(Refused, match=r"^kernel calls NumPy's cbrt, which a GPU does not have: call a function"):
        compile_image(kernel, (array_spec("f4", 1),), cc=CC)

    def other(x):
        x[0] = np.median(x)

    with pytest.raises(TypingErrors):
        compile_image(other, (array_spec("f4", 1),), cc=CC)

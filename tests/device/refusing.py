"""How refusals of array functions are tested."""

import pytest


def check_refusal(refused, x):
    """Assert that a call with `x` is refused in one sentence; `refused`: (the call, how the sentence begins)."""
    call, sentence = refused
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        call(x)
    assert "\n" not in str(caught.value)

"""Python's garbage collector, kept away from what is made once and stays."""

import gc

_MOST_IMMORTAL = 10_000  # since Python 3.12 a collection puts what is immortal among the frozen: some hundred objects
_frozen_by_others: list[bool] = []  # one entry as soon as it was seen


def count_as_old() -> None:
    """Count all objects as old at once: the first young collection would walk all of them.

    Not in a process where others have frozen objects: thawing is theirs. It is asked until they have, and then no more,
    since the answer is counted: 20 ms for each million that is frozen.
    """
    if _frozen_by_others:
        return
    if gc.get_freeze_count() > _MOST_IMMORTAL:
        _frozen_by_others.append(True)
        return
    gc.freeze()
    gc.unfreeze()

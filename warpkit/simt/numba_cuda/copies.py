"""Repair: one call in the source is one call in the kernel, whatever Python made of it.

Python 3.12 and later copy the end of a function, where it is short, to each place that jumps there. Of

    return wk.block_sum(x[i] if i < n else 0)

they make two calls, one behind each branch, and the threads of a warp meet in neither: a hang, or a wrong sum. Every
Python writes the test of `while` twice, before the loop and at its end, and `continue` goes to the first one, where
nobody is any more. Copies have the same instructions at the same line and column. Those of an end jump to the last of
them again, as in the source, and `continue` to the test at the loop's end, before Numba reads what Python made. Every
function that numba-cuda compiles passes here, users' kernels too. Where Python keeps no columns (-X no_debug_ranges)
copies are not known, and nothing is changed; so it is in a `try` or `with`.
"""

import dis

from numba.cuda.core import bytecode, interpreter

_SHIFT = bytecode._FIXED_OFFSET  # Numba counts an instruction of its own before the first one
_ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS"}
_CALLS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX"}


def join_copies(code) -> None:
    """Let what the source has once be reached at one place, in the bytecode that Numba is to read."""
    instructions = [inst for inst in code.table.values() if inst.opname != "CACHE"]
    names = [inst.opname for inst in instructions]
    if sum(name in _ENDS for name in names) < 2 and not any("JUMP_BACKWARD" in name for name in names):
        return
    positions = list(code.func_id.code.co_positions())
    spelled = [(inst.opcode, inst.arg, positions[max(inst.offset - _SHIFT, 0) // 2]) for inst in instructions]
    _join_tests(code, instructions, spelled)
    _join_ends(code, instructions, spelled)


def _join_tests(code, instructions, spelled) -> None:
    """Let jumps back to the test before a loop go to the test at its end."""
    places = {inst.offset: place for place, inst in enumerate(instructions)}
    for place, inst in enumerate(instructions):
        target = places.get(inst.get_jump_target()) if "JUMP_BACKWARD" in inst.opname else None
        if target is None or not _has_column(spelled[target]) or instructions[target].is_jump:
            continue
        for later in range(place + 1, len(instructions)):
            if spelled[later] == spelled[target] and not _guarded(code, [inst, instructions[later]]):
                _jump(code, inst, instructions[later].offset)
                break


def _join_ends(code, instructions, spelled) -> None:
    """Let copies of one end of a function, among them a call, be one again."""
    ends = [place for place, inst in enumerate(instructions) if inst.opname in _ENDS]
    for number, end in enumerate(ends[:-1]):
        length, last = max((_common(instructions, spelled, end, other), other) for other in ends[number + 1 :])
        places = range(end - length + 1, end + 1)
        copy, original = instructions[places.start : places.stop], instructions[last - length + 1 : last + 1]
        calls = [spelled[place] for place in places if instructions[place].opname in _CALLS]
        if calls and all(map(_has_column, calls)) and not _guarded(code, [*copy, *original]):
            _jump(code, copy[0], original[0].offset)


def _common(instructions, spelled, one, other) -> int:
    """Return how many instructions two ends have in common, from the two at these places back."""
    count, most = 0, min(one + 1, other - one)
    while count < most and spelled[one - count] == spelled[other - count]:
        count += 1
        before = instructions[one - count]
        if before.is_jump or before.opname in _ENDS:
            break
    return count


def _has_column(spelled) -> bool:
    """Return whether it is known where in its line an instruction comes from."""
    return spelled[2][2] is not None


def _guarded(code, instructions) -> bool:
    """Return True where one of these instructions stands in a `try` or `with`."""
    return any(code.find_exception_entry(inst.offset) for inst in instructions)


def _jump(code, inst, target) -> None:
    """Replace an instruction by a jump to another one behind it, under the same condition where it is one already."""
    name = inst.opname.replace("BACKWARD", "FORWARD") if inst.is_jump else "JUMP_FORWARD"
    jump = bytecode.ByteCodeInst(inst.offset, dis.opmap[name], (target - inst.next) // 2, inst.next)
    jump.lineno = inst.lineno
    code.table[inst.offset] = jump
    code.labels = sorted({*code.labels, target})


def _interpret(self, code, look=interpreter.Interpreter.interpret):
    join_copies(code)
    return look(self, code)


interpreter.Interpreter.interpret = _interpret

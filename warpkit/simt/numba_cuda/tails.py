"""Repair: one call in the source is one call in the kernel, whatever Python made of it.

Python 3.12 and later copy the end of a function, where it is short, to each place that jumps there. Of

    return wk.block_sum(x[i] if i < n else 0)

they make two calls, one behind each branch, and the threads of a warp meet in neither: a hang, or a wrong sum. Copies
have the same instructions at the same line and column. The earlier ones jump to the last again, as in the source,
before Numba reads what Python made. Every function that numba-cuda compiles passes here, users' kernels too.
"""

import dis

from numba.cuda.core import bytecode, interpreter

_SHIFT = bytecode._FIXED_OFFSET  # Numba counts an instruction of its own before the first one
_ENDS = {"RETURN_VALUE", "RETURN_CONST"}
_CALLS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX"}
_JUMP = dis.opmap["JUMP_FORWARD"]


def join_tails(code) -> None:
    """Let copies of one end of a function, among them a call, be one again in the bytecode that Numba is to read."""
    instructions = [inst for inst in code.table.values() if inst.opname != "CACHE"]
    ends = [place for place, inst in enumerate(instructions) if inst.opname in _ENDS]
    if len(ends) < 2:
        return
    positions = list(code.func_id.code.co_positions())
    spelled = [(inst.opcode, inst.arg, positions[max(inst.offset - _SHIFT, 0) // 2]) for inst in instructions]
    for number, end in enumerate(ends[:-1]):
        length, last = max((_common(instructions, spelled, end, other), other) for other in ends[number + 1 :])
        copy = instructions[end - length + 1 : end + 1]
        original = instructions[last - length + 1 : last + 1]
        if any(inst.opname in _CALLS for inst in copy) and not _guarded(code, [*copy, *original]):
            _jump(code, copy[0], original[0].offset)


def _common(instructions, spelled, one, other):
    """Return how many instructions two ends have in common, from the two at these places back."""
    count, most = 0, min(one + 1, other - one)
    while count < most and spelled[one - count] == spelled[other - count]:
        count += 1
        before = instructions[one - count]
        if before.is_jump or before.opname in _ENDS:
            break
    return count


def _guarded(code, instructions) -> bool:
    """Return True where one of these instructions stands in a `try` or `with`."""
    return any(code.find_exception_entry(inst.offset) for inst in instructions)


def _jump(code, inst, target) -> None:
    """Replace an instruction by a jump to another one, behind it."""
    code.table[inst.offset] = jump = bytecode.ByteCodeInst(inst.offset, _JUMP, (target - inst.next) // 2, inst.next)
    jump.lineno = inst.lineno
    code.labels = sorted({*code.labels, target})


def _interpret(self, code, look=interpreter.Interpreter.interpret):
    join_tails(code)
    return look(self, code)


interpreter.Interpreter.interpret = _interpret

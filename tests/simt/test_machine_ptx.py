"""Every kernel of the waist tests compiles, optimised and for debugging; no device function runs outside a kernel."""

import importlib
import inspect
import pathlib

import pytest

from tests.simt.waist import REGISTERED
from warpkit import errors
from warpkit.simt import bits, lanes, machine, memory, ops, sync, types

HERE = pathlib.Path(__file__).parent
for module in sorted(HERE.glob("test_*.py")):
    if not module.name.endswith("_ptx.py") and not module.name.startswith(("test_simulator", "test_sim_")):
        importlib.import_module(f"tests.simt.{module.stem}")

BY_NAME = sorted(REGISTERED)
OPERATIONS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": function
    for module in (bits, lanes, memory, ops, sync, types)
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and hasattr(function, "__wrapped__")
}


@pytest.mark.parametrize("name", BY_NAME)
def test_n06_every_kernel_of_these_tests_compiles(compile_ptx, name):
    function, argtypes = REGISTERED[name]
    ptx = compile_ptx(function, *argtypes)
    assert ".entry" in ptx
    assert ".extern .func" not in ptx


@pytest.mark.parametrize("name", BY_NAME)
def test_n07_every_kernel_compiles_without_optimisation_most_for_debugging(compile_ptx, name):
    function, argtypes = REGISTERED[name]
    assert ".entry" in compile_ptx(function, *argtypes, debug=BY_NAME.index(name) % 3 > 0, opt=False)


def test_there_are_operations_to_call():
    assert len(OPERATIONS) >= 60
    assert {"lanes.shuffle", "memory.scratch", "memory.shared_array", "sync.barrier", "types.combine"} <= set(
        OPERATIONS
    )


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_device_function_runs_outside_a_kernel(name):
    function = OPERATIONS[name]
    parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    with pytest.raises(errors.OutsideKernel) as caught:
        function(*[1] * len(parameters))
    message = str(caught.value)
    assert function.__name__ in message
    assert "numba.cuda.jit" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_says_what_it_means(name):
    assert inspect.getdoc(OPERATIONS[name]).endswith((".", ")", "1024)."))
    assert OPERATIONS[name].__wrapped__.__name__ == OPERATIONS[name].__name__


def test_a_function_of_the_library_runs_outside_neither():
    public = machine.device_function()(twice)
    with pytest.raises(errors.OutsideKernel) as caught:
        public(3)
    assert "twice" in str(caught.value)
    assert str(inspect.signature(public)) == "(value, times=2)"


def twice(value, times=2):
    """A device function."""
    return value * times

"""Numba's driver is started by one thread, whoever asks first, and nobody goes on before it has started."""

import threading
import time

import pytest
from numba.cuda.cudadrv.driver import Driver
from numba.cuda.cudadrv.error import CudaSupportError

from warpkit.simt.numba_cuda import driver_start  # noqa: F401, what is tested is what importing it does

THREADS = 8


def not_started():
    """Return one of numba's drivers as it is before the first use; making one gives the one that there is."""
    driver = object.__new__(Driver)
    vars(driver).update(is_initialized=False, initialization_error=None, pid=None, begun=0, done=False)
    return driver


def at_once(work):
    """Do something in several threads at once; return what each found."""
    barrier, found = threading.Barrier(THREADS), []

    def run():
        barrier.wait()
        found.append(work())

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_nobody_goes_on_before_the_driver_has_started():
    driver = not_started()

    def start(flags):
        driver.begun += 1
        time.sleep(0.1)
        driver.done = True

    driver.cuInit = start

    def first_call():
        driver.ensure_initialized()
        return driver.done

    assert at_once(first_call) == [True] * THREADS
    assert driver.begun == 1


def test_a_start_may_look_functions_of_the_driver_up():
    driver = not_started()
    driver.cuInit = lambda flags: driver.ensure_initialized()
    assert at_once(driver.ensure_initialized) == [None] * THREADS


def test_a_start_that_fails_fails_for_all():
    driver = not_started()
    vars(driver)["initialization_error"] = "no driver"

    def first_call():
        with pytest.raises(CudaSupportError, match="no driver"):
            driver.cuCtxGetCurrent  # noqa: B018, that it is looked up is what counts

    driver.cuInit = lambda flags: time.sleep(0.05)
    at_once(first_call)

"""A repair: one thread starts numba's driver, and the others wait until it has.

numba-cuda 0.30.4 marks its driver as initialised before it has asked the real one. Of several threads that make the
first call of a process, through warpkit or not, the others then got CUDA_ERROR_NOT_INITIALIZED.
"""

import functools
import threading

from numba.cuda.cudadrv.driver import Driver


def _one_at_a_time(start):
    starting = threading.RLock()  # of one thread again and again: a start looks functions of the driver up

    @functools.wraps(start)
    def ensure_initialized(driver):
        with starting:
            start(driver)

    return ensure_initialized


Driver.ensure_initialized = _one_at_a_time(Driver.ensure_initialized)

"""The wall clock of launches: one that takes too long is stopped, unless a person looks at it with a debugger."""

import ctypes
import sys
import threading
import time

from warpkit.errors import NoProgress


class Watchdog:
    """One sleeping thread for all launches; it raises NoProgress in the thread of a launch that took too long."""

    def __init__(self):
        self.lock, self.watched, self.thread, self.next = threading.Condition(), {}, None, 0.0

    def enter(self, progress):
        """Start a launch's clock."""
        with self.lock:
            deadline = time.monotonic() + progress.seconds
            self.watched[progress] = (deadline, threading.get_ident())
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._watch, name="warpkit-watchdog", daemon=True)
                self.next = deadline
                self.thread.start()
            elif deadline < self.next:
                self.lock.notify()

    def leave(self, progress):
        """Stop a launch's clock. An exception already on its way arrives here, where it does no harm.

        (It cannot be recalled: CPython 3.11 then keeps its evaluation flag set, and spins under a debugger.)
        """
        try:
            self._forget(progress)
            if progress.expired:
                for _ in range(1000):
                    pass
        except NoProgress:
            self._forget(progress)

    def _forget(self, progress):
        with self.lock:
            self.watched.pop(progress, None)

    def _watch(self):
        with self.lock:
            while True:
                now = time.monotonic()
                self._look(now)
                self.next = min((deadline for deadline, _ in self.watched.values()), default=now + 60.0)
                self.lock.wait(max(0.01, self.next - now))

    def _look(self, now):
        """Stop launches whose time is up; no name is left over, which would hold a launch as long as this sleeps."""
        for progress, (deadline, ident) in list(self.watched.items()):
            if deadline <= now:
                self._expire(progress, ident, now)

    def _expire(self, progress, ident, now):
        if _debugged(ident):  # a person is thinking
            self.watched[progress] = (now + progress.seconds, ident)
            return
        del self.watched[progress]
        progress.expired = True
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(NoProgress))


def _debugged(ident):
    frame = sys._current_frames().get(ident)
    while frame is not None:
        if frame.f_code.co_filename.endswith(("bdb.py", "pdb.py")) or "pydevd" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


WATCHDOG = Watchdog()

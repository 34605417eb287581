"""Work captured into a graph of the driver, on a GPU."""

import contextlib
import gc


class Capture:
    """What is done on `stream` inside becomes a graph; a call replays it after all work that went before, and waits.

    Meanwhile nothing that earlier tests have left is freed: such a capture ends where any thread frees memory at once.
    """

    def __init__(self, stream):
        self.stream, self.freeing_nothing = stream, contextlib.ExitStack()

    def __enter__(self):
        from cuda.bindings import driver
        from numba import cuda

        self.driver = driver
        gc.collect()
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        assert not driver.cuStreamBeginCapture(self.stream.handle, mode)[0]
        gc.disable()
        self.freeing_nothing.callback(gc.enable)
        self.freeing_nothing.enter_context(cuda.defer_cleanup())
        return self

    def __exit__(self, *error):
        status, graph = self.driver.cuStreamEndCapture(self.stream.handle)
        self.freeing_nothing.close()
        if error[0] is None:
            assert not status
            status, self.ready = self.driver.cuGraphInstantiate(graph, 0)
            assert not status

    def launch(self):
        """Replay, and do not wait."""
        assert not self.driver.cuGraphLaunch(self.ready, self.stream.handle)[0]

    def __call__(self):
        assert not self.driver.cuCtxSynchronize()[0]  # copies from NumPy arrays may still be under way on other streams
        self.launch()
        self.stream.synchronize()

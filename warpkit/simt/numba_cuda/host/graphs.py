"""A list of steps as a CUDA graph: built once, updated where a step has changed, launched by one call.

The nodes form a chain, so that the order of the list is the order of execution. A graph that still runs may be updated:
the driver applies the change to later launches.
"""

from collections.abc import Sequence
from typing import Any

from cuda.bindings import driver

from ...steps import DOWNLOAD, UPLOAD, CopyStep, FillStep, KernelStep, Step
from .calls import call, ensure_context
from .kernels import Frame

HOST, DEVICE = driver.CUmemorytype.CU_MEMORYTYPE_HOST, driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
SHAPE = slice(KernelStep._fields.index("grid"), KernelStep._fields.index("payloads"))
_launch, _change_kernel = driver.cuGraphLaunch, driver.cuGraphExecKernelNodeSetParams


def fits_graph(step: Step) -> bool:
    """Return whether a step can be a node: a launch with attributes (a cluster, all blocks resident) cannot."""
    return not isinstance(step, KernelStep) or step.kernel.plain


class Graph:
    """The steps of one list; one stream at a time launches it."""

    def __init__(self, steps: Sequence[Step]) -> None:
        ensure_context()
        self._context = call(driver.cuCtxGetCurrent)
        self._graph = call(driver.cuGraphCreate, 0)
        self._steps = list(steps)
        self._nodes: list[Any] = []
        self._parameters: list[Any] = []
        for step in steps:
            parameters = _new_parameters(step, self._context)
            _describe(parameters, step)
            self._nodes.append(self._add(step, parameters))
            self._parameters.append(parameters)
        self._ready = call(driver.cuGraphInstantiate, self._graph, 0)
        self._same: Sequence[Step] | None = None  # the very steps of the last launch

    def _add(self, step: Step, parameters: Any) -> Any:
        before = self._nodes[-1:]
        if isinstance(step, KernelStep):
            return call(driver.cuGraphAddKernelNode, self._graph, before, len(before), parameters[0])
        add = driver.cuGraphAddMemcpyNode if isinstance(step, CopyStep) else driver.cuGraphAddMemsetNode
        return call(add, self._graph, before, len(before), parameters, self._context)

    def launch(self, steps: Sequence[Step], stream: int) -> None:
        """Do `steps`, which have the topology of those that the graph was built for, on `stream`."""
        if steps is not self._same:
            for index, (mine, step) in enumerate(zip(self._steps, steps)):
                if mine is not step and mine != step:
                    self._change(index, step)
            self._same = steps if isinstance(steps, tuple) else None  # a list might be another one by the next launch
        result = _launch(self._ready, stream)
        if result[0]:
            call(_launch, self._ready, stream)

    def _change(self, index: int, step: Step) -> None:
        node, parameters = self._nodes[index], self._parameters[index]
        if isinstance(step, KernelStep):
            if step[SHAPE] == self._steps[index][SHAPE]:  # other arguments alone, as mostly
                parameters[1].store[:] = b"".join(step.payloads)
            else:
                _describe(parameters, step)
            result = _change_kernel(self._ready, node, parameters[0])
            if result[0]:
                call(_change_kernel, self._ready, node, parameters[0])
            self._steps[index] = step
            return
        _describe(parameters, step)
        if isinstance(step, CopyStep):
            call(driver.cuGraphExecMemcpyNodeSetParams, self._ready, node, parameters, self._context)
        else:
            call(driver.cuGraphExecMemsetNodeSetParams, self._ready, node, parameters, self._context)
        self._steps[index] = step

    def __del__(self) -> None:
        try:
            driver.cuGraphExecDestroy(self._ready)
            driver.cuGraphDestroy(self._graph)
        except Exception:
            pass  # it was never made, or the driver is going down


def _new_parameters(step: Step, context: Any) -> Any:
    if isinstance(step, CopyStep):
        copy = driver.CUDA_MEMCPY3D()
        copy.Height = copy.Depth = 1
        return copy
    if isinstance(step, FillStep):
        return driver.CUDA_MEMSET_NODE_PARAMS()
    node = driver.CUDA_KERNEL_NODE_PARAMS()
    frame = Frame(sum(map(len, step.payloads)))
    node.kern, node.ctx, node.kernelParams = step.kernel.handle, context, frame.address
    return node, frame


def _describe(parameters: Any, step: Step) -> None:
    """Write a step into the driver's structure."""
    if isinstance(step, KernelStep):
        node, frame = parameters
        frame.store[:] = b"".join(step.payloads)
        node.gridDimX, node.gridDimY, node.gridDimZ = step.grid
        node.blockDimX, node.blockDimY, node.blockDimZ = step.block
        node.sharedMemBytes = step.shared
        step.kernel.grant(step.shared)
    elif isinstance(step, FillStep):
        parameters.dst, parameters.value = step.target, step.value
        parameters.elementSize, parameters.width, parameters.height = step.itemsize, step.items, 1
    else:
        if step.direction == UPLOAD:
            parameters.srcMemoryType, parameters.srcHost = HOST, step.source
        else:
            parameters.srcMemoryType, parameters.srcDevice = DEVICE, step.source
        if step.direction == DOWNLOAD:
            parameters.dstMemoryType, parameters.dstHost = HOST, step.target
        else:
            parameters.dstMemoryType, parameters.dstDevice = DEVICE, step.target
        parameters.WidthInBytes = step.nbytes


def run(step: Step, stream: int) -> None:
    """Do one step without a graph."""
    if isinstance(step, KernelStep):
        step.kernel.launch(step.grid, step.block, step.shared, stream, step.payloads)
    elif isinstance(step, FillStep):
        sets = {1: driver.cuMemsetD8Async, 2: driver.cuMemsetD16Async, 4: driver.cuMemsetD32Async}
        call(sets[step.itemsize], step.target, step.value, step.items, stream)
    else:
        copies = {UPLOAD: driver.cuMemcpyHtoDAsync, DOWNLOAD: driver.cuMemcpyDtoHAsync}
        call(copies.get(step.direction, driver.cuMemcpyDtoDAsync), step.target, step.source, step.nbytes, stream)

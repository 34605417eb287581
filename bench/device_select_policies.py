"""Policies of selections beside the default one: what the default is chosen from."""

from warpkit import device

from .harness import Row
from .select_cases import Data, check, half, report_errors
from .timing import copy_time, graph_time, queued_time

RINGS = [
    (256, 60, 3, 3), (256, 60, 4, 3), (256, 68, 3, 3), (256, 76, 3, 2), (256, 44, 3, 4), (256, 60, 2, 4),
    (256, 124, 3, 2), (512, 60, 3, 1), (512, 60, 3, 2), (512, 124, 3, 1), (512, 76, 3, 1), (128, 60, 3, 6),
]  # fmt: skip
TILES = {"alone_threads": 32, "small_until": 0, "large_from": 1 << 40, "one_until": 0, "look_until": 0, "wide_until": 0}
FEW = [(128, 28), (256, 12), (256, 28), (256, 60), (512, 12), (512, 28)]


def run(report):
    """Measure policies: of blocks that stay on half of 2^28 int32, of a block for each tile on few items."""
    data = Data(1 << 28)
    usual = queued_time(half(data, data.n)[0], repeats=10)
    for threads, nbytes, stages, blocks in RINGS:
        name = f"2^28, threads {threads}, nbytes {nbytes}, stages {stages}, blocks {blocks}; peer: the default"
        with report_errors(report, name):
            policy = device.SelectPolicy(threads=threads, nbytes=nbytes, stages=stages, blocks=blocks)
            call, kept, _ = half(data, data.n, policy)
            call()
            check(name, data, data.n, kept)
            report.rows.append(Row(name, queued_time(call, repeats=10), usual, copy=copy_time(6 * data.n, 10)))
    for exponent in (10, 13, 16, 20):
        usual = graph_time(half(data, 1 << exponent)[0])
        for threads, nbytes in FEW:
            name = f"2^{exponent}, few_threads {threads}, few_nbytes {nbytes}; peer: the default"
            with report_errors(report, name):
                policy = device.SelectPolicy(few_threads=threads, few_nbytes=nbytes, most_tiles=64, **TILES)
                report.rows.append(Row(name, graph_time(half(data, 1 << exponent, policy)[0]), usual))

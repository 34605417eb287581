"""A loop over two dimensions: the game of life, a function of every cell of the board."""

import sys

import numpy as np
from numba import config, cuda

import warpkit as wk


def live(i, j, board, after):
    """Let cell (i, j) live on with two or three neighbours, come to life with three; the board's edges meet."""
    height, width = board.shape
    neighbours = 0
    for row in range(i - 1, i + 2):
        for column in range(j - 1, j + 2):
            neighbours += board[row % height, column % width]
    neighbours -= board[i, j]
    after[i, j] = neighbours == 3 or (neighbours == 2 and board[i, j] == 1)


def lived(board):
    """Return the next board by NumPy."""
    turned = [np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    neighbours = sum(turned) - board
    return ((neighbours == 3) | ((neighbours == 2) & (board == 1))).astype(np.uint8)


shape, generations = ((24, 31), 4) if config.ENABLE_CUDASIM else ((1000, 1500), 60)
start = (np.random.default_rng(9).random(shape) < 0.3).astype(np.uint8)
boards = [cuda.to_device(start), cuda.to_device(start)]
step = wk.prepare(wk.parallel_for, shape, live, *boards)  # everything that a call decides, decided once
back = wk.prepare(wk.parallel_for, shape, live, *boards[::-1])
for _ in range(generations // 2):
    step()
    back()
end = boards[0].copy_to_host()

expected = start
for _ in range(generations):
    expected = lived(expected)
assert (end == expected).all()
alive = wk.parallel_reduce_sum(shape, lambda i, j, board: board[i, j], boards[0])
assert alive == expected.sum()
print(f"{shape[0]} × {shape[1]} cells, {generations} generations: {start.sum():,} alive at first, {alive:,} at the end")

if len(sys.argv) > 1:  # a file for the picture
    import matplotlib.image

    matplotlib.image.imsave(sys.argv[1], end, cmap="gray")

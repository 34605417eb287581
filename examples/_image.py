"""The picture that two examples work on, made of a text that every Python has on disk."""

import os
import sysconfig
from pathlib import Path

import numpy as np


def likeness(height, width):
    """Return a grey image: pixel (i, j) is the brighter the more alike part i and part j of Python's help are.

    The text is cut into `height` parts for the rows and `width` for the columns; alike are two in which every letter is
    as frequent in the one as in the other.
    """
    path = Path(sysconfig.get_path("stdlib"), "pydoc_data", "topics.py")
    text = np.fromfile(path if path.is_file() else os.__file__, np.uint8)
    rows, columns = (letters(np.array_split(text, parts)) for parts in (height, width))
    return (255 * np.minimum(rows @ columns.T, 1)).astype(np.uint8)


def letters(parts):
    """Return for each part a vector of length 1: the roots of how often it has each byte."""
    roots = np.sqrt([np.bincount(part, minlength=256) for part in parts])
    return roots / np.linalg.norm(roots, axis=1, keepdims=True)

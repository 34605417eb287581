"""The tests of warpkit; the tree mirrors `warpkit/`."""

"""Tests of the warp floor."""

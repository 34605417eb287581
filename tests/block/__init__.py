"""Tests of the block floor."""

"""Tests of the device floor."""

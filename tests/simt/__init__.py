"""Tests of the waist and of the simulator."""

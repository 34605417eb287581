"""Policies of histograms beside the default one: what the default is chosen from."""

from .device_histogram import policies as run

__all__ = ["run"]

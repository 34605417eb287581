"""Policies of transposes beside the default one: what the default is chosen from."""

from .device_maps import policies as run

__all__ = ["run"]

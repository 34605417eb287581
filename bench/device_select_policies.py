"""Policies of selections beside the default one: what the default is chosen from."""

from .device_select import policies as run

__all__ = ["run"]

"""Fixtures of the host floor's tests: look-alikes of frameworks in place of the packages."""

import pytest

from .interop_objects import fake_cupy, fake_torch, installed


@pytest.fixture
def torch(monkeypatch):
    """Put a look-alike of torch in its place."""
    return installed(monkeypatch, fake_torch())


@pytest.fixture
def cupy(monkeypatch):
    """Put a look-alike of CuPy in its place."""
    return installed(monkeypatch, fake_cupy())

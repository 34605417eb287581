"""Compiled kernels on disk, so that a second process does not compile; and what functions return, which they rest on.

One file each, named by everything that decides its content. A file that is damaged, foreign or not readable counts as
absent, a folder that cannot be written as no cache: nothing here ever raises.

`WARPKIT_CACHE_DIR` names another folder, `WARPKIT_CACHE=0` turns the cache off.
"""

import contextlib
import hashlib
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import _versions
from ..simt import machine
from ..simt.constants import places
from ..simt.specs import Image, Options, Spec
from .identity import Identity

MOST_BYTES = 512 << 20
_MAGIC = b"warpkit kernel 1\n"
_SUFFIXES = ("kernel", "dtype", "tmp")
_FACTS = ("entry", "compute_capability", "captured", "registers", "shared", "local", "spills", "cooperative", "name")
_imported = time.time()


def folder() -> Path | None:
    """Return where kernels are kept; None where they are not."""
    if os.environ.get("WARPKIT_CACHE", "").strip().lower() in ("0", "off", "no", "false"):
        return None
    named = os.environ.get("WARPKIT_CACHE_DIR")
    if named:
        return Path(named)
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "warpkit" / "cache"
        above = os.environ.get("XDG_CACHE_HOME") or ""
        return (Path(above) if os.path.isabs(above) else Path.home() / ".cache") / "warpkit"
    except RuntimeError:  # nobody's home
        return None


def get(known: Identity, specs: Sequence[Spec], options: Options, capability: tuple[int, int]) -> Image | None:
    """Return the kernel of a function for these types, if it is there; it counts as used now."""
    return _read(_path(known, specs, options, capability), lambda content: _decoded(content, options))


def put(known: Identity, specs: Sequence[Spec], options: Options, capability: tuple[int, int], image: Image) -> None:
    """Keep a kernel. Other processes see the whole file or none."""
    path = _path(known, specs, options, capability) if image.storable else None
    if path is not None and _write(path, _encoded(image)):
        _make_room(path.parent.parent)


def get_dtype(known: Identity, given: str, capability: tuple[int, int]) -> np.dtype[Any] | None:
    """Return the dtype of what a function returns, if that is there; `given`: what it is called with."""
    return _read(_named("dtype", known, given, repr(capability)), lambda content: _dtype(json.loads(content)))


def put_dtype(known: Identity, given: str, capability: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """Keep the dtype of what a function returns: no room is made, since the kernel that calls it follows."""
    path, parts = _named("dtype", known, given, repr(capability)), _parts(dtype)
    if path is not None and _dtype(parts) == dtype:  # not where NumPy's text does not tell all of it
        _write(path, json.dumps(parts).encode())


def _read(path: Path | None, decoded: Callable[[bytes], Any]) -> Any:
    """Return what a file holds, which counts as used now; None where it is absent, damaged or of another version."""
    if path is None:
        return None
    try:
        checksum, _, content = path.read_bytes().removeprefix(_MAGIC).partition(b"\n")
        if checksum != hashlib.sha256(content).hexdigest().encode():
            return None
        found = decoded(content)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    _touch(path)
    return found


def _write(path: Path, content: bytes) -> bool:
    """Write a file, whole or not at all; return whether it is there."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_bytes(_MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        os.replace(temporary, path)
    except OSError:  # read-only, full, or on Windows in use by somebody who has it anyway
        with contextlib.suppress(OSError):
            temporary.unlink()
        return False
    return True


def _path(known: Identity, specs: Sequence[Spec], options: Options, capability: tuple[int, int]) -> Path | None:
    """Return the file of a kernel."""
    lines = places(known.key) if options.lineinfo or options.debug else ""
    return _named("kernel", known, *[spec.digest for spec in specs], repr(options), repr(capability), lines)


def _named(suffix: str, known: Identity, *parts: str) -> Path | None:
    """Return the file of what is known of a function; None where it cannot be known by name or there is no folder."""
    root, built = folder(), _built_from()
    if root is None or built is None or known.digest is None:
        return None
    name = hashlib.sha256("\n".join([known.digest, *parts, built]).encode()).hexdigest()
    return root / name[:2] / f"{name[2:]}.{suffix}"


@lru_cache(1)
def _built_from() -> str | None:
    """Return text for all that makes kernels: Python, warpkit's own sources, the compiler; None for no compiler.

    Sources that changed after they were imported say nothing about what this process compiles: None then, too.
    """
    compiler = machine.toolchain()
    if compiler is None:
        return None
    digest, root = hashlib.sha256(), Path(__file__).parents[1]
    try:
        for path in sorted(root.rglob("*.py")):
            if path.stat().st_mtime > _imported:
                return None
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    except OSError:
        return None
    if not root.is_dir():  # imported from an archive
        return None
    return f"{sys.implementation.cache_tag} {_versions.__version__} {digest.hexdigest()} {compiler}"


def _encoded(image: Image) -> bytes:
    """Return a kernel as a line of facts and its code."""
    fields = asdict(image)
    return json.dumps({name: fields[name] for name in _FACTS}).encode() + b"\n" + image.code


def _decoded(content: bytes, options: Options) -> Image:
    """Return the kernel that `_encoded` wrote."""
    facts, _, code = content.partition(b"\n")
    fields = json.loads(facts)
    fields["captured"], fields["compute_capability"] = tuple(fields["captured"]), tuple(fields["compute_capability"])
    return Image(code=code, options=options, **fields)


def _parts(dtype: np.dtype[Any]) -> Any:
    """Return a dtype as text, a structured one as a list of (name, parts)."""
    return [[name, _parts(dtype[name])] for name in dtype.names] if dtype.names else dtype.str


def _dtype(parts: Any) -> np.dtype[Any]:
    """Return the dtype of which `_parts` made these."""
    return np.dtype(parts if isinstance(parts, str) else [(name, _dtype(part)) for name, part in parts])


def _touch(path: Path) -> None:
    """Let a file count as used today, at the cost of a write a day."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > 86400:
            os.utime(path)


def _make_room(root: Path) -> None:
    """Delete what was not used for longest, where the folder holds too much; and what crashed processes left."""
    files, now = sorted(_files(root), reverse=True), time.time()
    kept = 0
    for used, size, path in files:
        kept += size
        abandoned = path.suffix == ".tmp" and now - used > 3600
        if abandoned or (kept > MOST_BYTES and path.suffix != ".tmp"):
            with contextlib.suppress(OSError):  # somebody else did, or reads it
                path.unlink()


def _files(root: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield (last use, size, path) of the cache's own files."""
    for suffix in _SUFFIXES:
        for path in root.glob(f"??/*.{suffix}"):
            try:
                status = path.stat()
            except OSError:
                continue
            yield status.st_mtime, status.st_size, path

"""Compiled kernels on disk: found by another process, never wrong, never in the way."""

import errno
import hashlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from warpkit.host import cache
from warpkit.host.identity import identity
from warpkit.simt.specs import Image, Options, array_spec, scalar_spec, tuple_spec

pytestmark = pytest.mark.everywhere

CC = (9, 0)
SPECS = (array_spec("f4", 1), tuple_spec((scalar_spec("i8"),)))


def kernel(x, n):
    x[0] = n


def other(x, n):
    x[1] = n


def image(code=b"\x7fELF\n\0code", **changes):
    made = Image(code, "_Zkernel", CC, Options(), (1, 0), 16, 400, local=8, spills=4, cooperative=True, name="kernel")
    return replace(made, **changes)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of the test's own, also where there is no compiler and while somebody edits warpkit."""
    monkeypatch.setenv("WARPKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WARPKIT_CACHE", raising=False)
    monkeypatch.setattr(cache, "_built_from", lambda: "this build")
    return tmp_path / "cache"


def put(function=kernel, specs=SPECS, options=None, cc=CC, kept=None):
    cache.put(identity(function), specs, options or Options(), cc, kept or image())


def get(function=kernel, specs=SPECS, options=None, cc=CC):
    return cache.get(identity(function), specs, options or Options(), cc)


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_was_put_is_there(folder):
    assert get() is None
    put()
    assert get() == image()
    assert len(files(folder)) == 1
    put()
    assert len(files(folder)) == 1


def test_everything_that_decides_the_code_is_in_the_key(monkeypatch):
    put()
    assert get(other) is None
    assert get(specs=(array_spec("f4", 1), scalar_spec("i8"))) is None
    assert get(specs=(array_spec("f4", 1, False), SPECS[1])) is None
    assert get(options=Options(fastmath=True)) is None
    assert get(options=Options(launch_bounds=(128, 1))) is None
    assert get(cc=(8, 0)) is None
    monkeypatch.setattr(cache, "_built_from", lambda: "another build")
    assert get() is None
    monkeypatch.setattr(cache, "_built_from", lambda: None)
    put()
    assert get() is None
    monkeypatch.setattr(cache, "_built_from", lambda: "this build")
    assert get() == image()


def test_dtypes_are_kept_beside_kernels(folder):
    pair = np.dtype([("f0", "?"), ("f1", [("f0", "<i8")])])
    assert cache.get_dtype(identity(kernel), "f4", CC) is None
    for dtype in (pair, np.dtype("f2")):
        cache.put_dtype(identity(kernel), "f4", CC, dtype)
        assert cache.get_dtype(identity(kernel), "f4", CC) == dtype
    assert [path.suffix for path in files(folder)] == [".dtype"]
    assert [cache.get_dtype(identity(f), given, cc) for f, given, cc in (
        (other, "f4", CC), (kernel, "f8", CC), (kernel, "f4", (8, 0)),
    )] == [None] * 3  # fmt: skip
    (path,) = files(folder)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b"f2", b"f4"), b"x" + whole):
        path.write_bytes(damaged)
        assert cache.get_dtype(identity(kernel), "f4", CC) is None
    for foreign in (b"nothing", b"1", b'["no pair"]', b'"no dtype"'):
        path.write_bytes(cache._MAGIC + hashlib.sha256(foreign).hexdigest().encode() + b"\n" + foreign)
        assert cache.get_dtype(identity(kernel), "f4", CC) is None


def test_room_is_made_of_dtypes_too(folder, monkeypatch):
    cache.put_dtype(identity(kernel), "f4", CC, np.dtype("f4"))
    (path,) = files(folder)
    os.utime(path, (1e9, 1e9))
    put()
    assert [path.suffix for path in files(folder)].count(".dtype") == 1
    monkeypatch.setattr(cache, "MOST_BYTES", sum(p.stat().st_size for p in files(folder) if p != path))
    put()
    assert [path.suffix for path in files(folder)] == [".kernel"]


def made_at(line, value):
    space = {}
    exec(compile("\n" * line + "def kernel(x, n):\n    x[0] = n\n", "file.py", "exec"), space)
    return space["kernel"]


def test_the_place_of_the_code_counts_only_where_it_is_shown():
    put(made_at(1, 1))
    assert get(made_at(5, 1)) == image()
    shown = Options(lineinfo=True)
    put(made_at(1, 1), options=shown)
    assert get(made_at(1, 1), options=shown) == image(options=shown)
    assert get(made_at(5, 1), options=shown) is None


def test_what_cannot_be_known_elsewhere_is_not_kept(folder):
    thing = object()

    def capturing(x, n):
        x[0] = thing

    put(capturing)
    put(kept=image(storable=False))
    assert files(folder) == []


@pytest.mark.parametrize("value", ["0", "off", "OFF ", "no", "false"])
def test_it_can_be_turned_off(folder, monkeypatch, value):
    put()
    monkeypatch.setenv("WARPKIT_CACHE", value)
    assert cache.folder() is None
    assert get() is None
    put(other)
    assert len(files(folder)) == 1
    monkeypatch.setenv("WARPKIT_CACHE", "1")
    assert get() == image()


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.delenv("WARPKIT_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "warpkit"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert cache.folder() == tmp_path / "home" / ".cache" / "warpkit"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.folder() == tmp_path / "local" / "warpkit" / "cache"

    def homeless():
        raise RuntimeError

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", homeless)
    assert cache.folder() is None
    put()
    assert get() is None


DAMAGES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    "flipped_code": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "flipped_fact": lambda data: data.replace(b'"registers": 16', b'"registers": 17'),
    "foreign": lambda data: b"something else\n" + data,
    "another_version": lambda data: cache._MAGIC.replace(b"1", b"2") + data[len(cache._MAGIC) :],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_counts_as_absent_and_is_written_anew(folder, damage):
    put()
    (path,) = files(folder)
    damaged = DAMAGES[damage](path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    assert get() is None
    put()
    assert get() == image()


def test_facts_of_another_version_count_as_absent(folder, monkeypatch):
    put()
    monkeypatch.setattr(cache, "_FACTS", cache._FACTS[:-2])
    put(other)
    assert get(other).name == "kernel"  # the default
    (path,) = [path for path in files(folder) if b"cooperative" in path.read_bytes()]
    content = path.read_bytes()[len(cache._MAGIC) + 65 :].replace(b'"entry"', b'"enter"')
    path.write_bytes(cache._MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    assert get() is None


@pytest.mark.parametrize("error", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_folder_that_cannot_be_written_is_no_cache(folder, monkeypatch, error):
    def refused(path, data):
        path.touch()  # a full disk gives an empty file
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(Path, "write_bytes", refused)
    put()
    assert get() is None
    assert files(folder) == []


def test_a_folder_that_cannot_be_made_is_no_cache(folder):
    folder.write_text("a file")
    put()
    assert get() is None
    assert folder.read_text() == "a file"


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(folder, monkeypatch):
    """Windows refuses while another process has the file open."""

    def refused(source, target):
        raise PermissionError

    monkeypatch.setattr(os, "replace", refused)
    put()
    assert files(folder) == []
    assert get() is None


def test_the_folder_does_not_grow_without_bound(folder, monkeypatch):
    size = 10_000
    monkeypatch.setattr(cache, "MOST_BYTES", 5 * size)
    kept = []
    for n in range(12):
        put(options=Options(max_registers=n + 1), kept=image(b"x" * size))
        (newest,) = set(files(folder)) - set(kept)
        kept = files(folder)
        os.utime(newest, (1e9 + n, 1e9 + n))
    assert sum(path.stat().st_size for path in files(folder)) <= 5 * size + 2 * size
    assert get(options=Options(max_registers=12)) is not None
    assert get(options=Options(max_registers=1)) is None


def test_what_was_read_was_used(folder):
    put()
    (path,) = files(folder)
    os.utime(path, (1e9, 1e9))
    get()
    assert time.time() - path.stat().st_mtime < 3600


def test_what_a_crashed_process_left_is_cleared(folder):
    put()
    (path,) = files(folder)
    for age, name in ((7200, "old"), (60, "young")):
        left = path.with_name(f"{name}.kernel.1.abcd.tmp")
        left.write_bytes(b"half")
        os.utime(left, (time.time() - age,) * 2)
    put(other)
    assert [left.name for left in files(folder) if left.suffix == ".tmp"] == ["young.kernel.1.abcd.tmp"]


def test_threads_and_readers_see_whole_files(folder):
    stop, seen = threading.Event(), set()

    def write(n):
        while not stop.is_set():
            put(kept=image(bytes([n]) * 200_000))

    def read():
        while not stop.is_set():
            found = get()
            if found is not None:
                seen.add(len(set(found.code)))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert seen == {1}
    assert len(files(folder)) == 1


SCRIPT = textwrap.dedent("""
    import sys
    import numpy as np
    from warpkit.host import cache
    from warpkit.host.identity import identity
    from warpkit.simt.specs import Image, Options, array_spec

    cache._built_from = lambda: "this build"
    TABLE, K = np.arange(3.0), K_VALUE

    def helper(i):
        return TABLE[i] * K

    def kernel(x):
        x[0] = helper(1)

    key = identity(kernel), [array_spec("f4", 1)], Options(), (9, 0)
    found = cache.get(*key)
    print("compiled" if found is None else found.code.decode())
    if found is None:
        cache.put(*key, Image(b"from the first", "kernel", (9, 0), Options()))
""")


def elsewhere(k):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT.replace("K_VALUE", k)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_two_processes_share_it(folder):
    at_once = [elsewhere("1") for _ in range(2)]
    assert {process.communicate()[0].strip() for process in at_once} <= {"compiled", "from the first"}
    assert elsewhere("1").communicate()[0].strip() == "from the first"
    assert elsewhere("True").communicate()[0].strip() == "compiled"
    assert len(files(folder)) == 2


def test_what_is_built_from_is_known(monkeypatch):
    monkeypatch.undo()
    cache._built_from.cache_clear()
    monkeypatch.setattr(cache.machine, "toolchain", lambda: "a compiler")
    monkeypatch.setattr(cache, "_imported", time.time() + 60)  # others may be editing
    built = cache._built_from()
    assert built.endswith(" a compiler")
    assert sys.implementation.cache_tag in built
    cache._built_from.cache_clear()
    monkeypatch.setattr(cache, "_imported", 0.0)
    assert cache._built_from() is None  # the sources are newer than what was imported
    cache._built_from.cache_clear()
    monkeypatch.setattr(cache.machine, "toolchain", lambda: None)
    assert cache._built_from() is None
    cache._built_from.cache_clear()


def test_a_changed_source_is_another_build(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setattr(cache.machine, "toolchain", lambda: "a compiler")
    monkeypatch.setattr(cache, "_imported", time.time() + 60)
    source = tmp_path / "warpkit" / "host" / "cache.py"
    source.parent.mkdir(parents=True)
    built = []
    for text in ("a = 1", "a = 2", "a = 1"):
        source.write_text(text)
        monkeypatch.setattr(cache, "__file__", str(source))
        cache._built_from.cache_clear()
        built.append(cache._built_from())
    cache._built_from.cache_clear()
    assert built[0] == built[2] != built[1]


def test_arrays_of_any_content_share_a_file():
    def with_table(size):
        table = np.zeros(size)

        def capturing(x, n):
            x[0] = table[n]

        return capturing

    put(with_table(3))
    assert get(with_table(500)) == image()

"""Compiled kernels: plain Python on integer arrays, made machine code once and kept.

`@kernel` compiles a function with Numba. Numba's own disk cache looks only at the file of the
function itself, so an edited callee in another file, or a constant imported from one, would
silently give the old answer. Here the cache folder carries a hash of every source that can reach
a kernel, and of the compiler and the processor, so a change means another folder.

>>> in_threads(lambda start, stop: stop - start, 10, workers=2, chunk=4)
[4, 4, 2]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from usance.base.kernel_cache import (
    GuardedCache,
    check_private,
    kept_kernel_sources,
    package_root,
    say_not_kept,
)

P = ParamSpec("P")
R = TypeVar("R")

# Rows per piece of threaded work: one or two milliseconds of kernel time, so threads stay busy and
# the hand-over is free. Fixed, so that pieces (and thus results) do not depend on the machine.
CHUNK = 1 << 14


@overload
def kernel(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def kernel(*, inline: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def kernel(function: Callable[P, R] | None = None, *, inline: bool = False) -> Any:
    """Compile a function on first call, without the interpreter lock; use as `@kernel`."""
    if function is None:
        return lambda decorated: _compile(decorated, inline)
    return _compile(function, inline)


def _compile(function: Callable[P, R], inline: bool) -> Callable[P, R]:
    _put_off("numpy.f2py")
    numba = import_module("numba")
    folder = _usable_folder(_root_of(function))
    options = {
        "nogil": True,
        "error_model": "numpy",
        "forceinline": inline,
        "_nrt": False,
        "cache": folder is not None,
    }
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder or before)
    try:
        dispatcher = numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = before
    if folder is not None:
        dispatcher._cache = GuardedCache(dispatcher._cache)  # noqa: SLF001  # Numba has no other way
    compiled: Callable[P, R] = dispatcher
    return compiled


def _put_off(name: str) -> None:
    """Load a module when something of it is used.

    Numba looks for SciPy's linear algebra, SciPy takes all of NumPy's names, and one of them is a
    compiler of Fortran with all that it reads.
    """
    spec = find_spec(name) if name not in sys.modules else None
    if spec is None or spec.loader is None:
        return
    loader = LazyLoader(spec.loader)
    spec.loader = loader
    module = sys.modules[name] = module_from_spec(spec)
    loader.exec_module(module)
    parent, _, own = name.rpartition(".")
    setattr(sys.modules[parent], own, module)


def _root_of(function: Callable[..., object]) -> Path:
    return package_root(Path(function.__code__.co_filename), function.__module__)


def cache_home() -> Path:
    """The folder of this user's compiled kernels, all versions of them."""
    named = os.environ.get("USANCE_CACHE")
    if named:
        return Path(named) / "kernels"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "usance" / "kernels"


@cache
def cache_folder(root: Path) -> Path:
    """The cache folder of the kernels as they are now below a package root."""
    mark = blake2b(digest_size=12)
    for part in (*_toolchain(), *_sources(root)):
        mark.update(len(part).to_bytes(8, "big") + part)
    return cache_home() / mark.hexdigest()


def _toolchain() -> list[bytes]:
    llvm = import_module("llvmlite.binding")
    versions = [import_module(name).__version__ for name in ("numba", "numpy", "llvmlite")]
    processor = [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    return [text.encode() for text in (sys.version, *versions, *processor)]


def _sources(root: Path) -> list[bytes]:
    roots = sorted({root, OWN_ROOT})
    return [
        part for each in roots for pair in kept_kernel_sources(each, cache_home()) for part in pair
    ]


@cache
def _usable_folder(root: Path) -> Path | None:
    try:
        folder = cache_folder(root)
        cache_home().parent.mkdir(parents=True, exist_ok=True)
        # Compiled code is loaded by pickle: whoever can write here can run code as this user.
        for private in (cache_home(), folder):
            private.mkdir(mode=0o700, exist_ok=True)
            check_private(private)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x")
    except (OSError, RuntimeError) as error:
        say_not_kept(str(error))
        return None
    return folder


def available_cores() -> int:
    """Cores this process may use; `USANCE_THREADS` says that it shall use fewer."""
    own = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if own else os.cpu_count() or 1
    asked = os.environ.get("USANCE_THREADS", "")
    return min(max(int(asked), 1), cores) if asked.isdecimal() else cores


def in_threads(
    function: Callable[[int, int], R], n_rows: int, workers: int | None = None, chunk: int = CHUNK
) -> list[R]:
    """Call `function(start, stop)` over all rows in pieces, in threads; results in row order."""
    starts = range(0, n_rows, chunk)
    stops = [min(start + chunk, n_rows) for start in starts]
    threads = min(workers or available_cores(), len(starts))
    if threads <= 1:
        return list(map(function, starts, stops))
    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(function, starts, stops))
    finally:
        pool.shutdown(cancel_futures=True)


OWN_ROOT = Path(__file__).resolve().parents[1]

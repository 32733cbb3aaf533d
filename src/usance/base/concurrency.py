"""Work in threads: results prefetched, mapped in parallel, or computed in the background.

>>> list(prefetch(number * 2 for number in range(3)))
[0, 2, 4]
>>> list(parallel_map(abs, [3, -1, 2], 2))
[3, 1, 2]
>>> soon, later = in_background(lambda: 6 * 7), in_idle_time(lambda: 7 * 8)
>>> soon(), later()
(42, 56)
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
_GIVES_WAY, _NICEST = 10, 19
"""The niceness of idle work: a tenth of what others get, and all they leave."""


def prefetch(things: Iterable[T]) -> Iterator[T]:
    """The same things in order, each made in another thread while the one before is used."""
    source, end = iter(things), object()
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(next, source, end)
        while (thing := coming.result()) is not end:
            coming = maker.submit(next, source, end)
            yield thing  # type: ignore[misc]  # it is not the end


def parallel_map(work: Callable[[T], R], jobs: Iterable[T], threads: int) -> Iterator[R]:
    """The results of jobs in their order, some made at once; of what nobody takes few are held."""
    pool, coming = ThreadPoolExecutor(threads), deque[Future[R]]()
    try:
        for job in jobs:
            coming.append(pool.submit(work, job))
            if len(coming) > threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def in_background(work: Callable[[], R]) -> Callable[[], R]:
    """Begin in another thread what is needed next; ask for it later."""
    return _begun(ThreadPoolExecutor(1), work)


def in_idle_time(work: Callable[[], R]) -> Callable[[], R]:
    """Begin what nobody waits for yet, on what others leave of the processor; ask for it later."""
    return _begun(ThreadPoolExecutor(1, initializer=_give_way), work)


def _begun(pool: ThreadPoolExecutor, work: Callable[[], R]) -> Callable[[], R]:
    coming = pool.submit(work)
    pool.shutdown(wait=False)
    return coming.result


def _give_way() -> None:
    """On Linux a thread, and those it begins, can be nice by themselves."""
    if sys.platform.startswith("linux"):
        own = threading.get_native_id()
        nice = os.getpriority(os.PRIO_PROCESS, own) + _GIVES_WAY
        os.setpriority(os.PRIO_PROCESS, own, min(nice, _NICEST))

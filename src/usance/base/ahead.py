"""Work done ahead: while one thing is used, the next is already being made.

>>> list(ahead(number * 2 for number in range(3)))
[0, 2, 4]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(things: Iterable[T]) -> Iterator[T]:
    """The same things in order, each made in another thread while the one before is used."""
    source, end = iter(things), object()
    with ThreadPoolExecutor(1) as maker:
        coming = maker.submit(next, source, end)
        while (thing := coming.result()) is not end:
            coming = maker.submit(next, source, end)
            yield thing  # type: ignore[misc]  # it is not the end

"""Progress of long work: what is being done, how far it is, and the time left.

Work tells it with `tell`, which does nothing unless somebody listens; the command line listens on a
terminal. A line appears when the work has taken two seconds, and goes when it ends.

>>> heard: list[tuple[str, int, int]] = []
>>> with listening(lambda what, done, whole: heard.append((what, done, whole))):
...     tell("routing", 1, 4)
>>> heard
[('routing', 1, 4)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO, TypeVar

Progress = Callable[[str, int, int], None]
T = TypeVar("T")

SILENT_SECONDS, EVERY_SECONDS = 2.0, 0.2
_listener: ContextVar[Progress | None] = ContextVar("listener", default=None)


def tell(what: str, done: int, whole: int) -> None:
    """Tell whoever listens that so much of a whole is done."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, whole)


def with_progress(what: str, items: Iterable[T], whole: int) -> Iterator[T]:
    """The items one by one, telling how many of the whole are done.

    >>> list(with_progress("adding", [1, 2], 2))
    [1, 2]
    """
    tell(what, 0, whole)
    for done, item in enumerate(items, start=1):
        yield item
        tell(what, done, whole)


@contextmanager
def listening(listener: Progress) -> Iterator[None]:
    """Let a listener hear what is told inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class ProgressLine:
    """One line on a terminal: what is done, how far it is, and the time left."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream, self._clock = stream, clock
        self._begun = self._said = clock()
        self._stage: tuple[str, float, int] = ("", self._begun, 0)
        self._is_shown = False

    def __call__(self, what: str, done: int, whole: int) -> None:
        """Say it on the line that stands, not too often."""
        now = self._clock()
        if what != self._stage[0]:
            self._stage = what, now, done
        if now - self._begun < SILENT_SECONDS or now - self._said < EVERY_SECONDS:
            return
        _, since, first = self._stage
        time_left = ""
        if done > first:
            seconds = (now - since) * (whole - done) / (done - first)
            time_left = f", {seconds // 60:.0f} min {seconds % 60:.0f} s left"
        self._said, self._is_shown = now, True
        self._stream.write(f"\r\x1b[K{what} {done / max(whole, 1):.0%}{time_left}")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away, so that the answer has the terminal to itself."""
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_shown = False

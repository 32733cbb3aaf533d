"""The last lines of this worker's log, kept in memory for the screen *Developers*.

>>> tail = LogTail(2)
>>> for text in ("one", "two", "three"):
...     tail.handle(logging.LogRecord("usance", logging.INFO, "", 0, text, None, None))
True
True
True
>>> [line.rpartition(" ")[2] for line in tail.lines]
['two', 'three']
"""

from __future__ import annotations

import logging
from collections import deque

LINES = 400


class LogTail(logging.Handler):
    """A handler that keeps the last lines and forgets the others."""

    def __init__(self, lines: int = LINES) -> None:
        super().__init__(logging.INFO)
        self.lines: deque[str] = deque(maxlen=lines)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(self.format(record))


TAIL = LogTail()
"""The tail of this worker."""


def keep_tail() -> None:
    """Keep the log's last lines from now on."""
    root = logging.getLogger()
    if TAIL not in root.handlers:
        root.addHandler(TAIL)

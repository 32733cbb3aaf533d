"""Logs of a server: one object a line, for machines; or lines for people, on a terminal.

Nothing of a person is logged: messages name ids, codes and counts. An error is told by its type and
by where it arose, never by its own message, which may hold what somebody gave or what a row has.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

FORMATS = "json", "text"
MAX_CHAINED = 8
"""Errors that led to one another and are told."""
VARIABLE = "USANCE_LOG"


class Lines(logging.Formatter):
    """Each record as a line for people, and below it where its error arose."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 -- the name of logging
        """Form the trace of an error and of those that led to it, without their messages."""
        error: BaseException | None = ei[1]
        found: list[str] = []
        while error is not None and len(found) < MAX_CHAINED:
            frames = traceback.format_list(traceback.extract_tb(error.__traceback__))
            kind = f"{type(error).__module__}.{type(error).__qualname__}"
            found.append(f"Traceback (most recent call last):\n{''.join(frames)}{kind}")
            context = None if error.__suppress_context__ else error.__context__
            error = error.__cause__ or context
        return "\n\n".join(reversed(found))


class JsonLines(Lines):
    """Each record as one object: when, how bad, who says it, what, and the error with its trace.

    >>> record = logging.LogRecord("usance.day", logging.INFO, "", 0, "%d served", (3,), None)
    >>> told = json.loads(JsonLines().format(record))
    >>> told["level"], told["logger"], told["message"]
    ('info', 'usance.day', '3 served')
    """

    def format(self, record: logging.LogRecord) -> str:
        """Form one line."""
        told = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(), "logger": record.name,
            "message": record.getMessage(),
        }  # fmt: skip
        if record.exc_info and record.exc_info[0] is not None:
            told |= {"error": record.exc_info[0].__name__,
                     "trace": self.formatException(record.exc_info)}  # fmt: skip
        return json.dumps(told, ensure_ascii=False)


def log_to_standard_error() -> None:
    """Send everything that is logged to standard error: standard output has one line.

    Objects, unless a terminal reads them or `USANCE_LOG` is `text`.
    """
    asked = os.environ.get(VARIABLE) or ("text" if sys.stderr.isatty() else "json")
    handler = logging.StreamHandler(sys.stderr)
    text = Lines("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(text if asked == "text" else JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO)

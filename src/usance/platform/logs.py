"""Logs of a server: one object a line, for machines; or lines for people, on a terminal.

Nothing of a person is logged: messages name ids, codes and counts.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime

FORMATS = "json", "text"
VARIABLE = "USANCE_LOG"


class JsonLines(logging.Formatter):
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
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(text if asked == "text" else JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO)

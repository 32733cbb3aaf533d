"""Encodings of people's files: ours is UTF-8, and a file in another is told what it seems to be.

>>> utf8_fix("Müller;1".encode("cp1252"))
'It seems to be Windows-1252 (Latin-1): save it as UTF-8, in Excel as "CSV UTF-8"'
>>> utf8_fix("张伟,1".encode("gb18030"))
'It seems to be GB18030 (GBK): save it as UTF-8, in Excel as "CSV UTF-8"'
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

_HIGH = re.compile(rb"[\x80-\xff]+")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_ENOUGH = 1 << 20  # bytes that tell one encoding from another


def utf8_fix(content: bytes) -> str:
    """The next step for a file that is not UTF-8, with the encoding that it seems to be in."""
    seems = _seeming(content[:_ENOUGH])
    step = 'save it as UTF-8, in Excel as "CSV UTF-8"'
    return f"It seems to be {seems}: {step}" if seems else "Save the file as UTF-8"


def csv_refusal(path: Path) -> tuple[str, str] | None:
    """The problem with a CSV file that is not UTF-8 and the next step; None if it is."""
    if path.suffix == ".parquet":
        return None
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read()
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return f"line {line} is not UTF-8", utf8_fix(content)
    except (OSError, EOFError):
        return None
    return None


def _seeming(content: bytes) -> str:
    """The encoding that a text seems to be in; empty if it is no text.

    Chinese characters are pairs of bytes beyond ASCII, letters with accents stand alone.
    """
    if content.startswith(_UTF_16):
        return "UTF-16"
    if b"\0" in content:
        return ""
    runs = [len(run) for run in _HIGH.findall(content)]
    pairs = sum(length % 2 == 0 for length in runs)
    return "GB18030 (GBK)" if pairs * 2 > len(runs) else "Windows-1252 (Latin-1)"

r"""On which line of its file every case begins.

>>> case_lines('{"about": [1],\n "cases": [{},\n {}]}')
[2, 3]
"""

from __future__ import annotations

import json
import re

_SPACE = re.compile(r"[ \t\r\n]*")


def case_lines(text: str) -> list[int]:
    """The lines of all cases of a JSON text that has been read already."""
    decoder = json.JSONDecoder()
    at = _after_space(text, _after_space(text, 0) + 1)
    while True:
        key, at = decoder.raw_decode(text, at)
        at = _after_space(text, _after_space(text, at) + 1)  # past the colon
        if key == "cases":
            break
        _, at = decoder.raw_decode(text, at)
        at = _after_space(text, _after_space(text, at) + 1)  # past the comma
    lines, line, counted = [], 1, 0
    at = _after_space(text, at + 1)
    while text[at] != "]":
        line += text.count("\n", counted, at)
        counted = at
        lines.append(line)
        _, at = decoder.raw_decode(text, at)
        at = _after_space(text, at)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return lines


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at

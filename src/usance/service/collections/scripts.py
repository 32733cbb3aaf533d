"""Words of contacts by script and language; a script without words has those of all.

>>> words_of("day_1", "en", "1,200.00", 2)
'Your payment of 1,200.00 did not arrive. Please pay it today.'
>>> words_of("of my own", "en", "50.00", 9) == words_of("default", "en", "50.00", 9)
True
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from usance.base.documents import read_document

DEFAULT = "default"


@cache
def scripts() -> dict[str, dict[str, str]]:
    """Every script with its words by language."""
    found: dict[str, Any] = read_document(Path(__file__).parent / "scripts.yaml")
    return found


def words_of(script: str, language: str, amount: str, days: int) -> str:
    """The words of a script for a case."""
    texts = scripts().get(script) or scripts()[DEFAULT]
    return texts[language].format(amount=amount, days=days)

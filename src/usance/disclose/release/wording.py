"""The words of a release, as data: one file a language, and what a filer replaces in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from usance.base.documents import read_document
from usance.base.errors import unknown
from usance.disclose.errors import FilerError
from usance.disclose.periods import Period

FOLDER = Path(__file__).resolve().parents[1] / "data"


def languages() -> list[str]:
    """The languages there are texts in."""
    return sorted(path.name.split(".")[1] for path in FOLDER.glob("texts.*.yaml"))


def load_texts(language: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """The texts of a language, with those a filer puts in their place.

    >>> load_texts("en", {"and": " & "})["and"]
    ' & '
    """
    if language not in languages():
        raise unknown("language", language, languages(), where="filer")
    texts = read_document(FOLDER / f"texts.{language}.yaml")
    return _replaced(texts, own, "texts")


def _replaced(given: dict[str, Any], own: Mapping[str, Any], where: str) -> dict[str, Any]:
    made = dict(given)
    for name, value in own.items():
        known = given.get(name)
        if isinstance(known, dict) and isinstance(value, Mapping):
            made[name] = _replaced(known, value, f"{where}.{name}")
        elif known is not None and isinstance(known, dict) != isinstance(value, Mapping):
            fix = "Keep the shape of the house's texts"
            raise FilerError("is no text of its place", where=f"{where}.{name}", fix=fix)
        elif known is None and where == "texts":
            raise unknown("text", str(name), given, where=where)
        else:
            made[name] = value
    return made


def filled(template: str, where: str, **words: str) -> str:
    """A template with its words; a name it cannot know is an error of the filer's texts."""
    try:
        return template.format(**words)
    except (KeyError, IndexError, ValueError) as error:
        fix = f"Use only {{{'}, {'.join(words)}}}"
        raise FilerError(f"the text {template!r} cannot be filled: {error}", where=where,
                         fix=fix) from None  # fmt: skip


def said(period: Period, texts: Mapping[str, Any]) -> str:
    """A period as a sentence names it."""
    if period.instant:
        return period.name
    words = texts["periods"]
    months = period.end.month - period.start.month + 1
    kinds = {3: "quarter", 6: "half", 9: "nine", 12: "year"}
    if months not in kinds or period.end.year != period.start.year:
        return period.name
    number = str(period.end.month // months)
    return filled(words[kinds[months]], "texts.periods", number=number, year=str(period.end.year))

"""The wording of a release: one file a language, and the texts a filer replaces in it.

To add a language, add `<code>.yaml` with the same keys to the folder `wording`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from usance.base.documents import read_document
from usance.base.errors import unknown
from usance.disclose.errors import FilerError
from usance.disclose.periods import Period

FOLDER = Path(__file__).resolve().parents[1] / "wording"
EXTENSIBLE = ("lines", "inside", "metrics", "definitions", "plan_parts")
"""Texts by names of a filer's own lines: anyone may add to them."""
_NAME = re.compile(r"\\\{(\w+)\\\}")


def languages() -> list[str]:
    """The codes of the languages there is wording in."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_wording(language: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """The texts of a language, with a filer's own in their place.

    >>> load_wording("en", {"and": " & "})["and"]
    ' & '
    """
    if language not in languages():
        raise unknown("language", language, languages(), where="filer")
    texts = read_document(FOLDER / f"{language}.yaml")
    return _override(texts, own, "texts")


def _override(given: dict[str, Any], own: Mapping[str, Any], where: str) -> dict[str, Any]:
    made = dict(given)
    for name, value in own.items():
        known = given.get(name)
        if isinstance(known, dict) and isinstance(value, Mapping):
            made[name] = _override(known, value, f"{where}.{name}")
        elif known is not None and type(known) is not type(value):
            fix = "Keep the shape of the house's texts"
            raise FilerError("is no text of its place", where=f"{where}.{name}", fix=fix)
        elif known is None and where.removeprefix("texts.") not in EXTENSIBLE:
            raise unknown("text", str(name), given, where=where)
        else:
            made[name] = value
    return made


def fill_template(template: str, where: str, **words: str) -> str:
    """A template with its words; an unknown name in it is an error of the filer's texts."""
    try:
        return template.format(**words)
    except (KeyError, IndexError, ValueError) as error:
        fix = f"Use only {{{'}, {'.join(words)}}}"
        raise FilerError(f"the text {template!r} cannot be filled: {error}", where=where,
                         fix=fix) from None  # fmt: skip


def period_in_words(period: Period, texts: Mapping[str, Any], form: str = "periods") -> str:
    """A period as a sentence names it, or in `short` as a table does."""
    if period.instant:
        return day_in_words(period.end, texts)
    months = period.end.month - period.start.month + 1
    kinds = {3: "quarter", 6: "half", 9: "nine", 12: "year"}
    if months not in kinds or period.end.year != period.start.year:
        return period.name
    number = period.end.month // months
    words = {"number": str(number), "year": str(period.end.year)}
    if ordinals := texts["ordinals"].get(kinds[months]):
        words["ordinal"] = ordinals[number - 1]
    return fill_template(texts[form][kinds[months]], f"texts.{form}", **words)


def day_in_words(day: date, texts: Mapping[str, Any]) -> str:
    """A day in words.

    >>> day_in_words(date(2024, 6, 30), load_wording("en", {}))
    'June 30, 2024'
    """
    words = {"day": str(day.day), "month": texts["months"][day.month - 1], "year": str(day.year)}
    return fill_template(texts["day"], "texts.day", **words)


def group_digits(text: str, numbers: Mapping[str, str]) -> str:
    """A number with separators.

    >>> group_digits("-1234567.80", {"group": ",", "point": "."})
    '-1,234,567.80'
    """
    whole, point, rest = text.lstrip("-").partition(".")
    number = f"{int(whole):,}".replace(",", numbers["group"])
    minus = "-" if text.startswith("-") else ""
    return f"{minus}{number}{numbers['point'] if point else ''}{rest}"


class LineLabels:
    """Labels of lines: as they stand, or as the texts name them.

    >>> labels = LineLabels(
    ...     {"Net income": "Ergebnis", "Equity of {company}": "Kapital der {company}"}
    ... )
    >>> labels.of("Net income"), labels.of("Equity of A & B"), labels.of("Other")
    ('Ergebnis', 'Kapital der A & B', 'Other')
    """

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._plain = {line: name for line, name in lines.items() if "{" not in line}
        self._patterns = [
            (re.compile(_NAME.sub(r"(?P<\1>.+)", re.escape(line))), name)
            for line, name in lines.items()
            if "{" in line
        ]

    def of(self, line: str) -> str:
        """The name of a line."""
        if line in self._plain:
            return self._plain[line]
        for pattern, name in self._patterns:
            if found := pattern.fullmatch(line):
                return fill_template(name, "texts.lines", **found.groupdict())
        return line

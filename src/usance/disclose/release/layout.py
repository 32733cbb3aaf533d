"""The layout of a release: facts as sentences, tables, curves and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from usance.disclose.facts import NO_CURRENCY, Fact
from usance.disclose.periods import Period
from usance.disclose.profile import Profile
from usance.disclose.release.figure import Addresses
from usance.disclose.release.sentences import Sentence, SentenceWriter
from usance.disclose.release.wording import LineLabels, fill_template, group_digits, period_in_words

_NUMBER = re.compile(r"\d+")
COLUMN = tuple[str, str, str]
"""Column of a matrix (or nothing), period, currency."""
NARRATIVE_STATEMENTS = (
    "business_highlights", "release_highlights", "management_quote", "release_results", "dividend",
    "share_repurchase", "outlook", "convenience_translation",
)  # fmt: skip
"""Statements that are written as sentences, in the order of the page."""
CURVES = ("vintage_30", "vintage_180")
"""Tables with a chart; they come before the others."""
FORM = "dividend_form"
"""The exchange's form: a table of words, with headings of its own."""


@dataclass(frozen=True)
class Row:
    """One line of a table; `depth` says how far it is set in."""

    line: str
    parent: str
    is_total: bool
    depth: int
    cells: Mapping[COLUMN, Fact]


@dataclass(frozen=True)
class Sheet:
    """One table, and its curves if it is drawn too."""

    name: str
    title: str
    columns: tuple[COLUMN, ...]
    headings: tuple[tuple[str, ...], ...]
    rows: tuple[Row, ...]
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """Points by column: month on book and share."""

    @property
    def is_form(self) -> bool:
        """True if its cells are words, not figures under each other."""
        return self.name == FORM

    def headed_rows(self) -> Iterator[tuple[str, Row]]:
        """Rows, each with the heading above it, if any: a parent that is no line of the table."""
        above, lines = "", {row.line for row in self.rows}
        for row in self.rows:
            is_new = row.parent not in lines and row.parent != above
            yield row.parent if is_new else "", row
            above = row.parent


@dataclass(frozen=True)
class Section:
    """Sentences under a title."""

    name: str
    title: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True)
class Page:
    """A whole release."""

    document: str
    headline: str
    opening: tuple[str, ...]
    sections: tuple[Section, ...]
    sheets: tuple[Sheet, ...]
    footnotes: tuple[str, ...]
    language: str
    texts: Mapping[str, Any] = field(repr=False)
    quoted: tuple[Fact, ...] = field(repr=False)
    """The facts of its sentences, by the number of their marks."""
    address: Mapping[Fact, str] = field(repr=False)

    def formatted(self, fact: Fact) -> str:
        """A figure as a table shows it: separators, and brackets below zero."""
        if fact.statement == FORM:
            return self._form_field(fact)
        if not fact.is_number or fact.unit in ("rmb_per_usd", "rate"):
            return fact.text
        number = group_digits(fact.text.lstrip("-"), self.texts["numbers"])
        percent = "%" if fact.unit == "percent" else ""
        return f"({number}{percent})" if fact.text.startswith("-") else f"{number}{percent}"

    def _form_field(self, fact: Fact) -> str:
        """A field of the exchange's form, with the words around its amounts."""
        template = self.texts["form"].get(fact.unit)
        if template is None:
            return fact.text
        of = fact.line.rpartition(" ")[2]
        words = {"currency": fact.currency, "value": fact.text, "of": of}
        return fill_template(template, "texts.form", **words)


def page_of(
    facts: Sequence[Fact], profile: Profile, texts: Mapping[str, Any], company: str,
    language: str = "en", definitions: Mapping[str, str] | None = None,
) -> Page:  # fmt: skip
    """The page of one document's facts; `definitions` are those of its metrics, by line."""
    document, groups = facts[0].document, _by_statement(facts)
    addresses = Addresses(document, facts, profile.reporting)
    known = {**(definitions or {}), **texts["metrics"], **texts["definitions"]}
    words = SentenceWriter(texts, profile, known)
    sections = tuple(
        Section(name, texts["sections"].get(name, name), tuple(words.sentences(name, groups[name])))
        for name in NARRATIVE_STATEMENTS
        if name in groups
    )
    ordered = sorted(
        (name for name in groups if name not in NARRATIVE_STATEMENTS), key=_after_curves
    )
    sheets = tuple(_sheet(name, groups[name], texts, profile) for name in ordered)
    if len(sheets) == 1 and sheets[0].is_form and not sections:
        sheets = (replace(sheets[0], title=""),)  # the headline says it
    return Page(
        document, _headline(facts, texts, company), _opening(facts, texts, profile), sections,
        sheets, tuple(words.footnotes), language, texts, tuple(words.facts),
        {fact: addresses.of(fact) for fact in facts},
    )  # fmt: skip


def _by_statement(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Facts by statement; the columns of a matrix are one."""
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.statement.partition(":")[0], []).append(fact)
    return found


def _after_curves(name: str) -> int:
    return CURVES.index(name) if name in CURVES else len(CURVES)


def _sheet(
    name: str, facts: Sequence[Fact], texts: Mapping[str, Any], profile: Profile
) -> Sheet:  # fmt: skip
    labels = LineLabels(texts["lines"])
    cells: dict[tuple[str, str], dict[COLUMN, Fact]] = {}
    for fact in facts:
        # The plain name of a matrix column or table; counts stand under the reporting currency.
        currency = profile.reporting if fact.currency == NO_CURRENCY else fact.currency
        column = fact.statement.partition(":")[2], fact.period.name, currency
        cells.setdefault((fact.line, fact.parent), {})[column] = fact
    columns = tuple(dict.fromkeys(column for row in cells.values() for column in row))
    above = dict(cells.keys())
    rows = tuple(
        Row(labels.of(line),
            _form_heading(line, texts) if name == FORM else labels.of(parent),
            any(fact.is_total for fact in own.values()), _depth(parent, above), own)
        for (line, parent), own in ((key, cells[key]) for key in _footed(list(cells)))
    )  # fmt: skip
    periods = {fact.period.name: fact.period for fact in facts}
    headings = tuple(_heading(name, column, periods[column[1]], texts, facts) for column in columns)
    title = texts["statements"].get(name, name)
    curves = _curves(facts) if name in CURVES else {}
    return Sheet(name, title, columns, headings, rows, curves)


def _curves(facts: Sequence[Fact]) -> dict[str, list[tuple[float, float]]]:
    """A curve for each column of a table whose lines end in a month on book."""
    found: dict[str, list[tuple[float, float]]] = {}
    for fact in facts:
        if fact.is_number and (month := _NUMBER.search(fact.line)):
            curve = found.setdefault(fact.statement.partition(":")[2], [])
            curve.append((float(month[0]), float(fact.value) / 100))
    return found


def _footed(keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Lines in order, every total right after the lines it is the sum of.

    >>> _footed([("A", "T"), ("D", "U"), ("T", ""), ("U", "")])
    [('A', 'T'), ('T', ''), ('D', 'U'), ('U', '')]
    """
    above, under = dict(keys), {parent: [k for k in keys if k[1] == parent] for _, parent in keys}
    done: dict[tuple[str, str], None] = {}

    def put(key: tuple[str, str], path: tuple[str, ...]) -> None:
        for child in under.get(key[0], ()) if key[0] not in path else ():
            put(child, (*path, key[0]))
        done.setdefault(key)

    for line, parent in keys:
        top, seen = (line, parent), {line}
        while top[1] in above and top[1] not in seen:
            seen.add(top[1])
            top = top[1], above[top[1]]
        put(top, ())
        put((line, parent), ())
    return list(done)


def _form_heading(line: str, texts: Mapping[str, Any]) -> str:
    """The part of the form a field is in; an exchange rate names its currencies."""
    parts = texts["form_parts"]
    return next((str(part["title"]) for part in parts for start in part["lines"]
                 if line == start or line.startswith(f"{start} ")), "")  # fmt: skip


def _heading(
    name: str, column: COLUMN, period: Period, texts: Mapping[str, Any], facts: Sequence[Fact]
) -> tuple[str, ...]:
    """The heading of a column: the matrix column, the period, the currency if there is one."""
    matrix, _, currency = column
    first = texts["columns"].get(matrix, matrix)
    if name in CURVES or name == FORM:
        return (first,) if first else ()
    has_money = any(fact.currency != NO_CURRENCY for fact in facts)
    parts = (first, period_in_words(period, texts, "short"), currency if has_money else "")
    return tuple(part for part in parts if part)


def _depth(parent: str, above: Mapping[str, str]) -> int:
    """The number of totals above a line, as far as a page shows it."""
    depth = 0
    while parent and parent in above and depth < 2:
        parent, depth = above[parent], depth + 1
    return depth


def _headline(facts: Sequence[Fact], texts: Mapping[str, Any], company: str) -> str:
    if all(fact.statement == FORM for fact in facts):
        return str(texts["statements"][FORM])
    durations = [fact.period for fact in facts
                 if not fact.period.instant and fact.statement != "outlook"]  # fmt: skip
    latest = min(
        (each for each in durations if each.end == max(other.end for other in durations)),
        key=lambda each: each.days, default=facts[0].period,
    )  # fmt: skip
    return fill_template(
        texts["headline"], "texts.headline", company=company, period=period_in_words(latest, texts)
    )


def _opening(
    facts: Sequence[Fact], texts: Mapping[str, Any], profile: Profile
) -> tuple[str, ...]:  # fmt: skip
    tables = profile.statements["tables"]
    units = [fact.unit for fact in facts if fact.is_money and fact.statement in tables]
    if not units:
        return ()
    unit = texts["in_units"].get(units[0], units[0])
    words = {"unit": unit, "currency": profile.reporting}
    return (fill_template(texts["opening"], "texts.opening", **words),)

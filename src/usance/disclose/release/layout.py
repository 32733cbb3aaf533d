"""The layout of a release: facts as sentences, tables, curves and notes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from usance.disclose.facts import NO_CURRENCY, Fact
from usance.disclose.periods import Period
from usance.disclose.profile import Profile
from usance.disclose.release.change_analysis import CHANGE_ANALYSIS
from usance.disclose.release.figure import Addresses
from usance.disclose.release.headline import (
    FORM,
    SPANNED,
    amounts_in,
    headline,
    months_of,
    opening_words,
    reported_period,
)  # fmt: skip
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
SIDES = ("TOTAL ASSETS", "TOTAL LIABILITIES", "TOTAL EQUITY")
CURVES = ("vintage_30", "vintage_180")
"""Tables with a chart; they come before the others."""
NOTHING = "\u2013"  # zero, as statements print it
NOTES = "ifrs_reconciliation_notes"  # told with the notes to the reconciliation


@dataclass(frozen=True)
class Row:
    """One line of a table; `depth` says how far it is set in."""

    line: str
    parent: str
    is_total: bool
    depth: int
    cells: Mapping[COLUMN, Fact]
    group: str = ""
    """The side of the balance sheet it stands on."""


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
    note: str = ""
    """The unit of its amounts, below its title."""

    @property
    def is_form(self) -> bool:
        """True if its cells are words, not figures under each other."""
        return self.name == FORM

    def headed_rows(self) -> Iterator[tuple[str, Row]]:
        """Rows, each with the heading above it, if any: its side, a parent that is no line."""
        above, group, lines = "", "", {row.line for row in self.rows}
        for row in self.rows:
            is_new = row.parent not in lines and row.parent != above
            heading = row.parent if is_new else ""
            if row.group and row.group != group:
                heading = group = row.group
            yield heading, row
            above = row.parent


@dataclass(frozen=True)
class Section:
    """Sentences under a title, as a list or as paragraphs."""

    name: str
    title: str
    sentences: tuple[Sentence, ...]
    is_prose: bool = False


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
    after: tuple[Section, ...] = ()
    """Sections below the tables."""

    def formatted(self, fact: Fact) -> str:
        """A figure as a table shows it: separators, and brackets below zero."""
        if fact.statement == FORM:
            return self._form_field(fact)
        if not fact.is_number or fact.unit in ("rmb_per_usd", "rate"):
            return fact.text
        if fact.value == 0 and fact.is_money:
            return NOTHING
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
    editorial: Editorial | None = None,
) -> Page:  # fmt: skip
    """The page of one document's facts; `definitions` are those of its metrics, by line."""
    document, groups = facts[0].document, _by_statement(facts)
    addresses = Addresses(document, facts, profile.reporting)
    known = {**(definitions or {}), **texts["metrics"], **texts["definitions"]}
    words = SentenceWriter(texts, profile, known)
    words.changes = groups.pop(CHANGE_ANALYSIS, ())
    sections = [
        section
        for name in NARRATIVE_STATEMENTS
        if name in groups
        for section in _sections(name, groups[name], words)
    ]
    matrices = [name for name in groups if name.startswith(profile.statements["matrix"]["prefix"])]
    ordered = sorted(
        (name for name in groups if name not in (*NARRATIVE_STATEMENTS, NOTES)), key=_after_curves
    )
    sheets = tuple(
        sheet for name in ordered for sheet in _sheets(name, groups[name], texts, profile, matrices)
    )
    if len(sheets) == 1 and sheets[0].is_form and not sections:
        sheets = (replace(sheets[0], title=""),)  # the headline says it
    period, opening = reported_period(facts, texts), opening_words(facts, texts, profile)
    is_results = "release_results" in groups
    if editorial is not None and is_results:
        opening = (*editorial.opening(texts, company, period), *opening)
        sections = editorial.arranged(sections, texts, company, words, facts)
    after = _notes_section(groups.get(NOTES, []), texts, words) if matrices else ()
    return Page(
        document, headline(facts, texts, company, period), opening, tuple(sections), sheets,
        tuple(words.footnotes), language, texts, tuple(words.facts),
        {fact: addresses.of(fact) for fact in facts}, after,
    )  # fmt: skip


class Editorial(Protocol):
    """Texts around the figures: the dateline, quotes, what is said of every release."""

    def opening(self, texts: Mapping[str, Any], company: str, period: str) -> tuple[str, ...]:
        """The paragraphs under the headline."""

    def arranged(
        self, sections: Sequence[Section], texts: Mapping[str, Any], company: str,
        words: SentenceWriter, facts: Sequence[Fact],
    ) -> list[Section]:  # fmt: skip
        """Sections of figures with those of prose among and after them."""


def _sections(name: str, facts: Sequence[Fact], words: SentenceWriter) -> Iterator[Section]:
    """The section of a statement; of results one for the quarter and one for the year so far."""
    title = words.texts["sections"].get(name, name)
    lengths = sorted({months_of(fact.period) for fact in facts if not fact.period.instant})
    if name not in SPANNED or len(lengths) < 2:
        yield Section(name, title, tuple(words.sentences(name, facts)))
        return
    for place, length in enumerate(lengths):
        own = [
            fact
            for fact in facts
            if (fact.period.instant and not place)
            or (not fact.period.instant and months_of(fact.period) == length)
        ]
        latest = max((fact.period for fact in own if not fact.period.instant),
                     key=lambda each: each.end)  # fmt: skip
        named = {"title": title, "period": period_in_words(latest, words.texts, "short")}
        full = fill_template(words.texts["spanned"], "texts.spanned", **named)
        ident = name if not place else f"{name}-{latest.name}"
        yield Section(ident, full, tuple(words.sentences(name, own)))


def _notes_section(
    facts: Sequence[Fact], texts: Mapping[str, Any], words: SentenceWriter
) -> tuple[Section, ...]:
    """The notes to the reconciliation, numbered as its columns are."""
    notes = [Sentence(text) for text in texts["ifrs_notes"].values()]
    told = words.sentences(NOTES, facts) if facts else ()
    title = texts["statements"][NOTES]
    return (Section(NOTES, title, (*notes, *told), is_prose=True),)


def _by_statement(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Facts by statement; the columns of a matrix are one."""
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.statement.partition(":")[0], []).append(fact)
    return found


def _after_curves(name: str) -> int:
    return CURVES.index(name) if name in CURVES else len(CURVES)


def _sheets(
    name: str, facts: Sequence[Fact], texts: Mapping[str, Any], profile: Profile,
    matrices: Collection[str],
) -> Iterator[Sheet]:  # fmt: skip
    """The table of a statement; of a matrix one for each period, frameworks side by side."""
    if name not in matrices:
        yield _sheet(name, facts, texts, profile)
        return
    for period in dict.fromkeys(fact.period for fact in facts):
        own = [fact for fact in facts if fact.period == period]
        made = _sheet(name, own, texts, profile)
        named = {"title": made.title, "period": period_in_words(period, texts, "short")}
        title = fill_template(texts["spanned"], "texts.spanned", **named)
        # The title says the period, the note the currency.
        headings = tuple(heading[:1] for heading in made.headings)
        yield replace(made, name=f"{name}-{period.name}", title=title, headings=headings)


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
            any(fact.is_total for fact in own.values()), _depth(parent, above), own,
            texts["sides"].get(_top(line, above), ""))
        for (line, parent), own in ((key, cells[key]) for key in _in_order(name, list(cells)))
    )  # fmt: skip
    periods = {fact.period.name: fact.period for fact in facts}
    headings = tuple(_heading(name, column, periods[column[1]], texts, facts) for column in columns)
    title = texts["statements"].get(name, name)
    curves = _curves(facts) if name in CURVES else {}
    return Sheet(name, title, columns, headings, rows, curves, amounts_in(facts, texts))


def _top(line: str, above: Mapping[str, str]) -> str:
    """The side of a balance sheet that a line stands on, if any."""
    for _ in above:
        if line in SIDES:
            return line
        line = above.get(line, "")
    return ""


def _curves(facts: Sequence[Fact]) -> dict[str, list[tuple[float, float]]]:
    """A curve for each column of a table whose lines end in a month on book."""
    found: dict[str, list[tuple[float, float]]] = {}
    for fact in facts:
        if fact.is_number and (month := _NUMBER.search(fact.line)):
            curve = found.setdefault(fact.statement.partition(":")[2], [])
            curve.append((float(month[0]), float(fact.value) / 100))
    return found


def _in_order(name: str, keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Lines as a table prints them: those of curves by their month."""
    if name not in CURVES:
        return _footed(keys)
    return sorted(keys, key=lambda key: [int(each) for each in _NUMBER.findall(key[0])])


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

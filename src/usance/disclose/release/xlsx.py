"""The page as a workbook whose derived figures are formulas.

Every figure that the tie-out can make from others is written as the formula that makes it, with
the printed value beside it as the last result; a formula that would not give the printed value (a
declared residue, a slip of somebody else's table) is left as a number. Rounding is written as
ROUND(x, 0) of whole numbers over a power of ten, so that a half is a half in floating point too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from io import BytesIO
from typing import Any

from usance.disclose.facts import UNITS, Fact
from usance.disclose.profile import Profile
from usance.disclose.release.layout import Page, Sheet
from usance.disclose.tie_out.rebuilder import derivations_of
from usance.disclose.ties import Term, Tie, round_to

_LONGEST_NAME = 31
_TABLE = "Facts"


def xlsx_of(page: Page, facts: Sequence[Fact], profile: Profile) -> bytes:
    """The whole file."""
    import xlsxwriter
    from xlsxwriter.utility import xl_rowcol_to_cell

    out = BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    # No clock: a workbook of the same facts is the same bytes.
    last = max(fact.period.end for fact in facts)
    created = datetime(last.year, last.month, last.day, tzinfo=UTC)
    book.set_properties({"title": page.headline, "created": created})
    names = _names(page.sheets)
    places: dict[Fact, tuple[str, str]] = {}
    for sheet in page.sheets:
        top = _top(sheet)
        for down, row in enumerate(sheet.rows):
            for across, column in enumerate(sheet.columns):
                if fact := row.cells.get(column):
                    cell = xl_rowcol_to_cell(top + down, across + 1)
                    places[fact] = names[sheet.name], cell
    rest = [fact for fact in facts if fact not in places]
    places |= {fact: (_TABLE, f"H{2 + place}") for place, fact in enumerate(rest)}
    formulas = formulas_of(facts, profile, places)
    writer = _Writer(book, page, places, formulas)
    for sheet in page.sheets:
        writer.sheet(sheet, names[sheet.name])
    writer.table(rest, facts)
    book.close()
    return out.getvalue()


def formulas_of(
    facts: Sequence[Fact], profile: Profile, places: Mapping[Fact, tuple[str, str]]
) -> dict[Fact, str]:
    """The formulas that give the printed values, by fact; none refers to itself."""
    derivations = derivations_of(facts, profile)
    derivations = {fact: tie for fact, tie in derivations.items() if fact in places and _holds(tie)}
    found = {}
    for fact in _in_order(derivations):
        if fact in derivations:
            found[fact] = _formula(derivations[fact], places)
    return found


def _holds(tie: Tie) -> bool:
    """True if a formula gives the printed value; a sheet rounds halves away from zero."""
    value = tie.value()
    if value is None or tie.offset.denominator != 1:
        return False
    return (round_to(value, tie.step) if tie.step else value) == tie.target.value


def _in_order(derivations: dict[Fact, Tie]) -> list[Fact]:
    """Facts after those they are derived from; a circular derivation is dropped."""
    done: list[Fact] = []
    state: dict[Fact, int] = {}

    def visit(fact: Fact) -> None:
        state[fact] = 1
        for term in list(derivations[fact].facts)[1:]:
            if term in derivations and state.get(term, 0) == 0:
                visit(term)
            if state.get(term) == 1:
                del derivations[fact]
                break
        state[fact] = 2
        done.append(fact)

    for fact in list(derivations):
        if state.get(fact, 0) == 0 and fact in derivations:
            visit(fact)
    return done


def _formula(tie: Tie, places: Mapping[Fact, tuple[str, str]]) -> str:
    """A tie in the printed units of its cells: sums, a quotient, one rounding."""
    own = places[tie.target][0]
    steps = 1 if tie.step is None else Fraction(UNITS[tie.target.unit]) / tie.step
    top, scale = _sum(tie.top, places, own)
    body, bottom, factor = top, "", scale * tie.scale * steps / UNITS[tie.target.unit]
    if tie.bottom:
        bottom, under = _sum(tie.bottom, places, own)
        factor /= under
    # Whole numbers are multiplied first and divided once: 65 x 100 / 1,000 is 6.5 to the last bit.
    if factor.numerator != 1:
        body = f"{body}*{factor.numerator}"
    below = [f"({bottom})"] if bottom else []
    below += [str(factor.denominator)] if factor.denominator != 1 else []
    if below:
        body = f"{body}/({'*'.join(below)})" if len(below) > 1 else f"{body}/{below[0]}"
    if tie.offset:
        shift = tie.offset * steps / UNITS[tie.target.unit]
        body = f"{body}{'+' if shift > 0 else '-'}{abs(shift)}"
    if tie.step is None:
        return f"={body}"
    return f"=ROUND({body},0)" if steps == 1 else f"=ROUND({body},0)/{steps}"


def _sum(
    terms: Sequence[Term], places: Mapping[Fact, tuple[str, str]], own: str
) -> tuple[str, Fraction]:
    """A sum of cells and the base units that one of it is worth."""
    worth = [UNITS[fact.unit] for fact, _ in terms]
    least = min(worth, default=1)
    parts = []
    for (fact, times), unit in zip(terms, worth, strict=True):
        sheet, cell = places[fact]
        reference = cell if sheet == own else f"'{sheet}'!{cell}"
        count = times * unit // least
        sign = "-" if count < 0 else "+"
        parts.append(f"{sign}{reference}" if abs(count) == 1 else f"{sign}{abs(count)}*{reference}")
    text = "".join(parts).removeprefix("+")
    return (f"({text})" if len(parts) > 1 else text), Fraction(least)


def _names(sheets: Sequence[Sheet]) -> dict[str, str]:
    """Names a workbook takes, each once."""
    found: dict[str, str] = {}
    for place, sheet in enumerate(sheets, start=1):
        plain = sheet.name.replace("ifrs_reconciliation_", "ifrs ").replace("_", " ")
        name = plain[:_LONGEST_NAME]
        found[sheet.name] = name if name not in found.values() else f"{name[:27]} {place}"
    return found


def _top(sheet: Sheet) -> int:
    return 1 + max(map(len, sheet.headings), default=0)


class _Writer:
    """Sheets and cells with their formats."""

    def __init__(
        self, book: Any, page: Page, places: Mapping[Fact, tuple[str, str]],
        formulas: Mapping[Fact, str],
    ) -> None:  # fmt: skip
        self.book, self.page, self.places, self.formulas = book, page, places, formulas
        self._formats: dict[tuple[object, ...], Any] = {}

    def _format(self, **wanted: object) -> Any:
        key = tuple(sorted(wanted.items()))
        if key not in self._formats:
            self._formats[key] = self.book.add_format({"font_size": 10, **wanted})
        return self._formats[key]

    def sheet(self, sheet: Sheet, name: str) -> None:
        """One table."""
        made = self.book.add_worksheet(name)
        made.set_column(0, 0, 58)
        made.set_column(1, len(sheet.columns), 15)
        made.write_string(0, 0, sheet.title, self._format(bold=True, font_color="#0b5c6b"))
        for across, heading in enumerate(sheet.headings, start=1):
            for down, part in enumerate(heading, start=1):
                made.write_string(down, across, part, self._format(bold=True, align="right"))
        made.freeze_panes(_top(sheet), 1)
        for down, row in enumerate(sheet.rows, start=_top(sheet)):
            look = {"indent": row.depth, "bold": row.is_total}
            made.write_string(down, 0, row.line, self._format(**look))
            for across, column in enumerate(sheet.columns, start=1):
                if fact := row.cells.get(column):
                    self._figure(made, down, across, fact, bold=row.is_total)

    def _figure(self, made: Any, down: int, across: int, fact: Fact, *, bold: bool) -> None:
        if not fact.is_number:
            made.write_string(down, across, fact.text, self._format(align="right"))
            return
        digits = len(fact.text.partition(".")[2])
        plain = "#,##0" + ("." + "0" * digits if digits else "")
        look = self._format(num_format=f"{plain};({plain})", bold=bold)
        number = float(fact.text)
        if fact in self.formulas:
            made.write_formula(down, across, self.formulas[fact], look, number)
        else:
            made.write_number(down, across, number, look)

    def table(self, rest: Sequence[Fact], facts: Sequence[Fact]) -> None:
        """Every fact with its address: first those of the text, then where the others stand."""
        made = self.book.add_worksheet(_TABLE)
        heads = ("statement", "line", "parent", "period", "currency", "unit", "address", "value")
        for across, head in enumerate(heads):
            made.write_string(0, across, head, self._format(bold=True))
        made.set_column(1, 2, 40)
        known = set(rest)
        others = [fact for fact in facts if fact not in known]
        for down, fact in enumerate((*rest, *others), start=1):
            cells = (fact.statement, fact.line, fact.parent, fact.period.written, fact.currency,
                     fact.unit, self.page.address[fact])  # fmt: skip
            for across, text in enumerate(cells):
                made.write_string(down, across, text)
            if fact in known:
                self._figure(made, down, 7, fact, bold=False)
            else:
                sheet, cell = self.places[fact]
                made.write_formula(down, 7, f"='{sheet}'!{cell}", None, _cached(fact))


def _cached(fact: Fact) -> float | str:
    return float(fact.text) if fact.is_number else fact.text

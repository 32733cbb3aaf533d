"""A release as files: the fact table, a workbook, and the pages that its callers know to write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

from usance.base.atomic_files import replace
from usance.base.book import Book
from usance.base.errors import FULL, InputError, raise_all, unknown
from usance.books.closed_books import ClosedBooks
from usance.books.periods import ClosePeriod
from usance.capital.dividends import (
    Dividend,
    DividendForm,
    Entitlement,
    Market,
    or_none,
    printed_day,
)
from usance.disclose.errors import BrokenRelease, FactError, FormError
from usance.disclose.fact_table_file import facts_of_text, read_facts
from usance.disclose.facts import NO_CURRENCY, Fact, documents
from usance.disclose.profile import Profile
from usance.disclose.release.announcement import Announcement
from usance.disclose.release.corporate_actions import LODGE, CorporateActions, dividend_period
from usance.disclose.release.editorial import ReleaseEditorial
from usance.disclose.release.figure import Figure, as_csv, printed_currency
from usance.disclose.release.filer import Filer
from usance.disclose.release.layout import Page, page_of
from usance.disclose.release.release import Release
from usance.disclose.release.wording import load_wording
from usance.disclose.release.xlsx import xlsx_of
from usance.disclose.tie_out.checker import check_facts, expected_of
from usance.disclose.tie_out.completion import completed
from usance.disclose.tie_out.root_causes import RootCause
from usance.disclose.ties import TieKind

FORMATS = ("csv", "html", "xlsx", "pdf")
OWN_FORMATS = ("csv", "xlsx")
"""Formats that need no writer of pages."""
CASH = "Cash and cash equivalents"
Place = tuple[str, ...]
"""Rule and cell of a break."""
Writer = Callable[[Page], bytes]
Writers = Mapping[str, Writer]
"""Writers of pages by format: `usance.pages.reports.release` has those of HTML and PDF."""


def read_formats(given: str) -> list[str]:
    """The formats of a list such as `csv,html`."""
    wanted = [each.strip() for each in given.split(",") if each.strip()]
    for each in wanted:
        if each not in FORMATS:
            raise unknown("format", each, FORMATS, where="--formats")
    return wanted


def release_of(
    book: Book, period: ClosePeriod, profile: Profile, filer: Filer,
    announcement: Announcement | None = None,
) -> Release:  # fmt: skip
    """The release of a closed period."""
    announced = announcement or Announcement()
    closed = ClosedBooks.covering(book, period).named(filer.name)
    return Release(closed, period, profile, filer, announced)


def publish(
    release: Release, out: Path, formats: Sequence[str] = OWN_FORMATS, *,
    writers: Writers | None = None,
) -> dict[str, Path]:  # fmt: skip
    """Write a release made from books, if nothing in it is broken."""
    _refuse_overdrawn(release.document, release.figures)
    return publish_figures(
        release.document, release.figures, release.profile, release.filer, release.company, out,
        formats, release.business_highlights.definitions(), writers=writers,
        editorial=ReleaseEditorial(release.filer, release.announcement, release.announcement.on),
    )  # fmt: skip


def _refuse_overdrawn(document: str, figures: Sequence[Figure]) -> None:
    """Raise what to do about cash below zero, as in books that know of loans and of no money."""
    for each in figures:
        if each.statement == "balance_sheet" and each.line == CASH and each.text.startswith("-"):
            fix = (
                "Take in what money there was, such as an opening_balance: usance books import "
                "FACTS.yaml --book DIR; then reopen the periods, or make the book anew with it"
            )
            what = f"{each.line} is {each.text} on {each.period}: no fact says where it came from"
            raise BrokenRelease(what, where=document, fix=fix)


def publish_table(
    table: Path, profile: Profile, filer: Filer, out: Path,
    formats: Sequence[str] = OWN_FORMATS, *, writers: Writers | None = None,
) -> dict[str, Path]:  # fmt: skip
    """Write the release of a table someone brings; it holds one document.

    What is broken between the figures it brings is theirs: it is printed as it is given.
    """
    facts = read_facts([table], profile)
    named = documents(facts)
    if len(named) > 1:
        fix = "Give a table of one document"
        what = f"holds {len(named)} documents: {', '.join(named)}"
        raise FactError(what, where=str(table), fix=fix)
    (document,) = named
    company = filer.name or document
    figures = [
        Figure(fact.statement, fact.line, fact.parent, fact.period.written, fact.currency,
               fact.unit, fact.text, fact.is_total)
        for fact in completed(facts, profile, filer.name or "the Company")
    ]  # fmt: skip
    known = _broken(facts, profile)
    return publish_figures(document, figures, profile, filer, company, out, formats,
                           known_breaks=known, writers=writers)  # fmt: skip


def _broken(facts: Sequence[Fact], profile: Profile) -> dict[Place, RootCause]:
    """Breaks that the project's own checker finds, by place."""
    report = check_facts(facts, profile)
    return {
        (cause.tie.rule, cell.statement, cell.line, cell.parent, cell.period.name, cell.currency):
        cause
        for cause in report.root_causes
        if cause.kind is TieKind.BROKEN
        for cell in [cause.cell]
    }  # fmt: skip


def _refuse_broken(facts: Sequence[Fact], profile: Profile, known: Collection[Place]) -> None:
    """Raise everything that is broken, but for what is known."""
    fix = (
        "Nothing was written. Give a --profile that states this document's rules, or mend the "
        "books it is made of"
    )
    found = [
        BrokenRelease(
            f"{cause.cell.line}, {cause.cell.period.written} {cause.cell.currency} is "
            f"{cause.cell.text} and should be {expected_of(cause)} ({cause.tie.rule})",
            where=cause.cell.statement, fix=fix,
        )
        for place, cause in _broken(facts, profile).items()
        if place not in known
    ]  # fmt: skip
    raise_all(found, where=facts[0].document)


def publish_dividend_form(
    actions: CorporateActions, name: str, profile: Profile, filer: Filer, out: Path,
    formats: Sequence[str] = OWN_FORMATS, *, writers: Writers | None = None,
) -> dict[str, Path]:  # fmt: skip
    """Write the exchange's form of a dividend."""
    figures = dividend_form_figures(actions, name)
    issuer = next(each.text for each in figures if each.line == "Issuer name")
    return publish_figures(f"{name}-form", figures, profile, filer, issuer, out, formats,
                           writers=writers)  # fmt: skip


def publish_figures(
    document: str, figures: Sequence[Figure], profile: Profile, filer: Filer, company: str,
    out: Path, formats: Sequence[str] = OWN_FORMATS, definitions: Mapping[str, str] | None = None,
    *, known_breaks: Collection[Place] = (), writers: Writers | None = None,
    editorial: ReleaseEditorial | None = None,
) -> dict[str, Path]:  # fmt: skip
    """Write a document; its table is read back, and checked, as anyone else would do it."""
    table = as_csv(document, figures, profile.reporting)
    facts = facts_of_text(table, profile, f"{document}.csv")
    _refuse_broken(facts, profile, known_breaks)
    files = {"csv": table.encode()}
    texts = load_wording(filer.language, filer.texts)
    page = page_of(facts, profile, texts, company, filer.language, definitions, editorial)
    known = {"xlsx": lambda each: xlsx_of(each, facts, profile), **(writers or {})}
    for each in formats:
        if each not in files:
            if each not in known:
                raise unknown("format", each, [*files, *known], where="formats")
            files[each] = known[each](page)
    beside = editorial.documents(page, texts, company) if editorial else ()
    for ending, other in beside:
        for each in formats:
            if each in (writers or {}):
                files[f"{ending}.{each}"] = known[each](other)
    # All of it is made before any of it is written: what fails leaves nothing behind.
    return {
        kind: _write(out, f"{document}{'-' if '.' in kind else '.'}{kind}", content)
        for kind, content in files.items()
    }


def _write(folder: Path, name: str, content: bytes) -> Path:
    """Write a file in one step: what is there stays whole until the new one is."""
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace(path, content)
    except OSError as error:
        if error.errno in FULL:
            error.filename = str(path)
            raise
        fix = "Choose another folder with --out"
        raise InputError(f"cannot be written: {error.strerror}", where=str(path), fix=fix) from None
    return path


FORM = "dividend_form"
Field = tuple[str, str, str, str]
"""Line, unit, text and currency."""


def dividend_form_figures(actions: CorporateActions, name: str) -> list[Figure]:
    """Every field of the form of a dividend, in the form's order."""
    named = {each.name: each for each in actions.dividends}
    if name not in named:
        raise unknown("dividend", name, named, where="dividend")
    dividend = named[name]
    register = dividend.entitlement(Market.ORDINARY)
    if dividend.form is None or register is None:
        lacks = "form" if dividend.form is None else "ordinary"
        fix = f"Give it under '{lacks}' of the dividend; the reference of capital lists its keys"
        where = dividend.where or f"dividend {name!r}"
        raise FormError(f"the dividend says nothing of its {lacks}", where=where, fix=fix)
    period = dividend_period(dividend) or dividend.form.period_end.isoformat()
    return [
        Figure(FORM, line, "", period, currency, unit, text)
        for line, unit, text, currency in (
            *_issuer(dividend.form), *_terms(dividend, dividend.form),
            *_register(dividend, register), *_other_fields(dividend.form),
        )
    ]  # fmt: skip


def _text(line: str, text: str | None) -> Field:
    return line, "text", or_none(text), NO_CURRENCY


def _day(line: str, day: date | None) -> Field:
    """A day as the form prints it; its words for nothing are no date."""
    if day is None:
        return _text(line, None)
    return line, "date", printed_day(day), NO_CURRENCY


def _issuer(form: DividendForm) -> Iterator[Field]:
    yield _text("Issuer name", form.issuer)
    yield _text("Stock code", form.stock_code)
    yield _text("Multi-counter stock code and currency", form.counters)
    yield _text("Other related stock codes and names", form.related_codes)
    yield _text("Title of announcement", form.title)
    yield _day("Announcement date", form.announced_on)
    yield _text("Status", form.status.value)


def _terms(dividend: Dividend, form: DividendForm) -> Iterator[Field]:
    yield _text("Dividend type", form.dividend_type.value)
    yield _text("Dividend nature", form.nature.value)
    yield _day("Financial year end", form.year_end)
    yield _day("Reporting period end", form.period_end)
    yield (
        "Dividend declared",
        "per_share",
        f"{dividend.per_share:f}",
        printed_currency(dividend.currency),
    )
    yield _day("Date of shareholders' approval", form.approved_on)


def _register(dividend: Dividend, terms: Entitlement) -> Iterator[Field]:
    price = dividend.per_share * terms.exchange_rate
    paid = price if terms.exchange_rate != 1 else dividend.per_share
    unit = printed_currency(terms.currency)
    yield "Default currency and amount", "per_share", _plain(paid), unit
    line = f"Exchange rate {unit} per {printed_currency(dividend.currency)}"
    yield line, "rate", _plain(terms.exchange_rate), unit
    yield _day("Ex-dividend date", terms.ex_on)
    if terms.lodge_by:
        shown = f"{printed_day(terms.lodge_by.date())} {terms.lodge_by:%H:%M}"
        yield LODGE, "date", shown, NO_CURRENCY
    else:
        yield _text(LODGE, None)
    closed = " to ".join(map(printed_day, terms.closed)) if terms.closed else None
    yield _text("Book close period", closed)
    yield _day("Record date", terms.record_on)
    yield _day("Payment date", terms.pays_on)


def _other_fields(form: DividendForm) -> Iterator[Field]:
    yield _text("Share registrar", form.registrar)
    yield _text("Address of the share registrar", form.registrar_address)
    yield _text("Withholding tax", form.withholding)
    yield _text("Listed warrants and convertible securities", form.warrants)
    yield _text("Other information", form.other)
    yield _text("Directors of the issuer", form.directors)


def _plain(number: Decimal) -> str:
    return f"{number:f}"

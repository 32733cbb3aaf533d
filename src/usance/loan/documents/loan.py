"""A loan document or the options of a command, read into terms and facts.

>>> given = {"principal": "10000", "rate": "18%", "instalments": "0", "disbursed_on": "2024-01-15"}
>>> loan_from_options(given)
Traceback (most recent call last):
usance.loan.errors.InstalmentsError: --instalments: 0 is too small. Give 1 to 1200.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from pathlib import Path

from usance.base.codes import FactKind
from usance.base.document_places import DocumentPath, Places, document_places
from usance.base.documents import read_document, read_text
from usance.base.errors import DocumentError, Problems, UsanceError, raise_all
from usance.base.fields import Fields, day, moment
from usance.base.money import Money
from usance.base.packs import CountryPack
from usance.loan import facts as facts_rules
from usance.loan.documents.facts import References, read_fact, read_rows
from usance.loan.documents.terms import document_key, read_terms, with_keys
from usance.loan.errors import FeeError
from usance.loan.facts import Fact
from usance.loan.terms import Terms

_REF = re.compile(r"ref (\d+)")


@dataclass(frozen=True, slots=True)
class LoanDocument:
    """One loan of a document: every version of its terms, its facts, the day of the replay."""

    name: str
    places: Places
    terms: tuple[Terms, ...]
    facts: tuple[Fact, ...] = ()
    as_of: date | None = None
    known_at: datetime | None = None
    refs: References = field(default_factory=References)

    @property
    def currency(self) -> str:
        """The currency of the loan."""
        return self.terms[0].currency

    def changed_on(self, as_of: date, known_at: datetime | None = None) -> date | None:
        """The day the terms in force replaced others, as seen then; None if they are the first."""
        seen = facts_rules.visible(
            self.facts, as_of=as_of, known_at=known_at or facts_rules.END_OF_TIME
        )
        changes = [fact.effective_on for fact in seen if fact.kind is FactKind.TERMS_CHANGED]
        return max(changes, default=None)

    def explained(self, error: UsanceError) -> UsanceError:
        """An error found later, said of this document: its file and line, its own references."""
        if isinstance(error, Problems):
            return Problems([self.explained(each) for each in error.errors], where=self.name)
        if isinstance(error, FeeError) and error.where == "guarantee_fee_minor":
            given = Money(self.terms[0].guarantee_fee_minor, self.currency)
            what = f"the guarantee fee of {given} is more than all fees together"
            fix = "Lower it, or raise the rate or a fee"
            return FeeError(what, where=self._place(error), fix=fix)
        what = self.refs.spelled(with_keys(error.what))
        return type(error)(what, where=self._place(error), fix=with_keys(error.fix))

    def _place(self, error: UsanceError) -> str:
        named = _REF.fullmatch(error.where)
        if named and int(named[1]) in self.refs.written:
            return self.refs.written[int(named[1])].place()
        if key := document_key(error.where):
            return self.places(("terms", key))
        return ", ".join(part for part in (self.name, error.where) if part)


def read_loan(
    path: Path | str, *, facts_csv: Path | str | None = None, pack: CountryPack | None = None
) -> LoanDocument:
    """A loan document; `facts_csv` brings the facts from a table instead.

    Currency and tax that it does not state are those of the pack.
    """
    name, problems = str(path), list[UsanceError]()
    places = document_places(name, partial(read_text, path))
    given = Fields(_content(path), places, problems)
    rules = pack or CountryPack.load()
    terms = _versions(given, rules)
    as_of, known_at = given.take("as_of", day), given.take("known_at", moment)
    # Facts are looked at even if the terms are wrong, so that everything is found at once.
    currency = terms[0].currency if terms and terms[0] else rules.currency
    refs, facts = References(), list[Fact | None]()
    for position, each in enumerate(given.each("facts"), start=1):
        facts.append(read_fact(each, refs, position, currency))
    given.close()
    if facts_csv is not None and facts:
        given.wrong("facts are here and in a CSV file", "Keep one of the two", "facts")
    elif facts_csv is not None:
        facts += read_rows(facts_csv, refs, currency, problems)
    problems += refs.problems()
    document = LoanDocument(name, places, tuple(filter(None, terms)), tuple(filter(None, facts)),
                            as_of, known_at, refs)  # fmt: skip
    if not problems:
        problems += map(document.explained, facts_rules.problems(list(document.facts)))
    raise_all(problems, where=name)
    return document


def loan_from_options(options: Mapping[str, str], pack: CountryPack | None = None) -> LoanDocument:
    """A loan without facts from the options of a command; a problem names its option."""
    problems: list[UsanceError] = []
    given = Fields({"terms": dict(options)}, _option, problems)
    terms = _versions(given, pack or CountryPack.load())
    raise_all(problems)
    return LoanDocument("", _option, tuple(filter(None, terms)))


def _content(path: Path | str) -> object:
    if str(path) == "-":
        fix = "Give the name of a .yaml or .json file"
        raise DocumentError("standard input is not read", where="-", fix=fix)
    if Path(path).is_dir():
        raise DocumentError("is a folder", where=str(path), fix="Name a file inside it")
    if not Path(path).suffix:
        read_text(path)
        fix = "Rename it to end in .yaml or .json"
        raise DocumentError("has no ending that says what is in it", where=str(path), fix=fix)
    content = read_document(path)
    if not isinstance(content, dict):
        fix = "Begin with 'terms:' and what was agreed"
        raise DocumentError("is no loan document", where=str(path), fix=fix)
    return content


def _versions(given: Fields, pack: CountryPack) -> list[Terms | None]:
    terms: list[Terms | None] = []
    before = len(given.problems)
    for number, each in enumerate(given.each("terms"), start=1):
        first = terms[0] if terms else None
        terms.append(read_terms(each, first=first, number=number, pack=pack))
    if not terms and len(given.problems) == before:
        given.wrong("there are no terms", "Give 'terms:' with principal, rate, instalments …")
    return terms


def _option(steps: DocumentPath) -> str:
    return "--" + str(steps[1]).replace("_", "-") if len(steps) > 1 else ""

"""The policies a platform writes for its closes: entities, losses, expected lives; all optional.

    DIR/entities.yaml         the companies of the group
    DIR/losses.yaml           curves, scenarios and overlays of credit losses
    DIR/expected_life.yaml    by segment, the share of own loans there after each instalment

They are read from a folder, or from the book as they were last used. A close keeps what it used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from usance.base.book import Book
from usance.base.book_step import Step
from usance.base.codes import Currency, parse
from usance.base.documents import read_text
from usance.base.errors import DocumentError, raise_all
from usance.base.fields import fields_of, rate_of, whole_of
from usance.base.rates import PPM
from usance.books.group.entities import Entities, parse_entities
from usance.books.losses.policy_file import LossPolicy, parse_policy

NAMES = ("entities.yaml", "losses.yaml", "expected_life.yaml")
_SIMPLE = """
currency: {currency}
entities:
  - {{number: 1, name: Platform, role: platform, owner: 2, currency: {currency}}}
  - {{number: 2, name: Holding, role: parent, currency: {currency}}}
"""
_share = rate_of(0, PPM)


@dataclass(frozen=True, slots=True)
class PolicyFiles:
    """Everything the platform lays down, with the texts it was read from."""

    entities: Entities
    losses: LossPolicy
    expected_life: Mapping[int, tuple[int, ...]]
    texts: Mapping[str, str] = field(default_factory=dict)

    def keep(self, step: Step) -> None:
        """Keep the texts in the book as used."""
        for name, text in self.texts.items():
            step.use(f"policies/{name}", text.encode())


def read_policies(book: Book, folder: Path | None, day: date) -> PolicyFiles:
    """The policies of a folder; without one, those the book used last."""
    texts = _of_folder(folder) if folder else _of_book(book)
    currency = book.manifest.currency
    entities = parse_entities(
        texts.get("entities.yaml", _SIMPLE.format(currency=currency)), where="entities.yaml"
    )
    losses = LossPolicy()
    if "losses.yaml" in texts:
        losses = parse_policy(
            texts["losses.yaml"], name="losses.yaml", currency=currency, as_of=day
        )
    life = _expected_life(texts.get("expected_life.yaml", ""))
    if entities.currency is not parse(Currency, currency):
        raise DocumentError(
            f"the group reports in {entities.currency.label} and the book in {currency}",
            where="entities.yaml",
            fix="Use one currency for both",
        )
    return PolicyFiles(entities, losses, life, texts)


def _of_folder(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        fix = f"Name a folder with any of {', '.join(NAMES)}"
        raise DocumentError("is no folder of policies", where=str(folder), fix=fix)
    return {name: read_text(folder / name) for name in NAMES if (folder / name).exists()}


def _of_book(book: Book) -> dict[str, str]:
    found = {name: book.used(f"policies/{name}") for name in NAMES}
    return {name: content.decode() for name, content in found.items() if content is not None}


def _expected_life(written: str) -> dict[int, tuple[int, ...]]:
    """Curves by segment from `curves: [{segment: 9, shares: [100%, 90%, 0%]}]`."""
    if not written:
        return {}
    name = "expected_life.yaml"
    document = fields_of(written, name)  # fmt: skip
    curves = {}
    for given in document.each("curves"):
        segment = given.need("segment", whole_of(0, 2**15 - 1))
        shares = given.need("shares", _shares)
        given.close()
        if given.has_needed:
            curves[segment] = shares
    document.close()
    raise_all(document.problems, where=name)
    return curves


def _shares(given: Any, where: str) -> tuple[int, ...]:
    if not isinstance(given, list) or not given:
        raise DocumentError("is no list of shares", where=where, fix="Write [100%, 90%, 0%]")
    shares = [PPM if each == 1 and type(each) is int else _share(each, where) for each in given]
    if shares != sorted(shares, reverse=True):
        raise DocumentError(
            "the shares rise", where=where, fix="Let every share be at most the one before"
        )
    return tuple(shares)

"""A capital document: an entity, a currency, and what happened."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from usance.base.codes import Currency
from usance.base.documents import read_document, read_text
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import Fields, document_places, one_of, whole_of
from usance.capital.documents.record import read_record
from usance.capital.records import Capital

MAX_ENTITY = 2**15 - 1
"""Entities are numbered in 16 bits."""


def read_capital(path: Path | str) -> Capital:
    """The records of a document, or everything that is wrong with it."""
    name, problems = str(path), list[UsanceError]()
    given = Fields(read_document(path), document_places(name, partial(read_text, path)), problems)
    entity = given.take("entity", whole_of(0, MAX_ENTITY)) or 0
    currency = given.take("currency", one_of(Currency)) or Currency.USD
    if given.is_mapping and "facts" not in given:
        given.wrong("facts is missing", "List what happened under 'facts:'", "facts")
    records = [read_record(each, currency.label) for each in given.each("facts")]
    given.close()
    capital = Capital(entity, tuple(filter(None, records)))
    # Wrong entries are not in the records, so checks across them would name what is not wrong.
    raise_all(problems or capital.problems(), where=name)
    return capital

"""Parts of a file of mandates: the sources of one institution, put in the place of what they were.

>>> given = "{sources: [{source: 1, institution: 1}, {source: 2, institution: 2}], currency: CNY}"
>>> print(own_sources(given, 2).rstrip())
sources:
- source: 2
  institution: 2
currency: CNY
>>> print(with_sources(given, "sources: [{source: 2, institution: 2, fee: 1%}]").rstrip())
sources:
- source: 1
  institution: 1
- source: 2
  institution: 2
  fee: 1%
currency: CNY
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import yaml

from usance.base.documents import parse_yaml


def own_sources(text: str, institution: int) -> str:
    """A file of mandates with those of one institution alone."""
    document = parse_yaml(text, where="mandates")
    kept = [each for each in document["sources"] if each.get("institution") == institution]
    return written_mandates({**document, "sources": kept})


def with_sources(text: str, own: str) -> str:
    """A file of mandates in which the sources of another stand as that one says."""
    given = parse_yaml(own, where="mandates")
    document: dict[str, Any] = parse_yaml(text, where="mandates") if text else dict(given)
    new = given["sources"]
    replaced = {each.get("source") for each in new}
    before = document.get("sources", [])
    kept = [each for each in before if each.get("source") not in replaced]
    return written_mandates({**document, "sources": [*kept, *new]})


def written_mandates(document: Mapping[str, Any]) -> str:
    """A file of mandates as text."""
    return yaml.safe_dump(_plain(document), sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    """Exact numbers as the texts they were."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Decimal) else value

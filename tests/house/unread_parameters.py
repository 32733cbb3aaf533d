"""Dated parameters that nothing reads yet, each with the room that will."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tests.house.syntax import nodes
from tests.house.tidy import Source

AWAITED = {
    "funding.guarantee_leverage": "fund",
    "funding.joint_loan_share": "fund",
    "funding.microcredit_leverage": "fund",
    "funding.partner_exposure": "fund",
    "funding.regional_bank_home_only": "match",
    "servicing.compensation_trigger": "service",
    "tax.profits_preferential": "books",
}
"""Shipped with their sources before the room that reads them is there."""


def unread(
    names: Iterable[str], sources: Iterable[Source], documents: Iterable[str] = ()
) -> Iterator[str]:
    """Parameters that no module or shipped document names, whole or as a group and a rest."""
    texts = {word for text in documents for word in re.findall(r"[\w.]+", text)}
    groups: set[str] = set()
    for source in sources:
        for node in nodes(source.tree):
            if isinstance(node, ast.JoinedStr):
                groups |= set(_groups(node))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts |= set(re.findall(r"[\w.]+", node.value))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                texts.add(node.target.id)
    for name in names:
        group, _, rest = name.partition(".")
        if name not in texts and not (group in groups and rest in texts):
            yield name


def _groups(text: ast.JoinedStr) -> Iterator[str]:
    """The group of a name that is put together: `losses` of f"losses.{name}"."""
    first = text.values[0]
    if isinstance(first, ast.Constant) and re.fullmatch(r"\w+\.", str(first.value)):
        yield str(first.value)[:-1]

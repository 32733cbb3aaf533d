"""The tables of `docs/reference/books.md`, made from what the code says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_type_hints

from usance.books.loans.amounts import AmountIndex
from usance.books.rules import Place, Rule, Side, load_rules

AMOUNTS_HEAD = "| amount | meaning |\n|---|---|"
_RULE_COLUMNS = "| rule | amount | funding models | debit | credit | basis | cash |"
RULES_HEAD = f"{_RULE_COLUMNS}\n|---|---|---|---|---|---|---|"


def amount_lines() -> Iterator[str]:
    """A row for each posting amount."""
    for name, hint in get_type_hints(AmountIndex, include_extras=True).items():
        yield f"| `{name}` | {hint.__metadata__[0]} |"


def rule_lines() -> Iterator[str]:
    """A row for each posting rule."""
    for rule in load_rules():
        yield "| " + " | ".join(_cells(rule)) + " |"


def _cells(rule: Rule) -> list[str]:
    return [
        str(rule.number),
        f"`{rule.amount}`",
        ", ".join(model.label for model in rule.models),
        _side(rule.debit),
        _side(rule.credit),
        rule.tag.label if rule.tag else "US GAAP",
        "" if rule.activity.value == "none" else rule.activity.value,
    ]


def _side(side: Side) -> str:
    return side.account + ("*" if side.place is Place.PLATFORM else "")


def section(page: str, head: str) -> list[str]:
    """The rows of a page's table below its heading."""
    rows = []
    for line in page.partition(head)[2].splitlines()[1:]:
        if not line.startswith("|"):
            break
        rows.append(line)
    return rows

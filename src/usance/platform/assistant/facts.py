"""Facts that a draft may speak of: fields of a list, each with the mark that it is cited by.

Nothing else of a borrower is ever told to a model: no name, no number of a person, a document or an
account, no address. Words of a borrower are masked before they are added.

>>> [fact.line for fact in facts_of({"stage": "in_house", "name": "Anna"}, ("stage",))]
['[1] stage: in_house']
>>> masked("Call 138 0013 8000 or anna@home.example, account NL91ABNA0417164300, owing 1,200.")
'Call [masked] or [masked], account [masked], owing 1,200.'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from usance.base.money import Money

CASE_FIELDS = (
    "stage", "days_past_due", "past_due", "loans", "opened_on", "next_action", "script",
    "action_adds", "last_contact", "contacts", "last_promise", "stops", "forbidden_now",
)  # fmt: skip
APPLICATION_FIELDS = ("product", "outcome", "line", "reasons", "booked_on", "valid_until")
_PRIVATE = (
    re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    re.compile(r"https?://\S+"),
    re.compile(r"\b[A-Z]{2}\d{2}[A-Z0-9]{8,30}\b"),
    re.compile(r"(?<![\d,.])\+?\d(?:[ -]?\d){5,}[Xx]?(?![\d,.]\d)"),
)
"""E-mail and web addresses, account numbers, and numbers as long as those of telephones, documents
and cards; amounts have separators."""


class Fact(NamedTuple):
    """A field with its value, and the mark by which a draft cites it."""

    mark: int
    name: str
    value: str

    @property
    def line(self) -> str:
        """The fact as a model reads it."""
        return f"[{self.mark}] {self.name}: {self.value}"


def facts_of(values: Mapping[str, Any], fields: Sequence[str]) -> list[Fact]:
    """Facts of the fields that may be told and that have a value, in their order."""
    known = [(name, values[name]) for name in fields if values.get(name) not in (None, "", [])]
    return [Fact(mark, name, str(value)) for mark, (name, value) in enumerate(known, 1)]


def masked(words: str) -> str:
    """The words of a borrower without anything that names them."""
    text = words
    for pattern in _PRIVATE:
        text = pattern.sub("[masked]", text)
    return text


def case_facts(case: Mapping[str, Any], currency: str) -> list[Fact]:
    """Facts of a case as `GET /v1/cases/{case}` has it."""
    action, contacts, promises = case["action"], case["contacts"], case["promises"]
    last = contacts[0] if contacts else None
    promise = promises[0] if promises else None
    values = {
        "stage": case["stage"], "days_past_due": case["days_past_due"],
        "past_due": Money(case["past_due_minor"], currency), "loans": case["loans"],
        "opened_on": case["opened_on"], "script": action["script"],
        "next_action": f"{action['channel'] or 'wait'} by {action['desk']}",
        "action_adds": f"{action['added_ppm'] / 10_000:.1f}%",
        "last_contact": last and f"{last['channel']} at {last['local_time']}, {last['reached']}",
        "contacts": len(contacts),
        "last_promise": promise and f"{Money(promise['amount_minor'], currency)} for "
        f"{promise['due_on']}, {promise['state']}",
        "stops": ", ".join(each["reason"] for each in case["stops"] if not each["ended_at"]),
        "forbidden_now": ", ".join(case["forbidden"]),
    }  # fmt: skip
    return facts_of(values, CASE_FIELDS)


def application_facts(decision: Mapping[str, Any]) -> list[Fact]:
    """Facts of a decision as `GET /v1/decisions/{decision}` has it."""
    line = decision["line"]
    values = {
        "product": decision["product"], "outcome": decision["outcome"],
        "line": line and f"{Money(line['limit_minor'], line['currency'])} at "
        f"{line['rate_ppm'] / 10_000:g}%",
        "reasons": "; ".join(each["text"].rstrip(".。") for each in decision["reasons"]),
        "booked_on": decision["booked_at"][:10], "valid_until": decision["valid_until"],
    }  # fmt: skip
    return facts_of(values, APPLICATION_FIELDS)

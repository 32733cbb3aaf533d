"""Loss of an outage: what contacts of a day would have brought by their own channel, and bring now.

A contact goes by the next channel that its debtor agreed to, which adds less to the chance of a
payment, or waits and adds nothing. The difference times what is owed is expected not to come in.

>>> both, calls = frozenset({Channel.VOICE, Channel.MESSAGE}), frozenset({Channel.VOICE})
>>> due = [
...     DueContacts(Channel.VOICE, both, cases=100, past_due_minor=5_000_000, pay_ppm=400_000),
...     DueContacts(Channel.VOICE, calls, cases=10, past_due_minor=500_000, pay_ppm=400_000),
...     DueContacts(Channel.MESSAGE, both, cases=70, past_due_minor=900_000, pay_ppm=600_000),
... ]
>>> outage_loss(due, Channel.VOICE, frozenset({Channel.VOICE}))
OutageLoss(cases=110, rerouted=100, waiting=10, past_due_minor=5500000, loss_minor=254700)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from usance.service.collections.action_value import action_value, added_ppm
from usance.service.collections.channels import route
from usance.service.collections.contact_rules import Channel


class DueContacts(NamedTuple):
    """Contacts due on a day that are alike: their channel, and what their debtors agreed to."""

    channel: Channel
    consents: frozenset[Channel]
    cases: int
    past_due_minor: int
    pay_ppm: int
    """Probability that a debtor pays within ten days, left alone."""


class OutageLoss(NamedTuple):
    """Contacts of a day that a channel cannot make, and the amount that is not expected to come."""

    cases: int
    rerouted: int
    waiting: int
    past_due_minor: int
    loss_minor: int


def outage_loss(due: Iterable[DueContacts], lost: Channel, down: frozenset[Channel]) -> OutageLoss:
    """The loss that one of the channels which are down is expected to bring on a day."""
    cases = rerouted = waiting = owed = loss = 0
    for each in due:
        if each.channel is not lost or route(lost, each.consents, down - {lost}) is not lost:
            continue  # it would not have gone by this channel anyway
        by = route(lost, each.consents, down | {lost})
        missed = added_ppm(lost, each.pay_ppm)
        missed -= added_ppm(by, each.pay_ppm) if by else 0
        cases, owed = cases + each.cases, owed + each.past_due_minor
        rerouted += each.cases if by else 0
        waiting += 0 if by else each.cases
        loss += int(action_value(max(missed, 0), each.past_due_minor, 0))
    return OutageLoss(cases, rerouted, waiting, owed, loss)

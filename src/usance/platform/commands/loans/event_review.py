"""Events made by rule, looked at again when something becomes known of an earlier day.

Late fees that were not warranted are reversed by the command that brought the news. A compensation
or charge-off that was not is for people: an event tells of it. Fees that would have been due in
the past are let go; new ones come from today on.
"""

from __future__ import annotations

import json
from datetime import timedelta

from usance.base.codes import FactKind
from usance.base.ids import print_id
from usance.loan.facts import Fact
from usance.platform.commands.command import Moment
from usance.platform.records.loan_record import LoanRecord
from usance.platform.store.write_set import Event, WriteSet
from usance.service.event_review import review_events
from usance.service.loan_servicing import ClaimHolder, is_made_by_rule
from usance.service.servicing_rules import ServicingRules

REVERSAL_REF = 1 << 56
"""Added to the reference of a fee that is reversed: the reversal's own."""


def review(moment: Moment, loan: LoanRecord, changes: WriteSet) -> None:
    """Add reversals of fees that a command leaves without ground, and tell of such claims."""
    served_until = moment.business_date - timedelta(days=1)
    news = [each for each in loan.added if not is_made_by_rule(each)]
    since = min((loan.first_day_of(each) for each in news), default=moment.business_date)
    if since > served_until or not any(map(is_made_by_rule, loan.facts)):
        return
    rules = ServicingRules.at(since, moment.lender.parameters)
    holder = ClaimHolder(loan.model, loan.trigger_days)
    found = review_events(loan.terms, loan.all_facts, holder, rules, since, served_until)
    for each in found.unwarranted:
        if each.kind is FactKind.FEE_CHARGED:
            loan.added.append(Fact(FactKind.REVERSED, moment.business_date, 0,
                                   REVERSAL_REF + each.ref, each.ref, moment.at))  # fmt: skip
        else:
            told = {"kind": each.kind.label, "effective_on": each.effective_on.isoformat(),
                    "amount_minor": each.amount_minor}  # fmt: skip
            subject = print_id("ln", loan.loan_id)
            changes.events.append(
                Event("claim.unwarranted", subject, loan.user_id, json.dumps(told))
            )

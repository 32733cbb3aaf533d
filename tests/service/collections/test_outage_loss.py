"""The loss of an outage against one that is summed contact by contact."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from usance.service import Channel
from usance.service.collections.action_value import EFFECT_PPM, REACH_PPM
from usance.service.collections.channels import FALLBACKS
from usance.service.collections.outage_loss import DueContacts, OutageLoss, outage_loss

channel = st.sampled_from(list(Channel))
due = st.builds(
    DueContacts, channel=channel, consents=st.frozensets(channel), cases=st.just(1),
    past_due_minor=st.integers(0, 10**9), pay_ppm=st.integers(0, 1_000_000),
)  # fmt: skip


def adds(by: Channel, each: DueContacts) -> float:
    return REACH_PPM[by] / 1e6 * EFFECT_PPM[by] / 1e6 * (1 - each.pay_ppm / 1e6)


@given(st.lists(due, max_size=8), channel, st.frozensets(channel, max_size=4))
def test_it_is_the_sum_of_what_each_contact_misses(
    given_due: list[DueContacts], lost: Channel, others: frozenset[Channel]
) -> None:
    down = others | {lost}
    expected, cases, waiting = 0.0, 0, 0
    for each in given_due:
        if each.channel is not lost or (lost not in each.consents and lost is not Channel.LETTER):
            continue
        free = [by for by in FALLBACKS[lost]
                if by not in down and (by in each.consents or by is Channel.LETTER)]  # fmt: skip
        brings = adds(free[0], each) if free else 0.0
        expected += max(adds(lost, each) - brings, 0.0) * each.past_due_minor
        cases, waiting = cases + 1, waiting + (not free)
    found = outage_loss(given_due, lost, down)
    assert (found.cases, found.waiting, found.rerouted) == (cases, waiting, cases - waiting)
    # Chances are whole parts per million, so each contact may be two of them off.
    assert abs(found.loss_minor - expected) <= sum(3e-6 * e.past_due_minor + 1 for e in given_due)


def test_a_channel_that_nobody_is_contacted_by_costs_nothing() -> None:
    mail = DueContacts(Channel.EMAIL, frozenset(Channel), 9, 900_000, 0)
    nothing = OutageLoss(0, 0, 0, 0, 0)
    assert outage_loss([mail], Channel.VOICE, frozenset({Channel.VOICE})) == nothing

"""Debtors who react to contacts: chances against debtors drawn one by one, outages, short desks."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from usance.base.dates import first_of_month, to_day
from usance.base.errors import UsanceError
from usance.base.rates import PPM
from usance.service.collections.experiment import uplift
from usance.service.collections.strategy_file import parse_strategy, shipped_text
from usance.twin.month.collection_effect import check_collections, effect_of, plan_of
from usance.twin.run.options import named_scenario
from usance.world.behaviour import payments
from usance.world.behaviour_kernel import SETTLES, STEP
from usance.world.debtors import (
    EFFECT,
    FATIGUE,
    NO_EFFECT,
    REACH,
    ChannelOutage,
    ContactPlan,
    PlannedContact,
    paid_by,
    pressures_of,
)
from usance.world.scenario.scenario import Collections, Scenario

CALM = named_scenario("calm")
NOVEMBER = 646
FIRST, LAST = 19_662, 19_691
"""The days of November 2023."""


def drawn(plan: ContactPlan, base: float, days: int, count: int, seed: int) -> float:
    """Share of debtors, each with a life of its own, who have paid by a day."""
    dice, paid = random.Random(seed), 0
    weights = [weight for weight, _ in plan.groups]
    for _ in range(count):
        [contacts] = dice.choices([own for _, own in plan.groups], weights)
        reached = 0.0
        for day in range(1, days + 1):
            made = [each for each in contacts for _ in range(each.on(day))]
            pays = dice.random() < base
            for each in made:
                if dice.random() < REACH[each.channel]:
                    pays |= dice.random() < EFFECT[each.channel] * (1 - FATIGUE) ** reached
                    reached += EFFECT[each.channel] / EFFECT["voice"]
            if pays:
                paid += 1
                break
    return paid / count


def test_chances_are_those_of_debtors_drawn_one_by_one() -> None:
    """The mean number of contacts that reached a debtor stands for each one's own."""
    plan = ContactPlan((
        (2.0, (PlannedContact(1, 3, 1, 2, "ai_voice"), PlannedContact(4, 30, 2, 1, "voice"))),
        (1.0, (PlannedContact(1, 30, 3, 1, "message"),)),
    ))  # fmt: skip
    for base in (0.0, 0.03):
        told = paid_by(base, pressures_of(plan, 1, 30))
        assert told == pytest.approx(drawn(plan, base, 30, 20_000, 5), abs=0.02)


def with_collections(**given: object) -> Scenario:
    return replace(CALM, collections=Collections(**given))  # type: ignore[arg-type]


def test_the_shipped_strategy_with_all_that_it_needs_changes_nothing() -> None:
    same = with_collections(strategy=shipped_text(), minutes=(("m1", 480),))
    for month in (640, NOVEMBER, 651):
        assert effect_of(CALM, month) == NO_EFFECT
        told = effect_of(same, month)
        assert told[:3] == (PPM, PPM, (PPM,) * 5)
        # Borrowers are drawn into arms, which differ, and are on average what they all were.
        assert told.arms is not None
        assert told.arms.shares_ppm == (900_000, 100_000)
        champion, challenger = told.arms.collected30_ppm
        assert champion < PPM < challenger
        assert (9 * champion + challenger) / 10 == pytest.approx(PPM, abs=2)


def test_borrowers_are_drawn_into_arms_and_the_uplift_is_read_off_them() -> None:
    """Late dues of a month, borrower by borrower: the interval holds what was planted."""
    text = shipped_text().replace("share: 90%", "share: 60%").replace("share: 10%", "share: 40%")
    text = text.replace("early_call, stage: ai_voice,", "early_call, stage: [ai_voice, in_house],")
    behaviour = replace(CALM.behaviour, late_ppm=300_000, collected30_ppm=600_000,
                        season_ppm=(PPM,) * 12, early_ppm=0)  # fmt: skip
    calm = replace(CALM, behaviour=behaviour)
    scenario = replace(calm, collections=Collections(strategy=text))
    arms = effect_of(scenario, 648).arms
    assert arms is not None
    users = np.arange(1, 200_001)
    same, due = np.ones(len(users), np.int64), to_day(first_of_month(648))
    paid = payments(
        scenario, 648, (users << 14) + 1, same * PPM, same * due, same * due, same * 0,
        effect=partial(effect_of, scenario),
    )[0]  # fmt: skip
    day, meant = np.divmod(paid, STEP)
    late = (meant != SETTLES) & (day != due)
    arm = parse_strategy(text, "mine").arm_column(users)
    found = uplift(paid[late & (arm == 0)] > 0, paid[late & (arm == 1)] > 0)
    champion, challenger = (0.6 * each / PPM for each in arms.collected30_ppm)
    assert challenger - champion > 0.02
    assert found.is_better
    assert found.low < challenger - champion < found.high
    assert found.champion == pytest.approx(champion, abs=0.01)
    # With arms that are alike nobody is treated otherwise.
    plain = payments(scenario, 648, (users << 14) + 1, same * PPM, same * due, same * due, same * 0)
    alike = payments(calm, 648, (users << 14) + 1, same * PPM, same * due, same * due, same * 0)
    assert (plain == alike).all()


def outage(first: int = FIRST, last: int = LAST, *, rerouted: bool = False) -> Scenario:
    return with_collections(outages=(ChannelOutage("voice", first, last, rerouted),))


def test_an_outage_costs_collection_in_its_month_and_re_routing_saves_some() -> None:
    lost, saved = effect_of(outage(), NOVEMBER), effect_of(outage(rerouted=True), NOVEMBER)
    assert lost.collected30_ppm < saved.collected30_ppm < PPM
    assert lost.cure_ppm[0] < saved.cure_ppm[0] < PPM
    # Letters go on, and two months before or after nothing was missed.
    assert lost.cure_ppm[-1] == PPM
    assert effect_of(outage(), NOVEMBER - 2) == effect_of(outage(), NOVEMBER + 2) == NO_EFFECT
    # A longer one costs more.
    short = effect_of(outage(FIRST, FIRST + 9), NOVEMBER)
    assert lost.collected30_ppm < short.collected30_ppm < PPM


def test_a_desk_that_is_short_brings_less_and_more_people_no_more_than_all() -> None:
    found = [effect_of(with_collections(minutes=(("m1", minutes),)), NOVEMBER).collected30_ppm
             for minutes in (0, 5, 15, 480)]  # fmt: skip
    assert found == sorted(found)
    assert found[0] < found[1] < PPM
    assert found[-1] == PPM


def test_a_strategy_changes_day_1_and_30_day_collection() -> None:
    softer = shipped_text().replace("channel: voice, desk: m1", "channel: message, desk: m1")
    without = softer.replace(
        "stage: reminder, channel: message", "stage: reminder, channel: letter"
    )
    told = effect_of(with_collections(strategy=softer), NOVEMBER)
    assert (told.late_ppm, told.collected30_ppm < PPM) == (PPM, True)
    told = effect_of(with_collections(strategy=without), NOVEMBER)
    assert told.late_ppm > PPM
    plan = plan_of(parse_strategy(shipped_text(), "shipped"))
    assert sum(weight for weight, _ in plan.groups) == pytest.approx(PPM, rel=0.05)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsanceError, match="m9"):
        check_collections(with_collections(minutes=(("m9", 3),)))
    wrong = shipped_text().replace("per_day: 2", "per_day: 9", 1)
    with pytest.raises(UsanceError, match="line 28"):
        check_collections(with_collections(strategy=wrong))


def test_the_outage_of_the_filings_is_one_of_channels() -> None:
    scenario = named_scenario("collection-outage")
    assert scenario.macro.shocks == CALM.macro.shocks
    assert effect_of(scenario, NOVEMBER).collected30_ppm < 970_000
    assert effect_of(scenario, NOVEMBER + 2) == NO_EFFECT

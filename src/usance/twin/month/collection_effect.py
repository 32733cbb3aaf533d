"""Collections in the twin: a scenario's strategy as contacts of its world, and their effect.

A scenario that names no `collections` has none. One that names a strategy with challengers draws
each borrower into an arm, the one that the platform draws them into, so that its books show what a
challenger brings. On average the shipped strategy, with people enough and every channel up, brings
what the scenario has without it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from usance.base.errors import InputError, unknown
from usance.base.rates import PPM
from usance.service.collections.stages import Stage, Stages
from usance.service.collections.strategy import DeskKind, Strategy
from usance.service.collections.strategy_file import parse_strategy, shipped_strategy
from usance.world.behaviour_kernel import MAX_ARMS
from usance.world.debtors import (
    NO_EFFECT,
    CollectionEffect,
    ContactPlan,
    DrawnArms,
    PlannedContact,
    month_effect,
)
from usance.world.scenario.scenario import Collections, Scenario

DUE_DECILES_MINOR = (15_000, 27_000, 39_000, 53_000, 70_000, 92_000, 122_000, 172_000, 310_000)
"""Amounts that borrowers who fall late owe, by decile, in minor units [assumption]."""
PAY_DECILES_PPM = (250_000, 400_000, 500_000, 580_000, 650_000, 720_000, 780_000, 850_000, 920_000)
"""Probability that one who is late pays within ten days, by decile [assumption]."""
LAST_DAY = 180


def effect_of(scenario: Scenario, month: int) -> CollectionEffect:
    """Effect of a scenario's collections on a month; none where it names none."""
    if scenario.collections == Collections():
        return NO_EFFECT
    return _effect(scenario.collections, month, scenario.behaviour.collected30_ppm,
                   scenario.behaviour.cure_ppm)  # fmt: skip


def check_collections(scenario: Scenario) -> None:
    """Refuse a strategy that may not be, and minutes of a desk that it does not have."""
    strategy = strategy_of(scenario.collections)
    desks = strategy.desks
    if len(strategy.arms) > MAX_ARMS:
        raise InputError(f"the strategy has {len(strategy.arms)} arms", fix=f"Keep {MAX_ARMS}",
                         where=f"{scenario.name}, collections.strategy")  # fmt: skip
    for name, _ in scenario.collections.minutes:
        if name not in desks:
            raise unknown("desk", name, desks, where=f"{scenario.name}, collections.minutes")


def strategy_of(collections: Collections) -> Strategy:
    """The strategy of a scenario; the shipped one where it names none."""
    if not collections.strategy:
        return shipped_strategy()
    return parse_strategy(collections.strategy, "collections.strategy")


@lru_cache(maxsize=1024)
def _effect(
    collections: Collections, month: int, collected30_ppm: int, cure_ppm: tuple[int, ...]
) -> CollectionEffect:
    reference, strategy = plan_of(shipped_strategy()), strategy_of(collections)
    return month_effect(
        plan_of(strategy), reference, collections.operations, month,
        collected30=collected30_ppm / PPM, cure=[each / PPM for each in cure_ppm],
        arms=arms_of(strategy) if collections.strategy else None,
    )  # fmt: skip


def arms_of(strategy: Strategy) -> DrawnArms | None:
    """Arms that borrowers are drawn into; none where a strategy has no challenger."""
    if len(strategy.arms) == 1:
        return None
    plans = tuple(plan_of(strategy, arm.name) for arm in strategy.arms)
    return DrawnArms(strategy.seed, tuple(arm.share_ppm for arm in strategy.arms), plans)


def plan_of(strategy: Strategy, only: str = "") -> ContactPlan:
    """Contacts that a strategy plans, by arm and segment, for the debtors there are."""
    owed, pay = (each.ravel() for each in np.meshgrid(DUE_DECILES_MINOR, PAY_DECILES_PPM))
    segments = np.bincount(strategy.segment_column(owed, pay), minlength=len(strategy.segments))
    stages = Stages.at(strategy.valid_from)
    groups = []
    for arm in strategy.arms:
        if only and arm.name != only:
            continue
        for number, segment in enumerate(strategy.segments):
            weight = (PPM if only else arm.share_ppm) * int(segments[number]) / len(owed)
            if weight:
                contacts = _contacts(strategy, arm.name, segment.name, stages)
                groups.append((weight, contacts))
    return ContactPlan(tuple(groups))


def _contacts(
    strategy: Strategy, arm: str, segment: str, stages: Stages
) -> tuple[PlannedContact, ...]:
    """Contacts of a segment under an arm, stage by stage."""
    ends = [first - 1 for first in stages.first_days[1:]] + [LAST_DAY]
    found = []
    for first, last, stage in zip(stages.first_days, ends, stages.stages, strict=True):
        action = strategy.action(arm, segment, Stage(stage))
        desk = strategy.desks[action.desk]
        staffed = "" if desk.kind is DeskKind.AUTOMATIC else desk.name
        found.append(PlannedContact(first, last, action.every_days, action.per_day,
                                    action.channel.value, staffed, desk.minutes))  # fmt: skip
    return tuple(found)

"""Sources of figures that are neither posted nor measured: facts of the group, or a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.capital.dividends import Dividend
from usance.disclose.facts import Fact
from usance.disclose.release.corporate_actions import DIVIDEND, REPURCHASE, dividend_period
from usance.disclose.release.outlook import OUTLOOK
from usance.disclose.release.release import Release

Source = tuple[str, tuple[int, ...]]
"""The name of the source, and the facts of the group that state the figure."""
_SHARES = (
    GroupFactKind.SHARES_ISSUED, GroupFactKind.SHARES_REPURCHASED, GroupFactKind.SHARES_RETIRED,
    GroupFactKind.SHARES_RESERVED, GroupFactKind.SHARES_REISSUED, GroupFactKind.UNITS_CHANGED,
    GroupFactKind.GRANT, GroupFactKind.VESTING_ESTIMATE, GroupFactKind.SHARE_PRICE,
)  # fmt: skip


def source_of(release: Release, fact: Fact) -> Source:
    """The source of a figure; empty for one that is made from others."""
    if fact.statement == OUTLOOK:
        return "the announcement, beside the printed figure of the year before", ()
    if fact.statement == DIVIDEND:
        named = [
            each for each in release.corporate_actions.dividends if _is_for(release, each, fact)
        ]
        return _actions(release, [(each.name, each.where) for each in named])
    if fact.statement == REPURCHASE:
        plans = [each for each in release.corporate_actions.programmes
                 if fact.line.startswith(f"{each.name} plan ")]  # fmt: skip
        return _actions(release, [(each.name, each.where) for each in plans])
    if fact.unit in ("shares", "ads", "million_ads"):
        return "the share register", _ids(release.closed.facts, _SHARES)
    if fact.statement == "convenience_translation":
        given = release.filer.rate is not None
        known = () if given else _ids(release.closed.facts, (GroupFactKind.EXCHANGE_RATE,))
        return "the filer's rate" if given else "rates of the books", known
    return "", ()


def _is_for(release: Release, dividend: Dividend, fact: Fact) -> bool:
    return fact.period.name == (dividend_period(dividend) or release.periods.current.name)


def _actions(release: Release, named: Iterable[tuple[str, str]]) -> Source:
    listed = list(named)
    ids = [
        number for name, _ in listed for number in release.corporate_actions.fact_ids.get(name, ())
    ]
    return ", ".join(where for _, where in listed if where), tuple(ids)


def _ids(facts: Iterable[GroupFact], kinds: tuple[GroupFactKind, ...]) -> tuple[int, ...]:
    return tuple(each.fact_id for each in facts if each.kind in kinds)


def group_fact_rows(
    facts: Iterable[GroupFact], wanted: Iterable[int]
) -> Iterator[tuple[int, dict[str, object]]]:
    """Some facts of the group by number, as rows of a drill."""
    known = {each.fact_id: each for each in facts}
    for number in sorted(set(wanted) & set(known)):
        each = known[number]
        yield number, {
            "kind": each.kind.label, "effective_on": each.effective_on,
            "amount_minor": each.amount_minor, "quantity": each.quantity,
            "currency": each.currency.label, "entity": each.entity,
        }  # fmt: skip

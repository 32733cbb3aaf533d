"""Everything that drawdowns of some users are decided on, read together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from usance.base.errors import UsanceError
from usance.platform.commands.command import Moment
from usance.platform.reads.lending.decisions import Line, lines_of_users
from usance.platform.reads.loans.positions import OpenPosition, open_positions
from usance.platform.records.user_record import UserRecord, not_found, own_ranges, read_id, user_of

if TYPE_CHECKING:
    import asyncpg

_USERS = (
    "select u.*, c.version, c.decisions, c.lines, c.requests, c.journals, c.borrowed, "
    "c.worst_days, c.held_minor, c.records, p.person_id, p.level, "
    "last.number, s.content as sealed_inputs, i.inputs, "
    "usance.subject_key(u.user_id, null) as wrapped, "
    "usance.screening_state(u.user_id) as screening, "
    "exists (select from usance.erasures e where e.user_id = u.user_id) as is_erased, "
    "(select max(t.account_id) from usance.accounts t "
    "where t.account_id between u.user_id * 16384 and u.user_id * 16384 + 16383 "
    "and t.is_verified and t.usable_from <= $2) as payout_account, "
    "case when p.person_id is not null then "
    "(select to_jsonb(r) from usance.person_record(u.user_id, $2 - interval '1 day') r) "
    "end as elsewhere, "
    "(select granted from usance.consents o "
    "where o.consent_id between u.user_id * 16384 and u.user_id * 16384 + 16383 "
    "order by consent_id desc limit 1) as consent "
    "from usance.users u join usance.user_counters c using (user_id) "
    "left join usance.user_persons p using (user_id) "
    "left join lateral (select a.decision_id as number from usance.applications a "
    "where a.decision_id between u.user_id * 16384 and u.user_id * 16384 + 16383 "
    "and exists (select from usance.decisions d "
    "where d.decision_id = a.decision_id and d.kind = 0) "
    "order by a.decision_id desc limit 1) last on true "
    "left join usance.sealed s on s.user_id = u.user_id and s.kind = 'inputs' "
    "and s.number = last.number "
    "left join usance.decision_inputs i on i.decision_id = last.number "
    "where u.user_id = any($1)"
)
_GRADES = (
    "select distinct on (a.user_id, a.line_id) a.user_id, a.line_id, d.grade "
    "from unnest($1::bigint[], $2::bigint[]) g (low, high) "
    "cross join lateral (select * from usance.applications "
    "where decision_id between g.low and g.high offset 0) a "
    "cross join lateral (select grade from usance.decisions "
    "where decision_id = a.decision_id offset 0) d "
    "order by a.user_id, a.line_id, a.decision_id desc"
)
"""As of one user after the other: joined freely, a few users cost a scan of all decisions."""


class Drawing(Protocol):
    """The ids that a drawdown names."""

    @property
    def user(self) -> str:
        """The user."""

    @property
    def quote(self) -> str | None:
        """The quote it is bound to."""

    @property
    def agreement(self) -> str | None:
        """The agreement to it."""

    @property
    def account(self) -> str | None:
        """The account that it is paid to."""


@dataclass(frozen=True)
class DrawdownReads:
    """Users with their last inputs and consent, lines, open loans, and rows that were named."""

    users: Mapping[int, UserRecord]
    loans: Mapping[int, Sequence[OpenPosition]]
    lines: Mapping[int, Sequence[Line]]
    grades: Mapping[tuple[int, int], int]
    """The grade that each line was granted at, by user and line."""
    quotes: Mapping[int, Mapping[str, Any]]
    agreements: Mapping[int, int]
    """The quote of each agreement."""
    accounts: Mapping[int, Mapping[str, Any]]
    """Accounts that were named."""

    def user(self, text: str) -> UserRecord:
        """A user whom the principal of the transaction sees."""
        number = read_id(text, "us", "user")
        if number not in self.users:
            raise not_found("us", number)
        return self.users[number]


async def read_drawdowns(
    transaction: asyncpg.Connection, moment: Moment, commands: Sequence[Drawing]
) -> DrawdownReads:
    """Read what drawdowns need; versions of users come before everything that is decided on."""
    ids = _numbers((each.user for each in commands), "us", "user")
    rows = await transaction.fetch(_USERS, ids, moment.at)
    users = {row["user_id"]: user_of(dict(row)) for row in rows}
    loans = await open_positions(transaction, users, moment.business_date)
    lines = await lines_of_users(transaction, moment.lender, loans, moment.business_date)
    graded = await transaction.fetch(_GRADES, *own_ranges(users))
    quotes, agreements, accounts = {}, {}, {}
    if named := _numbers((each.quote for each in commands), "qu", "quote"):
        rows = await transaction.fetch(
            "select * from usance.quotes where quote_id = any($1)", named
        )
        quotes = {row["quote_id"]: dict(row) for row in rows}
    if named := _numbers((each.agreement for each in commands), "ag", "agreement"):
        rows = await transaction.fetch(
            "select agreement_id, quote_id from usance.agreements where agreement_id = any($1)",
            named,
        )  # fmt: skip
        agreements = {row["agreement_id"]: row["quote_id"] for row in rows}
    if named := _numbers((each.account for each in commands), "ac", "account"):
        rows = await transaction.fetch(
            "select account_id, user_id, is_verified, usable_from from usance.accounts "
            "where account_id = any($1)", named,
        )  # fmt: skip
        accounts = {row["account_id"]: dict(row) for row in rows}
    grades = {(row["user_id"], row["line_id"]): row["grade"] for row in graded}
    return DrawdownReads(users, loans, lines, grades, quotes, agreements, accounts)


def _numbers(texts: Iterable[str | None], prefix: str, field: str) -> list[int]:
    """The numbers of ids that can be read; the others are refused where they are used."""
    found = []
    for text in texts:
        if text is not None:
            try:
                found.append(read_id(text, prefix, field))
            except UsanceError:
                continue
    return found

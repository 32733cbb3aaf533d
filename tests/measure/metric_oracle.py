"""Every metric by plain loops over the rows of a book: its sentence read aloud.

A book here is lists of rows; rows that lie in cells carry their model, product, source and
institution. The period is the second quarter of 2024, the date its last day.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from usance.measure.inputs import Role

START, END, MONTH = date(2024, 4, 1), date(2024, 6, 30), 653
Row = dict[str, Any]
Book = dict[str, list[Row]]
Pair = tuple[int, int]
SCOPE, RISK = (0, 1, 2), (0, 1)
ROLES = {
    "sales_and_marketing": Role((1, 2)),
    "revenue": Role((3,)),
    "net_income_non_gaap": Role((3, 4), without_rules=(2, 3)),
    "equity": Role((5,)),
    "allowances_and_contingent": Role((7, 8)),
    "cash_restricted_cash_and_deposits": Role((8, 9)),
}


def book_of(tables: dict[str, pa.Table]) -> Book:
    book: Book = {name: data.to_pylist() for name, data in tables.items()}
    owner = {row["source"]: row["institution"] for row in book["sources"]}
    cells = {row["cell"]: row for row in book["cells"]}
    who = {row["loan_id"]: row for row in book["loans"]}
    for name in ("tape", "dues", "postings", "sums"):
        for row in book[name]:
            row |= {key: cells[row["cell"]][key] for key in ("model", "product", "source")}
    for row in book["tape"]:
        row |= {key: who[row["loan_id"]][key] for key in ("channel", "region", "grade")}
    for name in ("tape", "dues", "postings", "sums", "loans", "routing", "limits"):
        for row in book[name]:
            row["institution"] = owner[row["source"]]
    source = {row["source"]: row for row in book["sources"]}
    for row in book["limits"]:
        row |= {key: source[row["source"]][key] for key in ("valid_from", "valid_to", "model")}
    book["approvals"] = list(_approvals(book))
    book["matches"] = list(_matches(book))
    book["outcomes"] = list(_outcomes(book))
    return book


def _approvals(book: Book) -> Iterable[Row]:
    homes = {row["user_id"]: row for row in book["users"]}
    firsts: dict[int, datetime] = {}
    for row in book["decisions"]:
        if row["kind"] == 0 and row["approved"] and row["line_minor"] > 0:
            user = row["decision_id"] // 16384
            firsts[user] = min(firsts.get(user, row["booked_at"]), row["booked_at"])
    for user, moment in firsts.items():
        yield {"booked_at": moment} | {key: homes[user][key] for key in ("channel", "region")}


def _matches(book: Book) -> Iterable[Row]:
    asked = {row["loan_id"]: row["requested_at"] for row in book["requests"]}
    for row in book["routing"]:
        if row["outcome"] == 1:
            span = row["at"] - asked[row["loan_id"]]
            yield row | {"waited": round(span.total_seconds() * 1_000_000)}


def _outcomes(book: Book) -> Iterable[Row]:
    given = {row["decision_id"]: row for row in book["decisions"]}
    bad = {row["loan_id"] for row in book["tape"] if row["bucket"] >= 4}
    for row in book["loans"]:
        decision = given[row["decision_id"]]
        yield row | {"bad": row["loan_id"] in bad, "pd_ppm": decision["pd_ppm"],
                     "model_no": decision["model_no"]}  # fmt: skip


def local(moment: datetime) -> date:
    return moment.astimezone(UTC).astimezone(ZoneInfo("Asia/Shanghai")).date()


def during(day: date) -> bool:
    return START <= day <= END


def year_before(day: date) -> bool:
    return START.replace(year=2023) <= day <= END.replace(year=2023)


def add(rows: Iterable[Row], name: str) -> int:
    return sum(row[name] for row in rows)


def _now(book: Book, models: tuple[int, ...] = (0, 1, 2, 3, 4)) -> list[Row]:
    return [row for row in book["tape"] if row["month"] == MONTH and row["model"] in models]


def _good(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if 0 <= row["bucket"] <= 6]


def _late(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if 4 <= row["bucket"] <= 6]


def _lent(book: Book) -> list[Row]:
    return [row for row in book["loans"] if during(row["disbursed_on"])]


def _due(book: Book, models: tuple[int, ...] = SCOPE) -> list[Row]:
    return [row for row in book["dues"] if during(row["due_on"]) and row["model"] in models]


def _decided(book: Book, kinds: tuple[int, ...] = (0, 1, 2)) -> list[Row]:
    return [
        row for row in book["decisions"] if during(local(row["booked_at"])) and row["kind"] in kinds
    ]


def _routed(book: Book) -> list[Row]:
    return [row for row in book["routing"] if during(local(row["at"]))]


def _approved(book: Book) -> list[Row]:
    return [row for row in book["approvals"] if during(local(row["booked_at"]))]


def _posted(book: Book, role: str, months: range, models: tuple[int, ...] = ()) -> int:
    return sum(
        row["amount_minor"] for row in book["postings"]
        if row["account"] in ROLES[role].accounts and row["period"] in months
        and row["rule"] not in ROLES[role].without_rules
        and row["basis"] == 0 and row["currency"] == 0
        and (not models or row["model"] in models)
    )  # fmt: skip


def _coupons(book: Book) -> Pair:
    """Coupons a year and amounts of what investors had lent on the last day, fact by fact."""
    told = [(row, json.loads(row["detail"])) for row in book["group_facts"]]
    undone = {detail["fact"] for row, detail in told if row["kind"] == 3}
    standing = [(row, detail) for row, detail in told if row["fact_id"] not in undone]
    rates: dict[str, int] = {}
    for row, detail in sorted(standing, key=lambda each: int(each[0]["fact_id"])):
        if row["kind"] == 10 and detail["lender"].startswith("trust_investors"):
            rates.setdefault(detail["deal"], int(Fraction(detail["rate"].rstrip("%")) * 10_000))
    above = below = 0
    for row, detail in standing:
        if row["kind"] in (10, 11, 17) and detail["deal"] in rates and row["effective_on"] <= END:
            if detail.get("as") == "interest":
                continue
            moved = row["amount_minor"] * (1 if row["kind"] == 10 else -1)
            above, below = above + moved * rates[detail["deal"]], below + moved * 10**6
    return above, below


def _provided(book: Book) -> int:
    names = ("loan_provision", "receivable_provision", "contract_provision", "contingent_provision")
    return sum(
        row[name] for row in book["sums"] for name in names
        if row["is_new"] and row["close_no"] // 100 in QUARTER
    )  # fmt: skip


def _standing(book: Book, kind: int) -> int:
    gone = {(row["loan_id"], row["arg"]) for row in book["facts"] if row["kind"] == 12}
    return sum(
        row["amount_minor"] for row in book["facts"]
        if row["kind"] == kind and row["effective_on"] <= END
        and (row["loan_id"], row["ref"]) not in gone
    )  # fmt: skip


def _month_ends(book: Book) -> int:
    return sum(
        row["principal_minor"] for row in _good(book["tape"]) if MONTH - 2 <= row["month"] <= MONTH
    )


def _tenor(row: Row) -> int:
    if row["product"] == 0:
        days: int = (row["first_due_on"] - row["disbursed_on"]).days
        return days + 30 * int(row["instalments"] - 1)
    return 30 * int(row["instalments"])


def _moved(book: Book) -> list[Row]:
    return [row for row in _now(book) if row["bucket_prev"] >= 0]


QUARTER, SO_FAR = range(MONTH - 2, MONTH + 1), range(MONTH + 1)


def counted(rows: list[Any]) -> Pair:
    return len(rows), 1 if rows else 0


SINGLE: dict[str, Callable[[Book], Pair]] = {
    "registered_users": lambda b: counted([r for r in b["users"] if r["registered_on"] <= END]),
    "approved_users": lambda b: counted([r for r in b["approvals"]
                                         if local(r["booked_at"]) <= END]),
    "newly_approved_users": lambda b: counted(_approved(b)),
    "borrowers": lambda b: counted(list({r["loan_id"] // 16384 for r in b["loans"]
                                         if r["disbursed_on"] <= END})),
    "institutions": lambda b: counted(list({r["institution"] for r in b["sources"]
                                            if r["valid_from"] <= END})),
    "unit_acquisition_cost": lambda b: (_posted(b, "sales_and_marketing", QUARTER),
                                        len(_approved(b))),
    "loans_originated": lambda b: counted(_lent(b)),
    "origination_volume": lambda b: (add(_lent(b), "principal_minor"), min(1, len(_lent(b)))),
    "non_risk_bearing_share": lambda b: (
        add([r for r in _lent(b) if r["model"] in (2, 3, 4)], "principal_minor"),
        add(_lent(b), "principal_minor")),
    "average_tenor": lambda b: (sum(r["principal_minor"] * _tenor(r) for r in _lent(b)),
                                30 * add(_lent(b), "principal_minor")),
    "repeat_contribution": lambda b: (
        add([r for r in _lent(b) if r["user_loan_no"] > 1], "principal_minor"),
        add(_lent(b), "principal_minor")),
    "outstanding_balance": lambda b: (add(_good(_now(b)), "principal_minor"),
                                      min(1, len(_good(_now(b))))),
    "delinquency_90": lambda b: (add(_late(_now(b, SCOPE)), "principal_minor"),
                                 add(_good(_now(b, SCOPE)), "principal_minor")),
    "day_1_delinquency": lambda b: (add(_due(b), "overdue_minor"), add(_due(b), "due_minor")),
    "collection_30": lambda b: (add(_due(b), "collected30_minor"), add(_due(b), "overdue_minor")),
    "c_m2": lambda b: (add(_due(b), "overdue_minor") - add(_due(b), "collected30_minor"),
                       add(_due(b), "due_minor")),
    "first_payment_default_7": lambda b: (add(_due(b, (0, 1, 2, 3, 4)), "first_unpaid7_minor"),
                                          add(_due(b, (0, 1, 2, 3, 4)), "first_minor")),
    "first_payment_default_30": lambda b: (add(_due(b, (0, 1, 2, 3, 4)), "first_unpaid30_minor"),
                                           add(_due(b, (0, 1, 2, 3, 4)), "first_minor")),
    "prepayment_smm": lambda b: (add(_moved(b), "prepaid_minor"),
                                 add(_moved(b), "principal_prev_minor")),
    "prepayment_cpr": lambda b: (add(_moved(b), "prepaid_minor"),
                                 add(_moved(b), "principal_prev_minor")),
    "cure_rate": lambda b: (
        add([r for r in _now(b) if 1 <= r["bucket_prev"] <= 6 and r["bucket"] == 0],
            "principal_prev_minor"),
        add([r for r in _now(b) if 1 <= r["bucket_prev"] <= 6], "principal_prev_minor")),
    "recovery_rate": lambda b: (_standing(b, 11), _standing(b, 10)),
    "approval_rate": lambda b: (add(_decided(b, (0,)), "approved"), len(_decided(b, (0,)))),
    "conversion_rate": lambda b: (len([r for r in _lent(b) if r["user_loan_no"] == 1]),
                                  len(_approved(b))),
    "automation_rate": lambda b: (len(_decided(b, (0, 1))), len(_decided(b))),
    "decision_latency": lambda b: (
        add(_decided(b), "latency_us"), len([r for r in _decided(b) if r["latency_us"] > 0])),
    "mean_score": lambda b: (add(_decided(b, (0,)), "score"),
                             sum(row["score"] > 0 for row in _decided(b, (0,)))),
    "calibration": lambda b: (
        sum(1_000_000 * r["bad"] for r in b["outcomes"] if year_before(r["disbursed_on"])),
        sum(r["pd_ppm"] for r in b["outcomes"] if year_before(r["disbursed_on"]))),
    "match_rate": lambda b: (len({r["loan_id"] for r in _routed(b) if r["outcome"] == 1}),
                             len({r["loan_id"] for r in _routed(b)})),
    "institution_approval": lambda b: (len([r for r in _routed(b) if r["outcome"] == 1]),
                                       len([r for r in _routed(b) if r["outcome"] in (1, 2, 3)])),
    "time_to_match": lambda b: (
        sum(r["waited"] for r in b["matches"] if during(local(r["at"]))),
        len([r for r in b["matches"] if during(local(r["at"])) and r["waited"] > 0])),
    "regret": lambda b: (
        sum(max(0, r["runner_up_minor"] - r["score_minor"]) for r in _routed(b)
            if r["outcome"] == 1 and r["runner_up"]),
        len([r for r in _routed(b) if r["outcome"] == 1])),
    "mandate_utilisation": lambda b: (
        add(_good(_now(b)), "principal_minor"),
        sum(r["amount_minor"] for r in b["limits"] if r["scope"] == 5 and r["amount_minor"] >= 0
            and r["valid_from"] <= END <= r["valid_to"])),
    "gross_take_rate": lambda b: (-12 * _posted(b, "revenue", QUARTER), _month_ends(b)),
    "net_take_rate": lambda b: (-12 * _posted(b, "net_income_non_gaap", QUARTER), _month_ends(b)),
    "leverage": lambda b: (add(_good(_now(b, RISK)), "principal_minor"),
                           -_posted(b, "equity", SO_FAR)),
    "provision_booking_ratio": lambda b: (_provided(b),
                                          add(_lent(b), "principal_minor")),
    "provision_coverage": lambda b: (-_posted(b, "allowances_and_contingent", SO_FAR, RISK),
                                     add(_late(_now(b, RISK)), "principal_minor")),
    "asset_backed_funding_cost": _coupons,
    "total_cash": lambda b: (
        _posted(b, "cash_restricted_cash_and_deposits", SO_FAR),
        int(any(r["account"] in (8, 9) and r["period"] <= MONTH
                and not (r["basis"] or r["currency"]) for r in b["postings"]))),
}  # fmt: skip


def _vintage(book: Book, name: str) -> dict[tuple[int, ...], Pair]:
    net: Counter[tuple[int, int]] = Counter()
    lent: Counter[int] = Counter()
    for row in book["tape"]:
        if row["month"] <= MONTH and row["model"] in SCOPE:
            net[row["cohort"] // 3 * 3, row["mob"]] += row[name]
    for row in book["loans"]:
        if row["model"] in SCOPE and row["disbursed_on"] <= END:
            day = row["disbursed_on"]
            lent[((day.year - 1970) * 12 + day.month - 1) // 3 * 3] += row["principal_minor"]
    ages = {(cohort, mob) for cohort in lent for mob in range(MONTH - cohort + 1)}
    began = min((row["month"] for row in book["tape"] if row["month"] <= MONTH
                 and row["model"] in SCOPE), default=0)  # fmt: skip
    first = min((row["disbursed_on"] for row in book["loans"] if row["model"] in SCOPE
                 and row["disbursed_on"] <= END), default=END)  # fmt: skip
    older = (first.year - 1970) * 12 + first.month - 1 < began
    return {
        key: (net[key], lent[key[0]]) for key in ages | set(net) if not (older and sum(key) < began)
    }


def _rolls(book: Book, month: int) -> dict[tuple[int, ...], Pair]:
    rows = [row for row in book["tape"] if row["month"] == month]
    buckets = {row["bucket"] for row in rows} | {row["bucket_prev"] + 1 for row in rows}
    return {
        (bucket,): (
            sum(r["principal_minor"] for r in rows if r["bucket"] == bucket and 1 <= bucket <= 6),
            sum(r["principal_prev_minor"] for r in rows
                if r["bucket_prev"] + 1 == bucket and 0 <= r["bucket_prev"] <= 5),
        )
        for bucket in buckets
    }  # fmt: skip


def _transitions(book: Book, amount: Callable[[Row], int]) -> dict[tuple[int, ...], Pair]:
    moved: Counter[tuple[int, int]] = Counter()
    total: Counter[int] = Counter()
    for row in (row for row in book["tape"] if row["month"] in QUARTER):
        state = 8 if row["status"] == 1 else row["bucket"]
        size = amount(row) if row["bucket_prev"] >= 0 else 0
        moved[row["bucket_prev"], state] += size
        total[row["bucket_prev"]] += size
    return {key: (value, total[key[0]]) for key, value in moved.items()}


def _channels(book: Book) -> dict[tuple[int, ...], Pair]:
    counts = Counter(row["channel"] for row in _approved(book))
    return {(channel,): (count, counts.total()) for channel, count in counts.items()}


ALONG: dict[str, Callable[[Book], dict[tuple[int, ...], Pair]]] = {
    "vintage_30": lambda b: _vintage(b, "net30_minor"),
    "vintage_180": lambda b: _vintage(b, "net180_minor"),
    "roll_rate": lambda b: _rolls(b, MONTH),
    "transition_balance": lambda b: _transitions(b, lambda row: int(row["principal_prev_minor"])),
    "transition_count": lambda b: _transitions(b, lambda _: 1),
    "new_lines": _channels,
}


def flow(book: Book) -> Fraction | None:
    """The product of three successive rolls."""
    product = Fraction(1)
    for bucket in (1, 2, 3):
        up, down = _rolls(book, MONTH - 3 + bucket).get((bucket,), (0, 0))
        if not down:
            return None
        product *= Fraction(up, down)
    return product


def stability(book: Book) -> float | None:
    """The index of this quarter's scores against those of the quarter before."""
    bands: dict[bool, Counter[int]] = defaultdict(Counter)
    for row in book["decisions"]:
        if not row["score"]:
            continue  # nobody scored it
        if row["kind"] == 0 and date(2024, 1, 1) <= local(row["booked_at"]) <= END:
            bands[during(local(row["booked_at"]))][row["score"] // 20] += 1
    now, before = bands[True], bands[False]
    if not now or not before:
        return None
    total = 0.0
    for band in set(now) | set(before):
        share, past = max(now[band], 0.5) / now.total(), max(before[band], 0.5) / before.total()
        total += (share - past) * math.log(share / past)
    return total

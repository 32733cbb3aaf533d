"""A second reading of the waterfall, written from the text alone, slowly, on the file's own words.

It shares no code with `usance.fund`: formulas are run by Python itself, amounts are fractions of
the standard library, steps are read where they stand.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from fractions import Fraction
from math import floor
from typing import Any

ORDER = ["revolving", "amortising", "accelerated", "defaulted"]


def nearest(value: Fraction) -> int:
    """Half-up."""
    return floor(value + Fraction(1, 2)) if value >= 0 else -floor(-value + Fraction(1, 2))


def value_of(text: Any, names: dict[str, int]) -> Any:
    """A formula, as Python reads it once its names are looked up."""
    if isinstance(text, int):
        return text
    python = re.sub(r"floor\(([^()]*) / (\d+)\)", r"((\1) // \2)", text)
    python = re.sub(
        r"\b(?!min\b|max\b|and\b|or\b|not\b)[A-Za-z_][\w.]*", lambda m: f"names[{m[0]!r}]", python
    )
    return eval(python, {"names": names, "min": min, "max": max})


def last_repeats(vector: list[int], k: int) -> int:
    return vector[k - 1] if k <= len(vector) else vector[-1]


def years(start: date, end: date, rule: str) -> Fraction:
    days = (end - start).days
    if rule.startswith("actual/3"):
        return Fraction(days, int(rule[-3:]))
    if rule == "actual/actual ISDA":
        total = Fraction(0)
        for n in range(start.toordinal(), end.toordinal()):
            leap = monthrange(date.fromordinal(n).year, 2)[1] == 29
            total += Fraction(1, 366 if leap else 365)
        return total
    first, last = start.day, end.day
    if rule == "30E/360":
        first, last = min(first, 30), min(last, 30)
    else:
        first = 30 if first == 31 else first
        last = 30 if last == 31 and first == 30 else last
    months = (end.year - start.year) * 12 + end.month - start.month
    return Fraction(months * 30 + last - first, 360)


class Loans:
    """Loans of one kind, bought together."""

    def __init__(self, terms: dict[str, Any], balance: int, default: int, prepay: int) -> None:
        self.terms, self.balance, self.age = terms, balance, 0
        self.lost: list[int] = []
        self.default, self.prepay = default, prepay

    def curve(self, key: str, multiple: int) -> Fraction:
        ppm = last_repeats(self.terms[key], self.age)
        return Fraction(min(10**6, nearest(Fraction(ppm * multiple, 100))), 10**6)

    def month(self) -> list[int]:
        self.age += 1
        m = self.terms["months"] - self.age + 1
        r = Fraction(self.terms["rate_ppm"], 12 * 10**6)
        lost = nearest(self.balance * self.curve("mdr_ppm", self.default)) if m >= 1 else 0
        self.lost.append(lost)
        back, lag = 0, self.terms["recovery_lag"]
        if self.age > lag:
            share = Fraction(self.terms["recovery_ppm"], 10**6)
            back = nearest(self.lost[self.age - 1 - lag] * share)
        if m < 1:
            return [0, 0, 0, back]
        performing = self.balance - lost
        if m == 1:
            part = Fraction(1)
        elif self.terms["amortisation"] == "level" and r > 0:
            part = r / ((1 + r) ** m - 1)
        else:
            part = Fraction(1, m)
        due = nearest(performing * part)
        early = nearest((performing - due) * self.curve("smm_ppm", self.prepay))
        self.balance = performing - due - early
        return [nearest(performing * r), due + early, lost, back]


def by_largest_remainder(total: int, weights: list[int]) -> list[int]:
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    exact = [Fraction(total * weight, whole) for weight in weights]
    parts = [floor(each) for each in exact]
    for i in sorted(range(len(weights)), key=lambda i: (parts[i] - exact[i], i)):
        if sum(parts) < total:
            parts[i] += 1
    return parts


def run(  # noqa: C901 -- one page, read from top to bottom as the text is
    deal: dict[str, Any], default: int = 100, prepay: int = 100
) -> dict[str, Any]:
    """The rows of a deal, its accounts at the end and what each class lacks."""
    names: dict[str, int] = {"defaulted_to_date": 0, "bought_to_date": 0}
    accounts = {"collection": 0, **deal["accounts"]}
    classes = [each["name"] for each in deal["classes"]]
    names["pool_original"] = names["pool_end"] = deal["pool"]["balance_minor"]
    for each in deal["classes"]:
        names[each["name"] + ".balance"] = names[each["name"] + ".original"] = each["balance_minor"]
        names[each["name"] + ".due"] = 0
    for fee in deal["fees"]:
        names["fee." + fee["name"] + ".due"] = 0
    accrued: dict[str, Fraction] = {}
    loans: list[Loans] = []
    if "flows" not in deal["pool"]:
        loans.append(Loans(deal["pool"], deal["pool"]["balance_minor"], default, prepay))
    held = deal["pool"]["balance_minor"] if "flows" in deal["pool"] else 0
    status, last_on, month = deal["status"], date.fromisoformat(deal["closing_on"]), 0
    year, first = map(int, deal["first_period"].split("-"))
    length = deal.get("months_per_period", 1)
    rows = []

    def see() -> dict[str, int]:
        names["classes"] = sum(names[c + ".balance"] for c in classes)
        names.update({"account." + name: amount for name, amount in accounts.items()})
        return names

    for k in range(1, deal["periods"] + 1):
        got = [0, 0, 0, 0]
        for _ in range(length):
            for each in loans:
                got = [a + b for a, b in zip(got, each.month(), strict=True)]
            if "flows" in deal["pool"] and month < len(deal["pool"]["flows"]):
                flow = deal["pool"]["flows"][month]
                held -= flow[1] + flow[2]
                got = [a + b for a, b in zip(got, flow, strict=True)]
            month += 1
        names.update(period=k, pool_start=names["pool_end"])
        names["pool_end"] = held + sum(each.balance for each in loans)
        names.update(collected_interest=got[0], collected_principal=got[1])
        names.update(defaulted=got[2], recovered=got[3])
        names["defaulted_to_date"] += got[2]
        accounts["collection"] += got[0] + got[1] + got[3]
        for each in deal["classes"]:
            if "targets_minor" in each:
                names[each["name"] + ".target"] = last_repeats(each["targets_minor"], k)
        at = (year * 12 + first - 1) + k * length
        there = date(at // 12, at % 12 + 1, 1)
        on = there.replace(day=min(deal["pay_day"], monthrange(there.year, there.month)[1]))
        span = years(last_on, on, deal["day_count"])
        last_on = on
        for each in deal["classes"]:
            name = each["name"]
            before = accrued.get(name, Fraction(0))
            accrued[name] = before + names[name + ".balance"] * span * Fraction(
                each["rate_ppm"], 10**6
            )
            names[name + ".due"] += nearest(accrued[name]) - nearest(before)
        for fee in deal["fees"]:
            key = "fee." + fee["name"]
            before = accrued.get(key, Fraction(0))
            base = max(value_of(fee["base"], see()), 0) if "base" in fee else 0
            more = Fraction(fee.get("fixed_minor", 0))
            more += base * span * Fraction(fee.get("annual_ppm", 0), 10**6)
            more += base * Fraction(fee.get("share_ppm", 0), 10**6)
            accrued[key] = before + more
            names[key + ".due"] += nearest(accrued[key]) - nearest(before)

        def move_on(moment: str) -> None:
            nonlocal status
            for trigger in deal["triggers"]:
                later = ORDER.index(trigger["to"]) > ORDER.index(status)
                if trigger["at"] == moment and later and value_of(trigger["when"], see()):
                    status = trigger["to"]

        move_on("collection")
        called = 0
        is_last = False
        if (
            "clean_up" in deal
            and names["pool_end"] > 0
            and value_of(deal["clean_up"]["when"], see())
        ):
            called = max(value_of(deal["clean_up"]["price"], see()), 0)
            accounts["collection"] += called
            names["pool_end"], is_last = 0, True
        due_before = [names[c + ".due"] for c in classes]
        fees = {fee["name"]: 0 for fee in deal["fees"]}
        interest, principal = dict.fromkeys(classes, 0), dict.fromkeys(classes, 0)
        bought, paid_out, in_force = 0, 0, status
        for step in deal["waterfall"][status]:
            if "when" in step and not value_of(step["when"], see()):
                continue
            source = step["move"] if "move" in step else step.get("from", "collection")
            limit = accounts[source]
            if "amount" in step:
                limit = min(limit, max(value_of(step["amount"], see()), 0))
            if "fee" in step:
                key = "fee." + step["fee"] + ".due"
                pay = min(limit, names[key])
                names[key] -= pay
                fees[step["fee"]] += pay
            elif "interest" in step:
                dues = [names[c + ".due"] for c in step["interest"]]
                pay = min(limit, sum(dues))
                for c, part in zip(step["interest"], by_largest_remainder(pay, dues), strict=True):
                    names[c + ".due"] -= part
                    interest[c] += part
            elif "principal" in step:
                owed = [names[c + ".balance"] for c in step["principal"]]
                pay = min(limit, sum(owed))
                parts, rest = [], pay
                for balance in owed:
                    parts.append(min(balance, rest))
                    rest -= parts[-1]
                if step.get("pro_rata"):
                    parts = by_largest_remainder(pay, owed)
                for c, part in zip(step["principal"], parts, strict=True):
                    names[c + ".balance"] -= part
                    principal[c] += part
            elif "move" in step:
                pay = limit
                accounts[source] -= pay
                accounts[step["to"]] += pay
                continue
            elif "buy" in step:
                money = min(limit, max(value_of(step["buy"], see()), 0))
                price = deal["purchase"]["price_ppm"]
                more = min(
                    money * 10**6 // price,
                    last_repeats(deal["purchase"]["supply_minor"], k) - bought,
                )
                pay = nearest(Fraction(more * price, 10**6))
                bought += more
                names["pool_end"] += more
                names["bought_to_date"] += more
            else:
                pay = limit
                interest[step["residual"]] += pay
            accounts[source] -= pay
            paid_out += pay
        if bought:
            loans.append(Loans(deal["purchase"], bought, default, prepay))
        cover = names["pool_end"] + sum(accounts.values())
        row: dict[str, Any] = {
            "period": k, "paid_on": on.isoformat(), "status": in_force,
            "collected_interest_minor": got[0], "collected_principal_minor": got[1],
            "defaulted_minor": got[2], "recovered_minor": got[3],
            "pool_end_minor": names["pool_end"], "bought_minor": bought, "called_minor": called,
            "fees": fees, "classes": {}, "accounts": dict(accounts),
        }  # fmt: skip
        below = owed_before = 0
        for c, due in zip(classes, due_before, strict=True):
            below += names[c + ".balance"]
            owed_before += due
            income = got[0] - sum(fees.values())
            row["classes"][c] = {
                "interest_minor": interest[c], "principal_minor": principal[c],
                "balance_minor": names[c + ".balance"], "unpaid_minor": names[c + ".due"],
                "oc_ppm": nearest(Fraction(cover * 10**6, below)) if below else None,
                "ic_ppm": nearest(Fraction(income * 10**6, owed_before)) if owed_before else None,
            }  # fmt: skip
        row["paid"] = paid_out
        rows.append(row)
        see()
        move_on("distribution")
        if is_last:
            break
    collected = sum(
        row["collected_interest_minor"] + row["collected_principal_minor"]
        + row["recovered_minor"] + row["called_minor"]
        for row in rows
    )  # fmt: skip
    return {
        "paid_minor": sum(row.pop("paid") for row in rows),
        "rows": rows,
        "accounts_end": dict(accounts),
        "collected_minor": collected,
        "short": {c: names[c + ".balance"] + names[c + ".due"] for c in classes},
    }

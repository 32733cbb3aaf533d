"""Generated days of a provider with breaks planted in them; the planter writes down each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random

from usance.service.bank_files.statement import FileLine
from usance.service.reconciliation.breaks import BreakClass, Leg

FEE_PPM, FEE_FIXED = 6_000, 10
MONDAY = date(2024, 7, 1)
B = BreakClass
Planted = tuple[Leg, BreakClass, str, int]
PROVIDER_PLANTS = (B.MISSING_WITH_US, B.MISSING_WITH_THEM, B.AMOUNT, B.DAY, B.DUPLICATE,
                   B.WRONG_LOAN, B.FEE, B.UNKNOWN)  # fmt: skip
BANK_PLANTS = (B.MISSING_WITH_US, B.MISSING_WITH_THEM, B.AMOUNT, B.DAY, B.DUPLICATE, B.FEE,
               B.UNKNOWN)  # fmt: skip


def fee_of(amount: int) -> int:
    share = Decimal(abs(amount)) * FEE_PPM / 1_000_000
    return int(share.quantize(Decimal(1), ROUND_HALF_UP)) + FEE_FIXED


@dataclass
class Day:
    """Three views of one day, and the breaks between them."""

    number: int
    day: date
    through: date
    ours: list[FileLine] = field(default_factory=list)
    file: list[FileLine] = field(default_factory=list)
    bank: list[FileLine] = field(default_factory=list)
    planted: Counter[Planted] = field(default_factory=Counter)

    @property
    def loans(self) -> list[int]:
        return [line.loan_id for line in self.ours] + [7]


def generated_day(number: int) -> Day:
    """The day of a number: the same one always."""
    chance = Random(number)
    made = Day(number, MONDAY, MONDAY + timedelta(days=chance.choice([0, 1, 1, 1, 4])))
    for n in range(chance.randint(3, 14)):
        amount = chance.choice([-1, 1, 1, 1]) * chance.randint(100, 900_00)
        made.ours.append(FileLine(n, f"OR{number}-{n}", amount, "CNY", MONDAY, party=f"payer {n}",
                                  loan_id=16385 + n))  # fmt: skip
    batches = chance.randint(1, 3)
    for line in made.ours:
        _report(made, chance, line, f"B{number}-{chance.randrange(batches)}")
    for kind in (B.MISSING_WITH_US, B.UNKNOWN):
        for n in range(chance.choice([0, 0, 1, 2])):
            amount = chance.randint(100, 900_00)
            named = kind is B.MISSING_WITH_US
            made.file.append(FileLine(
                0, f"XX{number}-{n}" if named else "", amount, "CNY", MONDAY,
                party=f"stranger {n}" if named else "", batch=f"B{number}-0",
                fee_minor=fee_of(amount), loan_id=7 if named else chance.choice([0, 99]),
            ))  # fmt: skip
            made.planted[Leg.PROVIDER, kind, made.file[-1].reference, amount] += 1
    chance.shuffle(made.file)
    _settle(made, chance)
    chance.shuffle(made.bank)
    return made


def _report(made: Day, chance: Random, line: FileLine, batch: str) -> None:
    """The provider's lines for one movement of ours, right or wrong."""
    line = line._replace(batch=batch, fee_minor=fee_of(line.amount_minor))
    plant = chance.choice([*PROVIDER_PLANTS, *[None] * 16])
    key, amount = line.reference, line.amount_minor
    difference = 0
    match plant:
        case B.MISSING_WITH_THEM:
            made.planted[Leg.PROVIDER, plant, key, -amount] += 1
            return
        case B.AMOUNT:
            wrong = chance.choice([amount + chance.randint(1, 99), -amount, 0])
            if wrong:
                line = line._replace(amount_minor=wrong, fee_minor=fee_of(wrong))
                difference = wrong - amount
            else:  # the right number in another currency is not the right amount
                line = line._replace(currency="USD")
                difference = -amount
        case B.DAY:
            line = line._replace(booked_on=line.booked_on - timedelta(days=3))
        case B.DUPLICATE:
            made.file.append(line)
            difference = amount
        case B.WRONG_LOAN:
            line = line._replace(loan_id=line.loan_id + 10_000)
        case B.FEE:
            line = line._replace(fee_minor=line.fee_minor + chance.choice([-3, 5]))
        case None if abs(amount) > 200 and chance.random() < 0.2:
            part = amount // 3  # paid in two parts, under one reference
            for each in (part, amount - part):
                made.file.append(line._replace(amount_minor=each, fee_minor=fee_of(each)))
            return
        case None if chance.random() < 0.2:
            line = line._replace(reference="", loan_id=0)  # only amount, day and party tell
        case _:
            pass
    made.file.append(line)
    if plant in (B.AMOUNT, B.DAY, B.DUPLICATE, B.WRONG_LOAN, B.FEE):
        made.planted[Leg.PROVIDER, plant, key, difference] += 1


def _settle(made: Day, chance: Random) -> None:
    """The bank's lines for the provider's batches, right or wrong."""
    due: dict[str, date] = {}
    net: Counter[str] = Counter()
    fees: Counter[str] = Counter()
    for line in made.file:
        later = line.booked_on + timedelta(days=1)
        while later.weekday() > 4:
            later += timedelta(days=1)
        due[line.batch] = max(due.get(line.batch, later), later)
        if line.currency == "CNY":
            net[line.batch] += line.amount_minor - line.fee_minor
            fees[line.batch] += line.fee_minor
    arrived = [batch for batch, day in due.items() if day <= made.through]
    if len(arrived) == len(due) > 1 and len(set(due.values())) == 1 and chance.random() < 0.2:
        total, day = sum(net[batch] for batch in arrived), due[arrived[0]]
        made.bank.append(FileLine(0, "", total, "CNY", day))  # one line for the whole day
        return
    for batch in arrived:
        _book(made, chance, FileLine(0, batch, net[batch], "CNY", due[batch]), fees[batch])
    for kind in (B.MISSING_WITH_US, B.UNKNOWN):
        if chance.random() < 0.15:
            amount = chance.randint(10**9, 2 * 10**9)
            key = f"Y{made.number}" if kind is B.MISSING_WITH_US else ""
            made.bank.append(FileLine(0, key, amount, "CNY", made.through))
            made.planted[Leg.BANK, kind, key, amount] += 1


def _book(made: Day, chance: Random, line: FileLine, fee: int) -> None:
    plant = chance.choice([*BANK_PLANTS[1:6], *[None] * 10])
    key, amount = line.reference, line.amount_minor
    difference = 0
    match plant:
        case B.MISSING_WITH_THEM:
            made.planted[Leg.BANK, plant, key, -amount] += 1
            return
        case B.AMOUNT:
            difference = fee + chance.randint(1, 99)
            line = line._replace(amount_minor=amount + difference)
        case B.DAY:
            line = line._replace(booked_on=line.booked_on + timedelta(days=2))
        case B.DUPLICATE:
            made.bank.append(line)
            difference = amount
        case B.FEE if fee:
            difference = chance.choice([-fee, fee])
            line = line._replace(amount_minor=amount + difference)
        case None if chance.random() < 0.2:
            half = amount // 2
            made.bank += [
                line._replace(amount_minor=half),
                line._replace(amount_minor=amount - half),
            ]
            return
        case None if chance.random() < 0.2:
            line = line._replace(reference="")
        case _:
            pass
    made.bank.append(line)
    if plant is not None and not (plant is B.FEE and not fee):
        made.planted[Leg.BANK, plant, key, difference] += 1

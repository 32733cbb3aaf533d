"""Results by arm, segment, desk and agency against a fold in plain Python over the same rows."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

from tests.platform.sandbox import Sandbox
from tests.platform.test_contacts import owner
from tests.platform.test_desks import pay, read
from usance.platform.reads.collections.collection_results import ResultsBy, results

FIRST = date(2024, 1, 1)
USERS, DAYS = 60, 75


class Life:
    """Evenings, payments, contacts and promises of a borrower, drawn by chance."""

    def __init__(self, user: int, chance: random.Random) -> None:
        self.user, self.arm = user, ("champion", "early_call")[user % 2]
        self.segment = chance.choice(["large", "other"])
        self.evenings: dict[int, int] = {}
        self.payments: list[tuple[int, int]] = []
        self.contacts: list[tuple[int, str]] = []
        self.promises: list[tuple[int, str]] = []
        day = chance.randint(0, 40)
        while day < DAYS:
            for late in range(1, chance.randint(2, 60)):
                if day < DAYS:
                    self.evenings[day] = late
                    if chance.random() < 0.1:
                        self.contacts.append((day, chance.choice(["voice", "message"])))
                    if chance.random() < 0.04:
                        state = chance.choice(["kept", "broken", "partly", "open"])
                        self.promises.append((day, state))
                    if chance.random() < 0.05:
                        self.payments.append((day, chance.randint(1, 9) * 1_000))
                day += 1
            day += chance.randint(1, 50)

    @staticmethod
    def stage(late: int) -> int:
        return 1 if late < 4 else 2 if late < 31 else 3

    def statements(self) -> list[str]:
        on = {day: FIRST + timedelta(days=day) for day in range(DAYS + 40)}
        made = [
            f"insert into usance.case_days values ('{on[day]}', {self.user}, {late}, 10000, 50000, "
            f"1, {self.stage(late)}, '{self.segment}', '{self.arm}')"
            for day, late in self.evenings.items()
        ]
        made += [pay(self.user * 16_384 + 1, 2 + number, on[day], amount)
                 for number, (day, amount) in enumerate(self.payments)]  # fmt: skip
        made += [
            "insert into usance.contact_attempts values "
            f"({self.user * 1000 + n}, {self.user}, {-self.user}, '{by}', 1, '', "
            f"'{on[day]} 04:00+00', '{on[day]}', '12:00', {0 if by == 'message' else 1}, "
            "'not_connected', null)"
            for n, (day, by) in enumerate(self.contacts)
        ]
        made += [
            "insert into usance.promises values "
            f"({self.user * 1000 + n}, {self.user}, '{on[day]}', '{on[day]}', 1, 'voice', 1, "
            f"'{state}')"
            for n, (day, state) in enumerate(self.promises)
        ]
        return made

    def began(self, by: ResultsBy, last: int) -> dict[str, int]:
        """The day on which the case came to each group first, within the span."""
        found: dict[str, int] = {}
        for day, late in sorted(self.evenings.items()):
            if day > last:
                break
            before = self.evenings.get(day - 1)
            if by is ResultsBy.DESK:
                if before is None or self.stage(before) != self.stage(late):
                    found.setdefault(self.desk(late), day)
            elif before is None:
                found.setdefault(self.arm if by is ResultsBy.ARM else self.segment, day)
                break
        return found

    def desk(self, late: int) -> str:
        if late < 4:
            return "m1" if self.arm == "early_call" else "robot"
        return "m1" if late < 31 else "senior"


def expected(lives: list[Life], by: ResultsBy, last: int, known: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for life in lives:
        for group, day in life.began(by, last).items():
            own = found.setdefault(group, dict.fromkeys(
                ("cases", "known_cases", "collected_minor", "contacts", "cured", "rolled",
                 "promises", "promises_kept", "promises_judged"), 0))  # fmt: skip
            window = range(day, day + 31)
            states = [state for at, state in life.promises if at in window]
            own["cases"] += 1
            own["contacts"] += sum(at in window for at, _ in life.contacts)
            own["collected_minor"] += min(
                10_000, sum(amount for at, amount in life.payments if at in window)
            )
            own["promises"] += len(states)
            own["promises_kept"] += states.count("kept")
            own["promises_judged"] += sum(each != "open" for each in states)
            if day <= known:
                own["known_cases"] += 1
                own["cured"] += any(at not in life.evenings for at in range(day + 1, day + 31))
                then, late = life.evenings.get(day + 30), life.evenings[day]
                own["rolled"] += then is not None and (then - 1) // 30 > (late - 1) // 30
    return found


def test_results_are_those_of_plain_python(sandbox: Sandbox) -> None:
    chance = random.Random(29)
    lives = [Life(user, chance) for user in range(1, USERS + 1)]
    owner(
        sandbox,
        *(each for life in lives for each in life.statements()),
        f"update usance.installation set business_date = '{FIRST + timedelta(days=74)}'",
    )
    last, known = 60, 43
    for by in (ResultsBy.ARM, ResultsBy.SEGMENT, ResultsBy.DESK):
        told = read(sandbox, "system", results, FIRST, FIRST + timedelta(days=last), by)
        wanted = expected(lives, by, last, known)
        assert told["is_complete"] is False
        assert {each[by.value] for each in told["groups"]} == set(wanted)
        for each in told["groups"]:
            own = wanted[each[by.value]]
            assert {name: each[name] for name in own} == own
            assert each["past_due_minor"] == 10_000 * own["cases"]
            assert each["cure_ppm"] == own["cured"] * 1_000_000 // own["known_cases"]
            assert each["roll_ppm"] == own["rolled"] * 1_000_000 // own["known_cases"]
            assert each["kept_ppm"] == own["promises_kept"] * 1_000_000 // own["promises_judged"]
    assert sum(each["rolled"] for each in expected(lives, ResultsBy.ARM, last, known).values()) > 3


def test_an_agencys_results_begin_with_its_placement(sandbox: Sandbox) -> None:
    body: dict[str, Any] = {"name": "north", "commission_ppm": 1, "max_cases": 9,
                            "valid_from": "2024-01-01"}  # fmt: skip
    sandbox.do("system", "agency.put", body)
    number = sandbox.sql(
        "system", "select principal_id from usance.principals where name = 'north'"
    )
    placed = FIRST + timedelta(days=9)
    owner(
        sandbox,
        "insert into usance.case_days select date '2024-01-09' + n, 1, 61 + n, 9000, 9000, 1, 4, "
        "'other', 'champion' from generate_series(0, 40) n",
        f"insert into usance.agency_placements values (1, {number}, '{placed}', 9000, 0, null)",
        pay(16_385, 2, placed - timedelta(days=1), 700), pay(16_385, 3, placed, 800),
        "update usance.installation set business_date = '2024-03-01'",
    )  # fmt: skip
    told = read(sandbox, "system", results, FIRST, FIRST + timedelta(days=30), ResultsBy.AGENCY)
    [north] = told["groups"]
    assert (north["agency"], north["cases"], north["collected_minor"]) == ("north", 1, 800)
    assert (north["cured"], north["rolled"]) == (0, 1)
    assert told["uplift"] == []

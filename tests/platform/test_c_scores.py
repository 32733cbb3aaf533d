"""C-scores of a lender: trained on its own tables, in force by two, watched after outcomes."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.platform.sandbox import Sandbox
from tests.platform.test_contacts import at, owner
from usance.base.errors import InputError
from usance.platform.desk.c_scores import CaseHistory, case_history, rows_of, trained, watched
from usance.platform.desk.case_values import CHANNELS
from usance.platform.desk.collection_settings import MODEL_FILES, model_of
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.reads.collections.cases import one_case
from usance.service.collections.action_value import REACH_PPM
from usance.service.collections.contact_rules import Channel
from usance.service.collections.history import Attempts, CaseDays, Events

FIRST, EVENING = date(2024, 5, 1), date(2024, 7, 2)
BORROWERS = 900


def chance(days_late: np.ndarray[Any, Any], paid_before: np.ndarray[Any, Any]) -> Any:
    """Planted: those who paid in the last months pay again, and fewer the later they are."""
    return 1 / (1 + np.exp(-(0.2 + 2.0 * paid_before - days_late / 15)))


def history(seed: int, *, first_user: int = 1, shift: int = 0) -> list[str]:
    """Case days and payments of borrowers, planted; `shift` makes everybody that much later."""
    random = np.random.default_rng(seed)
    late = random.integers(1, 40, BORROWERS) + shift
    before = random.random(BORROWERS) < 0.5
    pays = random.random(BORROWERS) < chance(late, before)
    days, facts = [], []
    for number in range(BORROWERS):
        user, evening = first_user + number, FIRST + timedelta(days=number % 40)
        days.append(f"('{evening}', {user}, {late[number]}, 50000, 900000, 1, 2, '', '')")
        for paid, since, ref in ((before[number], -20, 1), (pays[number], 6, 2)):
            if paid:
                facts.append(fact(user, ref, evening + timedelta(days=since)))
    return [f"insert into usance.case_days values {', '.join(days)}", paid_in(*facts)]


def fact(user: int, ref: int, day: date) -> str:
    return f"({user * 16384 + 1}, '{day}', 4, {ref}, 1000, 0, now())"


def paid_in(*facts: str) -> str:
    """Payment facts as the store holds them."""
    return ("insert into usance.facts (loan_id, effective_on, kind, ref, amount_minor, arg, "
            f"booked_at) values {', '.join(facts)}")  # fmt: skip


def reasons(sandbox: Sandbox, user: int) -> Any:
    """Reasons for the next action of a case, as its page tells them."""

    async def work(platform: Platform) -> Any:
        async with platform.reading(SYSTEM) as found:
            return (await one_case(found.transaction, found.moment, user))["action"]

    return sandbox.within(work)


def test_rows_of_contacts_are_those_of_a_channel() -> None:
    none = np.zeros(0, np.int64)
    days = CaseDays.of(user_id=[1, 2], day=[100, 100], days_past_due=[2, 2], loans=[1, 1],
                       past_due_minor=[5, 5], principal_minor=[9, 9])  # fmt: skip
    channels = [CHANNELS.index(each) for each in ("voice", "message", "message")]
    tried = Attempts.of(user_id=[1, 1, 2], day=[101, 102, 102], channel=channels,
                        connected=[0, 1, 0])  # fmt: skip
    known = CaseHistory(days, Events(none, none, none), tried, 140)
    found = {name: rows_of(known, name)["missed"].tolist()
             for name in ("missed", "missed_voice", "missed_message")}  # fmt: skip
    assert found == {"missed": [1], "missed_voice": [1], "missed_message": [0, 1]}
    with pytest.raises(InputError, match="no case day has an outcome of 'missed_email'"):
        rows_of(known, "missed_email")
    with pytest.raises(InputError, match="unknown C-score 'missed_pigeon'"):
        rows_of(known, "missed_pigeon")


def read(sandbox: Sandbox) -> CaseHistory:
    async def work(platform: Platform) -> CaseHistory:
        async with platform.database.transaction(0) as transaction:
            return await case_history(transaction)

    return sandbox.within(work)


@pytest.mark.slow
def test_a_c_score_of_the_lenders_own_cases_decides_and_is_watched(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    from usance.assess.training.train import write_model

    owner(sandbox, *history(5))
    with pytest.raises(InputError, match="no case day has an outcome of 'missed'"):
        rows_of(read(sandbox), "missed")
    rows = rows_of(read(sandbox), "unpaid")
    # The last ten evenings have no outcome yet.
    known = sum(number % 40 <= 29 for number in range(BORROWERS))
    assert len(rows["unpaid"]) == known
    model = trained(read(sandbox), "unpaid", threads=1)
    write_model(model, tmp_path)
    assert model.info["held_out"][model.kind]["auc"] > 0.7
    files = {name: (tmp_path / name).read_text(encoding="utf-8") for name in MODEL_FILES}
    put = {"target": "unpaid", "files": files, "valid_from": EVENING}
    waits = sandbox.do("control", "c_score.put", put)
    assert waits.answer["needed"] == 2
    payer, other = 5_001, 5_002
    loans = [[user * 16384 + 1, 10, 50_000, 900_000] for user in (payer, other)]
    evening = {"day": EVENING, "loans": loans}
    at(sandbox, f"{EVENING} 14:00+00")
    owner(sandbox, f"update usance.installation set business_date = '{EVENING}'",
          paid_in(fact(payer, 1, EVENING - timedelta(days=20))))  # fmt: skip
    sandbox.do("system", "cases.serve", evening)
    worth = "select array_agg(priority_minor order by user_id)::text from usance.cases"
    before = sandbox.sql("system", worth).strip("{}").split(",")
    assert before[0] == before[1]  # by stage alone nobody differs
    sandbox.do("system", "c_score.put", put)
    sandbox.do("system", "cases.serve", evening)
    likely, unlikely = map(int, sandbox.sql("system", worth).strip("{}").split(","))
    # A call adds less to somebody who would pay anyway.
    assert likely < unlikely

    # The chance to reach them is that of the channel's own score, else of calls, else assumed.
    told = [reasons(sandbox, other)]
    called = Channel(told[0]["wanted_channel"])
    assert called.is_call
    for name in ("missed", f"missed_{called.value}"):
        sandbox.do("system", "c_score.put", {**put, "target": name})
        told.append(reasons(sandbox, other))
    assert [(each["pays_by"], each["reach_by"]) for each in told] == [
        ("unpaid", "assumed"), ("unpaid", "missed"), ("unpaid", f"missed_{called.value}")
    ]  # fmt: skip
    assert told[0]["reach_ppm"] == REACH_PPM[called]
    assert told[1]["reach_ppm"] == told[2]["reach_ppm"] == told[2]["pays_ppm"]
    sandbox.do("system", "cases.serve", evening)
    moved = int(sandbox.sql("system", worth).strip("{}").split(",")[1])
    assert moved == told[2]["value_minor"] != unlikely

    in_force = model_of(files)
    owner(sandbox, f"delete from usance.case_days where day = '{EVENING}'")
    judged = [month for is_judged, month in watched(in_force, read(sandbox), "unpaid")
              if is_judged]  # fmt: skip
    assert sum(month.rows for month in judged) == known
    assert all(month.auc and month.auc > 0.65 for month in judged if month.rows >= 100)
    assert [month.notes for month in judged if month.state == "alarm"] == []
    owner(sandbox, "delete from usance.case_days", *history(6, first_user=20_001, shift=45))
    later = watched(in_force, read(sandbox), "unpaid")
    states = {is_judged: month for is_judged, month in later if month.rows >= 100}
    assert states[True].state == "alarm"
    assert states[False].state == "alarm"  # drift is seen before any outcome is known
    assert "days_past_due" in states[False].drifting

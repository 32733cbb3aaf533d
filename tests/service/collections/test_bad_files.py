"""Files of cases, agents and outcomes that are not as they should be are named, never a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from usance.cli import main
from usance.service.collections.strategy_file import SHIPPED

BIG = "9" * 26
FILES = {
    "loans.csv": "loan_id,days_past_due,past_due_minor,principal_minor\n16385,2,50,400\n",
    "cases.csv": "user_id,days_past_due,past_due_minor,principal_minor,loans,stage,opened_on\n"
    "1,2,50,400,1,1,19905\n",
    "values.csv": "user_id,value_minor,stage\n1,3980,2\n",
    "agents.csv": "name,slots,stages,languages,agency,skill_ppm\nanna,1,in_house,zh,,1100000\n",
    "results.csv": "arm,outcome\nchampion,1\n",
    "days.csv": "user_id,day,days_past_due,past_due_minor,principal_minor,loans\n1,1,2,5,4,1\n",
    "payments.csv": "user_id,day,amount\n1,9,5\n",
    "agencies.csv": "name,max_cases,fair_cases\nnorth,9,1\n",
    "euro.yaml": SHIPPED["EUR"].read_text(encoding="utf-8"),
}
CASES = "collect cases loans.csv --day 2024-07-01 --out out.csv"
ACTIONS = "collect actions cases.csv --out out.csv"
ALLOCATE = "collect allocate values.csv agents.csv --out out.csv"


@pytest.mark.parametrize(
    ("call", "file", "old", "new", "says"),
    [
        (CASES, "loans.csv", "50", BIG, f"loans.csv line 2: past_due_minor is {BIG}"),
        (CASES, "loans.csv", "50", "1_0", "loans.csv line 2: past_due_minor is '1_0'"),
        (CASES, "loans.csv", "16385", "0", "Give 1 to"),
        (CASES, "loans.csv", "", "", "out.csv is a folder"),
        (ACTIONS, "cases.csv", "1,1,19905", "1,9,19905", "stage is 9. Give 0 to 6"),
        (ACTIONS, "cases.csv", "19905", "19905\n1,3,50,400,1,1,19905",
         "cases.csv line 3: user_id 1 is there twice"),
        (f"{ACTIONS} --before cases.csv".replace("actions cases.csv", "cases loans.csv --day "
         "2024-07-01"), "cases.csv", "19905", "19905\n1,3,50,400,1,1,19905", "is there twice"),
        (ALLOCATE, "values.csv", "3980,2", "3980,2\n2,5,2\n1,3,2",
         "values.csv line 4: user_id 1 is there twice"),
        (f"{ALLOCATE} --agencies agencies.csv", "agencies.csv", "9,1", "9,1\nnorth,8,1",
         "agencies.csv line 3: north is there twice"),
        (f"{ACTIONS} --strategy euro.yaml", "euro.yaml", "", "", "Give --pack of its country"),
        (ALLOCATE, "agents.csv", "1100000", "[1]", "agents.csv line 2: skill_ppm is '[1]'"),
        (ALLOCATE, "agents.csv", "1100000", BIG, "Give 0 to 5000000"),
        (ALLOCATE, "agents.csv", "in_house", "home", "unknown stage 'home'"),
        (ALLOCATE, "values.csv", "3980", BIG, "values.csv line 2: value_minor"),
        ("collect uplift results.csv", "results.csv", "arm,", "way,", "has no column arm"),
        ("collect uplift results.csv", "results.csv", ",1", f",{BIG}", "outcome is"),
        (
            "collect history days.csv payments.csv --channel pigeon --out out.csv",
            "days.csv", "", "", "unknown channel 'pigeon'",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_named(
    call: str, file: str, old: str, new: str, says: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        place = Path(name)
        place.write_text(text.replace(old, new, 1) if old and name == file else text)
    if "is a folder" in says:
        Path("out.csv").mkdir()
    assert main(call.split()) == 2
    assert says in capsys.readouterr().err
    assert not Path("out.csv").is_file()

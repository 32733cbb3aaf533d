"""The checker on a table small enough to see through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.disclose.filings import HEADER, SMALL, read_small
from usance.base.errors import UsanceError
from usance.cli import main
from usance.disclose import Report, TieKind, check_facts, load_profile, rebuild_facts
from usance.disclose.profile import DEFAULT

KINDS = ["exact", "rounded", "interval", "plug", "restated", "broken"]
KEYS = {"kind", "rule", "document", "statement", "line", "period", "expected", "found"}


def checked(folder: Path, text: str = SMALL) -> Report:
    return check_facts(read_small(folder, text), load_profile())


def test_a_table_that_ties(tmp_path: Path) -> None:
    report = checked(tmp_path)
    assert report.root_causes == ()
    assert report.as_dict()["counts"] == dict.fromkeys(KINDS, 0) | {"exact": report.ties}


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("RMB,thousand,1505", "RMB,thousand,1605", "Loans", "1505"),
        ("USD,thousand,215", "USD,thousand,216", "Loans", "215"),
        ("USD,thousand,315", "USD,thousand,314", "TOTAL ASSETS", "315"),
        ("RMB,thousand,234,", "RMB,thousand,235,", "Income from operations", "234"),
        ("percent,10.0", "percent,13.0", "Volume - change vs 2023Q1", "10.0"),
    ],
)
def test_the_wrong_cell_is_named(
    tmp_path: Path, old: str, new: str, line: str, expected: str
) -> None:
    [finding] = checked(tmp_path, SMALL.replace(old, new)).as_dict()["findings"]
    assert not KEYS - finding.keys()
    assert (finding["kind"], finding["line"]) == ("broken", line)
    assert (finding["expected"], finding["found"]) == (expected, new.rstrip(",").split(",")[-1])


def test_a_change_within_its_inputs_is_an_interval(tmp_path: Path) -> None:
    """110 and 100 may be 110.4 and 99.6: anything from 9.0 to 11.1 can be printed."""
    kinds = {}
    for printed in ("10.0", "11.0", "9.0", "11.2"):
        report = checked(tmp_path, SMALL.replace("percent,10.0", f"percent,{printed}"))
        kinds[printed] = [cause.kind for cause in report.root_causes]
    assert kinds == {
        "10.0": [], "11.0": [TieKind.INTERVAL], "9.0": [TieKind.INTERVAL], "11.2": [TieKind.BROKEN],
    }  # fmt: skip


def test_a_plug_is_a_leaf_off_its_translation_in_a_column_that_foots(tmp_path: Path) -> None:
    moved = SMALL.replace("USD,thousand,215", "USD,thousand,216")
    plugged = moved.replace("USD,thousand,315", "USD,thousand,316")
    [cause] = checked(tmp_path, plugged).root_causes
    assert (cause.kind, cause.cell.line, cause.cell.currency) == (TieKind.PLUG, "Loans", "USD")
    wide = SMALL.replace("USD,thousand,215", "USD,thousand,315")
    far = checked(tmp_path, wide.replace("USD,thousand,315,1", "USD,thousand,415,1"))
    assert [cause.kind for cause in far.root_causes] == [TieKind.BROKEN]


def test_a_sum_of_many_lines_lists_its_suspects(tmp_path: Path) -> None:
    parts = "".join(f"A,notes,Part {n},Whole,2024Q1,RMB,thousand,{n}00,0\n" for n in range(1, 5))
    text = f"{HEADER}\n{parts}A,notes,Whole,,2024Q1,RMB,thousand,1300,1\n"
    [cause] = checked(tmp_path, text).root_causes
    assert cause.cell.line == "Whole"
    assert [cause.expected, cause.found] == [1_000_000, 1_300_000]
    assert {fact.line for fact in cause.suspects} == {"Whole", *(f"Part {n}" for n in range(1, 5))}


def test_a_part_that_all_columns_take_off_is_taken_off(tmp_path: Path) -> None:
    columns = [("2023Q1", 100, 30, 70), ("2024Q1", 120, 40, 80), ("2024Q2", 150, 60, 91)]
    rows = "".join(
        f"A,notes,Gross,Net,{period},RMB,thousand,{gross},0\n"
        f"A,notes,Discount,Net,{period},RMB,thousand,{off},0\n"
        f"A,notes,Net,,{period},RMB,thousand,{net},1\n"
        for period, gross, off, net in columns
    )
    [cause] = checked(tmp_path, f"{HEADER}\n{rows}").root_causes
    assert cause.cell.period.name == "2024Q2"
    assert cause.expected == 90_000


def test_the_json_of_both_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.csv"
    file.write_text(SMALL.replace("RMB,thousand,234,", "RMB,thousand,235,"), encoding="utf-8")
    assert main(["disclose", "check", str(file), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert list(answer["counts"]) == KINDS
    assert [each["line"] for each in answer["findings"]] == ["Income from operations"]
    assert main(["disclose", "rebuild", str(file), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["derived"], answer["equal"]) == (6, 5)
    [difference] = answer["differences"]
    assert (difference["rebuilt"], difference["printed"]) == ("234", "235")
    assert difference["kind"] == "slip"


def test_the_words_of_both_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.csv"
    file.write_text(SMALL.replace("RMB,thousand,1505", "RMB,thousand,1605"), encoding="utf-8")
    assert main(["disclose", "check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "broken: Loans (TOTAL ASSETS), 2024-03-31 RMB" in out
    assert "expected  1505, found 1605 (one digit differs)" in out
    assert main(["disclose", "rebuild", str(file)]) == 1
    assert "equal" in capsys.readouterr().out


def test_nothing_divides_by_zero(tmp_path: Path) -> None:
    text = SMALL.replace("2023Q1,RMB,million,100", "2023Q1,RMB,million,0")
    facts = read_small(tmp_path, text)
    [cause] = check_facts(facts, load_profile()).root_causes
    assert (cause.kind, cause.cell.period.name) == (TieKind.BROKEN, "2023Q1")
    [difference] = rebuild_facts(facts, load_profile()).differences
    assert difference.rebuilt is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("method: half_up ", "method: halfup ", "unknown method 'halfup'. Did you mean 'half_up'?"),
        ("ads_ratio: 2 ", "ads_ratio: 0 ", "rounding.ads_ratio is 0"),
        ("summed: [", "sumed: [", "unknown key 'sumed'. Did you mean 'summed'?"),
        ("target: total_claims", "target: total_claim", "unknown concept 'total_claim'"),
        ("line: Restricted cash", "line: '(Restricted", "profile.yaml"),
        ("summed: [Number of loans originated]\n", "", "has no 'summed'"),
    ],
)
def test_a_wrong_profile_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = DEFAULT.read_text(encoding="utf-8")
    old = old if old in text else "line: 'Restricted cash"
    file = tmp_path / "profile.yaml"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsanceError) as caught:
        load_profile(file)
    assert message in str(caught.value)


def test_the_exit_code_says_that_nothing_is_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interval, as a plug or a restatement, is no break."""
    file = tmp_path / "a.csv"
    file.write_text(SMALL.replace("percent,10.0", "percent,11.0"), encoding="utf-8")
    assert main(["disclose", "check", str(file)]) == 0
    assert "interval: Volume" in capsys.readouterr().out
    assert main(["disclose", "rebuild", str(file)]) == 0


SHARES = """\
A,operations,Diluted,Weighted average shares,2024Q1,n/a,shares,289427077,0
A,non_gaap_reconciliation,Weighted average ADS -diluted,,2024Q1,n/a,ads,{},0
"""


@pytest.mark.parametrize(
    ("ads", "broken"), [("144713538", 0), ("144713539", 0), ("144713537", 1), ("144713540", 1)]
)
def test_a_half_may_be_rounded_either_way(tmp_path: Path, ads: str, broken: int) -> None:
    needed = "".join(
        f"A,{statement},X,,{period},RMB,thousand,1,0\n"
        for statement, period in (("cash_flows", "2024Q1"), ("comprehensive_income", "2024Q1"))
    )
    facts = read_small(tmp_path, SMALL + SHARES.format(ads) + needed)
    report = check_facts(facts, load_profile())
    assert report.counts.get(TieKind.BROKEN, 0) == broken
    rebuilt = rebuild_facts(facts, load_profile())
    assert len(rebuilt.differences) == broken


TEXT = """\
A,operations,Income before income tax expense,Net income,2024Q1,RMB,thousand,1802345,1
A,operations,Income taxes expense,Net income,2024Q1,RMB,thousand,-642345,0
A,operations,Net income,,2024Q1,RMB,thousand,1160000,1
A,release_results,Income before income tax expense,,2024Q1,RMB,million,1802.3,0
A,release_results,Income tax expense,,2024Q1,RMB,million,642.3,0
A,release_results,Net income,,2024Q1,RMB,million,1160.0,0
A,release_results,Income before income tax expense,,2023Q4,RMB,million,2356.9,0
A,release_results,Income tax expense,,2023Q4,RMB,million,558.1,0
A,release_results,Net income,,2023Q4,RMB,million,{},0
"""


@pytest.mark.parametrize(("net", "broken"), [("1798.8", 0), ("2915.0", 1)])
def test_a_figure_of_the_text_alone_has_the_sign_of_its_line(
    tmp_path: Path, net: str, broken: int
) -> None:
    """The table prints tax in brackets, the text by its size: so it does in other quarters."""
    needed = "".join(
        f"A,{statement},X,,2024Q1,RMB,thousand,1,0\n"
        for statement in ("cash_flows", "comprehensive_income", "non_gaap_reconciliation")
    )
    report = checked(tmp_path, SMALL + TEXT.format(net) + needed)
    causes = [cause for cause in report.root_causes if cause.kind is TieKind.BROKEN]
    assert len(causes) == broken, list(report.lines())


def test_a_charge_with_a_turned_sign_in_the_text_is_found(tmp_path: Path) -> None:
    needed = "".join(
        f"A,{statement},X,,2024Q1,RMB,thousand,1,0\n"
        for statement in ("cash_flows", "comprehensive_income", "non_gaap_reconciliation")
    )
    text = TEXT.format("1798.8") + TEXT.format("1798.8").replace("2024Q1", "2024H1").partition(
        "A,release_results,Income before income tax expense,,2023Q4"
    )[0].replace("release_results", "release_highlights")
    turned = text.replace("Income tax expense,,2024Q1,RMB,million,642.3",
                          "Income tax expense,,2024Q1,RMB,million,-642.3")  # fmt: skip
    assert turned != text
    report = checked(tmp_path, SMALL + turned + needed)
    assert report.is_broken

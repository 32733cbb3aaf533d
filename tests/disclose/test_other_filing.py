"""Another filing of the same kind: other periods, restated columns, another profile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.disclose.filings import paths, rows_of, text_of
from usance.disclose import TieKind, check, rebuild
from usance.disclose.profile import DEFAULT

# A half-year release moved to the third quarter: nine months instead of six.
LATER = {
    "2024Q2": "2024Q3", "2023Q2": "2023Q3", "2024H1": "9M2024", "2023H1": "9M2023",
    "2024-06-30": "2024-09-30", "2023-06-30": "2023-09-30", "2024Q1": "2024M6", "2024Q3": "2024Q4",
}  # fmt: skip


def later(shared: Path, folder: Path) -> Path:
    rows = rows_of(paths(shared, "002")[0])
    for row in rows[1:]:
        head, mark, base = row[2].rpartition(" - change vs ")
        row[0], row[2] = "00X", head + mark + LATER.get(base, base) if mark else row[2]
        row[4] = LATER.get(row[4], row[4]).replace("2024M6", "2024H1")
        row[7] = "September 30, 2024" if row[2] == "Rate date" else row[7]
    file = folder / "00X.csv"
    file.write_text(text_of(rows), encoding="utf-8")
    return file


def test_nine_months_tie_out_like_six(shared: Path, tmp_path: Path) -> None:
    counts = check([later(shared, tmp_path)]).as_dict()["counts"]
    assert (counts["broken"], counts["plug"]) == (8, 1)
    report = rebuild(tmp_path / "00X.csv")
    assert 100 * report.equal >= 97 * report.derived


def test_findings_name_a_period_as_the_table_does(shared: Path, tmp_path: Path) -> None:
    findings = check([later(shared, tmp_path)]).as_dict()["findings"]
    assert {"9M2023", "9M2024"} <= {each["period"] for each in findings}


def either_sign(text: str) -> str:
    """Names of a line that is also known by its other sign."""
    return text.replace("Net income", "Net income (loss)").replace(
        "Income from", "(Loss) income from"
    )


WORDINGS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "case": (str.upper, str.title),
    "spaces": (lambda text: text.replace(" ", " \u00a0"), str),
    "dashes": (lambda text: text.replace("-", "\u2013"), str),
    "footnotes": (lambda text: f"{text} (1)", str),
    "marks": (lambda text: f"{text}\u00b9*", lambda text: f"{text}:"),
    "the company": (lambda text: text.replace("Qifu Technology, Inc.", "the Company"),) * 2,
    "other sign": (either_sign, either_sign),
    "ampersand": (lambda text: text.replace(" and ", " & "), str),
}


def worded(shared: Path, folder: Path, name: str, wording: str) -> Path:
    line, parent = WORDINGS[wording]
    rows = rows_of(paths(shared, name)[0])
    for row in rows[1:]:
        if row[6] not in ("text", "date") and row[1] != "management_quote":
            row[2], row[3] = line(row[2]), parent(row[3]) if row[3] else ""
    file = folder / f"{name}.csv"
    file.write_text(text_of(rows), encoding="utf-8")
    return file


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("name", ["000", "002"])
def test_other_wording_of_the_same_lines(
    shared: Path, tmp_path: Path, name: str, wording: str
) -> None:
    file = worded(shared, tmp_path, name, wording)
    found, known = check([file]).as_dict(), check(paths(shared, name)).as_dict()
    assert [found[key] for key in ("counts", "ties", "covered")] == [
        known[key] for key in ("counts", "ties", "covered")
    ]
    made, before = rebuild(file), rebuild(paths(shared, name)[0])
    assert (made.derived, made.equal) == (before.derived, before.equal)


def test_thousands_a_program_wrote_with_a_point(shared: Path, tmp_path: Path) -> None:
    rows = rows_of(paths(shared, "000")[0])
    for row in rows:
        row[7] += ".0" if row[6] == "thousand" else ""
    (tmp_path / "000.csv").write_text(text_of(rows), encoding="utf-8")
    assert check([tmp_path / "000.csv"]).counts == check(paths(shared, "000")).counts


def restated(shared: Path, folder: Path, *, note: bool) -> Path:
    """The first quarter again, with 300 moved into two lines of the opening balance sheet."""
    rows = rows_of(paths(shared, "000")[0])
    moved = {
        "Prepaid expenses and other assets", "Total current assets", "TOTAL ASSETS",
        "Accrued expenses and other current liabilities", "Total current liabilities",
        "TOTAL LIABILITIES", "TOTAL LIABILITIES AND EQUITY",
    }  # fmt: skip
    for row in rows[1:]:
        row[0] = "00R"
        if row[1] == "balance_sheet" and row[4] == "2023-12-31" and row[2] in moved:
            row[7] = str(int(row[7]) + 300)
    if note:
        rows.append(
            ["00R", "notes", "Restated balances", "", "2023-12-31", "n/a", "text", "x", "0"]
        )
    file = folder / "00R.csv"
    file.write_text(text_of(rows), encoding="utf-8")
    return file


@pytest.mark.parametrize(("note", "words"), [(True, "with a note"), (False, "without a note")])
def test_a_restated_column(shared: Path, tmp_path: Path, note: bool, words: str) -> None:
    report = check([restated(shared, tmp_path, note=note), *paths(shared, "003")])
    found = [root for root in report.root_causes if root.kind is TieKind.RESTATED]
    assert {root.cell.line for root in found} == {
        "Prepaid expenses and other assets", "Accrued expenses and other current liabilities",
    }  # fmt: skip
    assert [len(root.dependants) for root in found] == [2, 3]
    assert all(root.tie.rule.endswith(words) for root in found)
    assert report.as_dict()["counts"]["broken"] == 1


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        ("ads_ratio: 2 ", "ads_ratio: 1 ", "per ADS = ratio x printed per share"),
        ("totals: footed ", "totals: translated ", "translated at the document's rate"),
        ("per_ads: published ", "per_ads: direct ", "per ADS = ratio x income / shares"),
        ("{million: 1,", "{million: 2,", "text = table value, rounded"),
    ],
)
def test_another_profile_says_otherwise(
    shared: Path, tmp_path: Path, old: str, new: str, broken: str
) -> None:
    text = DEFAULT.read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "profile.yaml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    report = check(paths(shared, "000"), profile=file)
    assert broken in {root.tie.rule for root in report.root_causes if root.kind is TieKind.BROKEN}

"""Another filing of the same kind: other periods, restated columns, another profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.disclose.filings import paths, rows_of, text_of
from usance.disclose import Kind, check, rebuild
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
    found = [root for root in report.roots if root.kind is Kind.RESTATED]
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
    assert broken in {root.tie.rule for root in report.roots if root.kind is Kind.BROKEN}

"""Figures a table leaves out: a release of primary facts has every statement whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.disclose.filings import HEADER, NAMES, paths, rows_of, table_rows, text_of
from usance.cli import main
from usance.disclose import Fact, check, load_profile, read_facts, rebuild
from usance.disclose.tie_out.completion import completed
from usance.disclose.tie_out.rebuilder import derivations_of

COMPANY = "Qifu Technology, Inc."
# What no table tells: what a manager quotes, and which shares and notes a filer picks out.
UNTOLD = ("management_quote", "business_highlights", "ifrs_reconciliation_notes", "release_results")
# Where a filer puts the residue of a column, and what is rounded from figures not printed.
FREE = ("cash_flows", "business_highlights", "share_repurchase")

Place = tuple[str, ...]


def place(fact: Fact) -> Place:
    name = load_profile().name_of
    parent = "" if fact.is_total else name(fact.parent)
    return fact.statement, name(fact.line), parent, fact.period.name, fact.currency, fact.unit


def primary(shared: Path, folder: Path, name: str) -> tuple[Path, list[Fact]]:
    """The rows of a filing that nothing makes, and the figures that were left out."""
    (path,) = paths(shared, name)
    facts = read_facts([path], load_profile())
    derived = list(derivations_of(facts, load_profile()))
    plugs = [fact for fact in facts if fact.currency == "USD" and fact.statement == "balance_sheet"]
    left_out = {fact.row for fact in (*derived, *plugs)}
    rows = [row for number, row in enumerate(rows_of(path), 1) if number not in left_out]
    file = folder / f"{name}.csv"
    file.write_text(text_of(rows), encoding="utf-8")
    return file, [*derived, *(fact for fact in plugs if fact not in derived)]


@pytest.mark.parametrize("name", NAMES)
def test_primary_facts_give_the_filing_again(shared: Path, tmp_path: Path, name: str) -> None:
    file, derived = primary(shared, tmp_path, name)
    facts = completed(read_facts([file], load_profile()), load_profile(), COMPANY)
    made = {place(fact): fact for fact in facts}
    assert len(made) == len(facts)
    missing = {fact.statement for fact in derived if place(fact) not in made}
    assert missing <= set(UNTOLD)
    other = [fact for fact in derived if made.get(place(fact), fact).value != fact.value]
    assert {fact.statement for fact in other} <= set(FREE)
    assert all(abs(made[place(fact)].value - fact.value) <= 2 * fact.step for fact in other)
    assert len(other) < len(derived) / 50


def test_lost_cells_come_out_as_inferred(shared: Path) -> None:
    facts = read_facts(paths(shared, "002"), load_profile())
    added = completed(facts, load_profile(), COMPANY)[len(facts) :]
    lost = table_rows(shared / "filings" / "lost_cells.csv")
    assert {(fact.line.lower(), fact.period.name, fact.currency, fact.text) for fact in added} == {
        (row["line"].lower(), row["period_or_date"], row["currency"], row["inferred_value"])
        for row in lost
    }


@pytest.mark.parametrize("name", ["000", "003"])
def test_a_whole_filing_stays_as_it_is(shared: Path, name: str) -> None:
    facts = read_facts(paths(shared, name), load_profile())
    assert completed(facts, load_profile(), COMPANY) == facts


LEAVES = f"""\
{HEADER}
A,balance_sheet,Cash and cash equivalents,Total current assets,2024-03-31,RMB,thousand,1003,0
A,balance_sheet,Restricted cash,Total current assets,2024-03-31,RMB,thousand,1003,0
A,balance_sheet,Payables,Total current liabilities,2024-03-31,RMB,thousand,1004,0
A,balance_sheet,Shareholders' equity,TOTAL EQUITY,2024-03-31,RMB,thousand,1002,0
A,operations,Fees,Total net revenue,2024Q1,RMB,thousand,900,0
A,operations,Wages,Total operating costs and expenses,2024Q1,RMB,thousand,500,0
A,operations,Income tax expense,Net income,2024Q1,RMB,thousand,-60,0
A,operations,Basic,Weighted average shares,2024Q1,n/a,shares,200000,0
A,convenience_translation,Rate,,2024-03-31,RMB,rmb_per_usd,7.0000,0
"""


def filled(folder: Path, text: str) -> Sequence[dict[str, str]]:
    file = folder / "leaves.csv"
    file.write_text(text, encoding="utf-8")
    out = folder / "out"
    command = ["disclose", "release", "--table", str(file), "--out", str(out)]
    assert main([*command, "--formats", "html,xlsx"]) == 0
    return table_rows(out / "A.csv")


def test_what_follows_is_filled_in(tmp_path: Path) -> None:
    rows = filled(tmp_path, LEAVES)
    values = {(row["line"], row["unit"], row["currency"]): row["value"] for row in rows
              if row["statement"] in ("balance_sheet", "operations")}  # fmt: skip
    assert values["TOTAL ASSETS", "thousand", "RMB"] == "2006"
    assert values["Income from operations", "thousand", "RMB"] == "400"
    assert values["Net income", "thousand", "RMB"] == "340"
    assert values["Net income", "thousand", "USD"] == "49"  # 129 - 71 - 9, each rounded
    assert values["Basic", "per_share", "RMB"] == "1.70"
    assert values["Basic", "per_ads", "RMB"] == "3.40"
    assert values["Basic", "per_share", "USD"] == "0.24"
    # 143 and 143 against 143 and 143: both sides close, so nothing is placed.
    assert values["Shareholders' equity", "thousand", "USD"] == "143"
    assert check([tmp_path / "out" / "A.csv"]).as_dict()["counts"]["broken"] == 0
    assert not rebuild(tmp_path / "out" / "A.csv").differences


def test_own_equity_closes_the_translated_column(tmp_path: Path) -> None:
    text = LEAVES.replace("thousand,1004,0", "thousand,1000,0").replace(",1002,0", ",1006,0")
    text = text.replace("thousand,1003,0", "thousand,1005,0").replace(",1006,0", ",1010,0")
    rows = filled(tmp_path, text)
    usd = {row["line"]: row["value"] for row in rows if row["currency"] == "USD"}
    assert usd["TOTAL ASSETS"] == usd["TOTAL LIABILITIES AND EQUITY"] == "288"
    assert usd["Shareholders' equity"] == "145"  # 1010 / 7 = 144.29 and one of rounding
    assert check([tmp_path / "out" / "A.csv"]).as_dict()["counts"]["broken"] == 0


def test_what_nothing_tells_stays_out(tmp_path: Path) -> None:
    text = "".join(line for line in LEAVES.splitlines(keepends=True) if "Rate" not in line)
    rows = filled(tmp_path, text)
    assert {row["currency"] for row in rows} == {"RMB", "n/a"}
    assert not [row for row in rows if row["statement"] == "cash_flows"]
    assert not [row for row in rows if "Diluted" in row["line"]]

"""Streams and forecasts that cannot be used: each is refused by name, with its line."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.match.mandates import document, mandates, source
from usance.base.errors import InputError, Problems
from usance.cli import main
from usance.match.plan.demand_file import demand_of, read_demand
from usance.match.router.explanation import explain_limit
from usance.match.router.requests import Requests, read_requests

HEADER = "requested_at,loan_id,product,amount_minor,months,rate_ppm,grade,region,channel"
BOOK = mandates()
ROWS = (
    "2024-06-01T08:00:00+08:00,16385,instalment,500000,12,240000,3,1,1",
    "2024-06-01T08:00:01+08:00,32769,sme,900000,6,180000,2,2,1",
    "2024-06-01T08:00:01+08:00,49153,0,60000,3,200000,5,1,2",
)


def stream(tmp_path: Path, *rows: str, header: str = HEADER) -> Path:
    file = tmp_path / "STREAM.csv"
    file.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return file


def refused(read: Callable[[], object]) -> list[InputError]:
    with pytest.raises(InputError) as caught:
        read()
    error = caught.value
    return list(error.errors) if isinstance(error, Problems) else [error]  # type: ignore[arg-type]


def test_a_sound_stream_is_read(tmp_path: Path) -> None:
    requests = read_requests(stream(tmp_path, *ROWS), mandates())
    assert requests.product.tolist() == [1, 2, 0]
    assert requests.user_id.tolist() == [1, 2, 3]


BROKEN = {
    "out of order": ((ROWS[1], ROWS[0]), "match.stream.order", "line 3"),
    "twice": ((ROWS[0], ROWS[1].replace("32769", "16385")), "match.stream.order", "line 3"),
    "amount": ((ROWS[0].replace("500000", "-5"),), "match.stream", "line 2"),
    "amount as text": ((ROWS[0].replace("500000", "5k"),), "match.stream", "line 2"),
    "product": ((ROWS[0].replace("instalment", "mortgage"),), "match.stream", "line 2"),
    "grade": ((ROWS[0].replace(",3,1,1", ",9,1,1"),), "match.stream", "line 2"),
    "no offset": ((ROWS[0].replace("+08:00", ""),), "match.stream", "line 2"),
    "empty cell": ((ROWS[0].replace("500000", ""),), "match.stream", "line 2"),
    "hexadecimal": ((ROWS[0].replace("500000", "0x10"),), "match.stream", "line 2"),
    "digits of another script": (
        (ROWS[0].replace("500000", "\N{ARABIC-INDIC DIGIT FIVE}"),),
        "match.stream",
        "line 2",
    ),
    "after blank lines": (
        ("", ROWS[0], "", ROWS[1].replace("900000", "0")),
        "match.stream",
        "line 5",
    ),
    "order after blank lines": (("", ROWS[1], "", ROWS[0]), "match.stream.order", "line 5"),
    "cells after blank lines": (("", ROWS[0], "", "1,2"), "match.stream", "line 5"),
    "nothing": ((), "match.stream", "STREAM.csv"),
    "too few cells": ((ROWS[0].rpartition(",")[0], ROWS[1]), "match.stream", "line"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_row_is_named(name: str, tmp_path: Path) -> None:
    rows, code, line = BROKEN[name]
    (found,) = refused(lambda: read_requests(stream(tmp_path, *rows), mandates()))
    assert found.code == code
    assert line in found.where
    assert found.fix


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "\n" + text,
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("16385", '"16385"'),
        lambda text: text.replace("T08", " 08"),
        lambda text: text.replace(":00+08", ":00.0000000+08"),
    ],
    ids=["mark", "Windows", "old Mac", "blank", "late", "spaces", "quotes", "no T", "fractions"],
)
def test_how_it_was_saved_does_not_matter(change: Callable[[str], str], tmp_path: Path) -> None:
    plain = read_requests(stream(tmp_path, *ROWS), BOOK)
    file = tmp_path / "other.csv"
    file.write_bytes(change("\n".join((HEADER, *ROWS)) + "\n").encode())
    other = read_requests(file, BOOK)
    for name in Requests.__slots__:
        assert getattr(plain, name).tolist() == getattr(other, name).tolist()


def test_other_separators_and_no_header_are_told_once(tmp_path: Path) -> None:
    file = tmp_path / "STREAM.csv"
    for text, what in (
        ("\n".join((HEADER, *ROWS)).replace(",", ";"), "its cells are separated by ';'"),
        ("\n".join(ROWS), "it has no header"),
    ):
        file.write_text(text, encoding="utf-8")
        (found,) = refused(lambda: read_requests(file, BOOK))
        assert found.what == what


def test_unknown_region_of_a_listed_set(tmp_path: Path) -> None:
    listed = mandates(source(), top="regions: [north]\n")
    (found,) = refused(lambda: read_requests(stream(tmp_path, *ROWS), listed))
    assert "region" in found.what


def test_missing_column_and_no_file(tmp_path: Path) -> None:
    short = stream(tmp_path, "16385,1", header="loan_id,product")
    assert {"has no column amount_minor"} < {
        error.what for error in refused(lambda: read_requests(short, mandates()))
    }
    (found,) = refused(lambda: read_requests(tmp_path / "none.csv", mandates()))
    assert "no such file" in found.what


@settings(max_examples=60)
@given(st.binary(max_size=300), st.integers(0, 2**32))
def test_garbage_is_refused_and_never_a_fault(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("junk")
    whole = ("\n".join((HEADER, *ROWS)) + "\n").encode()
    place = random.Random(seed).randrange(len(whole))
    for content in (junk, whole[:place] + junk + whole[place:]):
        (folder / "STREAM.csv").write_bytes(content)
        for read in (read_requests, read_demand):
            with suppress(InputError):
                read(folder / "STREAM.csv", BOOK)


def test_a_forecast_without_demand_or_with_nonsense(tmp_path: Path) -> None:
    from usance.match.plan.planner import make_plan

    head = "product,region,grade,months,amount_minor,rate_ppm,requests"
    file = tmp_path / "DEMAND.csv"
    file.write_text(f"{head}\nsme,1,3,12,500000,240000,0\n", encoding="utf-8")
    (found,) = refused(lambda: make_plan(read_demand(file, mandates()), mandates()))
    assert found.code == "match.demand"
    file.write_text(f"{head}\nsme,1,3,12,500000,240000,many\n", encoding="utf-8")
    (found,) = refused(lambda: read_demand(file, mandates()))
    assert "requests" in found.what


def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.yaml").write_text(document(), encoding="utf-8")
    files = [str(stream(tmp_path, *ROWS)), str(tmp_path / "m.yaml")]
    lost, size = str(tmp_path / "none" / "x"), ["--requests", "9", "--sources", "1"]
    for words, why in (
        (["replay", *files, "--routing", lost], "does not exist"),
        (["replay", *files, "--routing", str(tmp_path)], "is a folder"),
        (["forecast", files[0], "--out", lost], "does not exist"),
        (["stream", "steady", *size, "--out", files[0]], "cannot be written: File exists"),
    ):
        assert main(["match", *words]) == 2
        assert why in capsys.readouterr().err


def test_mandates_without_a_limit_have_none_to_explain() -> None:
    demand = demand_of(
        product=[2], region=[1], grade=[3], months=[12], amount_minor=[500_000],
        rate_ppm=[240_000], requests=[9],
    )  # fmt: skip
    (found,) = refused(lambda: explain_limit(demand, mandates(), 1))
    assert "have no limit" in found.fix

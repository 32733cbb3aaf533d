"""Country packs: what is shipped, own ones as folders, and one pack from quote to release."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from usance.base.book import Book
from usance.base.command_line import Session
from usance.base.errors import CodeError, CorruptFile, Problems, UsanceError
from usance.base.packs import REQUIRED, CountryPack, PackError, shipped_packs
from usance.base.parameters import COMMON, PACKS, Parameters
from usance.cli import main
from usance.loan.documents import loan_from_options
from usance.loan.quote import quote
from usance.loan.rates.cap import RateCapExceeded

DAY = date(2024, 6, 30)
LOAN = {"principal": "10000", "instalments": "12", "disbursed_on": "2024-06-30"}


def own_pack(folder: Path, **files: str) -> Path:
    texts = {"pack.yaml": "title: Ours\nextends: nl\n", **files}
    for name, text in texts.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


CAP = """\
description: The cap.
unit: rate
reference: Board
values:
  2020-01-01: {value: 9%, source: Board decision}
"""


def test_every_shipped_pack_states_what_the_first_one_states() -> None:
    def own(name: str) -> set[str]:
        return set(Parameters.load(PACKS / name / "parameters").by_name)

    for name in shipped_packs():
        assert own("cn") <= own(name), name
        assert set(REQUIRED) <= own(name)
        pack = CountryPack.load(name)
        assert pack.profile is not None
        assert set(pack.parameters.by_name) == set(Parameters.load().by_name)


def test_no_parameter_is_common_and_of_one_country_only() -> None:
    common = set(Parameters.load(COMMON).by_name)
    assert not common & set(REQUIRED)


def test_the_cap_of_the_netherlands_follows_statutory_interest() -> None:
    cap = CountryPack.load("nl").cap
    days = [(2019, 1, 1), (2021, 1, 1), (2023, 1, 1), (2023, 7, 1), (2024, 1, 1), (2025, 1, 1)]
    assert [cap(date(*day)).integer // 10_000 for day in days] == [14, 10, 12, 14, 15, 14]


def test_a_quote_is_held_against_the_measure_of_its_market() -> None:
    dutch = CountryPack.load("nl")
    # 14.05 % nominal is 14.99 % a year by the directive; 14.1 % is 15.05 %.
    terms = loan_from_options({**LOAN, "rate": "14.05%"}, dutch).terms[0]
    offer = quote(terms, dutch.parameters)
    assert terms.currency == "EUR"
    assert terms.vat_ppm == 0
    assert (offer.cap_measure, offer.legal_rate_ppb) == ("eu_apr", offer.rates.eu_apr_ppb)
    assert offer.rates.nominal_ppb < offer.rates.eu_apr_ppb <= 150_000_000
    dear = loan_from_options({**LOAN, "rate": "14.1%"}, dutch).terms[0]
    with pytest.raises(RateCapExceeded, match=r"15.* above the cap of 15%"):
        quote(dear, dutch.parameters)
    quote(dear, CountryPack.load("cn").parameters)


def test_today_is_that_of_the_pack() -> None:
    session = Session(lambda: datetime(2024, 5, 20, 17, tzinfo=UTC))
    assert str(session.today()) == "2024-05-21"
    assert str(session.today(CountryPack.load("nl"))) == "2024-05-20"


def test_an_own_pack_extends_a_shipped_one(tmp_path: Path) -> None:
    folder = own_pack(tmp_path / "ours")
    (folder / "parameters" / "pricing").mkdir(parents=True)
    (folder / "parameters" / "pricing" / "rate_cap.yaml").write_text(CAP)
    pack = CountryPack.load(folder)
    assert pack.cap(DAY).integer == 90_000
    assert pack.time_zone(DAY) == "Europe/Amsterdam"
    assert pack.profile == PACKS / "nl" / "profile.yaml"


def test_everything_a_pack_lacks_is_said_at_once(tmp_path: Path) -> None:
    folder = own_pack(tmp_path / "bare", **{"pack.yaml": "title: Bare\ncurrency: EUR\n"})
    with pytest.raises(Problems) as caught:
        CountryPack.load(folder)
    said = str(caught.value)
    assert all(name in said for name in REQUIRED)
    assert "parameters/tax/vat.yaml" in said


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("title: Ours\n", "has no currency"),
        ("title: Ours\ncurrency: EURO\n", "unknown currency 'EURO'"),
        ("currency: EUR\nextends: nl\n", "title"),
        ("title: Ours\nextends: de\n", "is no pack"),
        ("title: Ours\nextends: nl\ntax: 3\n", "unknown key 'tax'"),
    ],
)
def test_mistakes_in_a_pack(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(UsanceError, match=what):
        CountryPack.load(own_pack(tmp_path / "ours", **{"pack.yaml": text}))


def test_an_unknown_name_suggests_and_a_folder_without_a_pack_is_named(tmp_path: Path) -> None:
    with pytest.raises(CodeError, match=r"unknown pack 'nk'.*Choices: cn, nl"):
        CountryPack.load("nk")
    with pytest.raises(PackError, match=r"no pack\.yaml.*cn, nl"):
        CountryPack.load(tmp_path)


def test_a_book_keeps_a_pack_of_its_own(tmp_path: Path) -> None:
    folder = own_pack(tmp_path / "ours")
    (folder / "parameters" / "pricing").mkdir(parents=True)
    (folder / "parameters" / "pricing" / "rate_cap.yaml").write_text(CAP)
    book = Book.create(tmp_path / "book", pack=CountryPack.load(folder))
    (folder / "pack.yaml").unlink()  # the book stands by itself
    again = Book.open(book.path)
    assert (again.manifest.currency, again.manifest.time_zone) == ("EUR", "Europe/Amsterdam")
    assert (again.pack.name, again.pack.cap(DAY).integer) == ("ours", 90_000)
    assert again.pack.profile == book.path / "pack" / "profile.yaml"
    assert again.check() == []
    kept = book.path / "pack" / "parameters" / "pricing" / "rate_cap.yaml"
    kept.write_text(CAP.replace("9%", "90%"))
    with pytest.raises(CorruptFile):
        _ = Book.open(book.path).pack


def test_a_book_without_a_pack_in_its_manifest_is_of_the_first_market(tmp_path: Path) -> None:
    book = Book.create(tmp_path / "book")
    assert (book.manifest.pack, book.manifest.currency, book.pack.name) == ("cn", "CNY", "cn")


@pytest.mark.slow
def test_one_pack_from_quote_over_books_to_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--principal", "10000", "--rate", "12%", "--instalments", "12",
               "--disbursed-on", "2024-01-15", "--pack", "nl", "--json"]  # fmt: skip
    assert main(["loan", "quote", *options]) == 0
    quoted = json.loads(capsys.readouterr().out)["data"]
    assert (quoted["currency"], quoted["vat_ppm"]) == ("EUR", 0)
    assert quoted["cap"]["measure"] == "eu_apr"

    assert main(["books", "sample", "book", "--pack", "nl"]) == 0
    assert main(["close", "2023Q4", "--book", "book"]) == 0
    assert main(["close", "2024Q1", "--book", "book"]) == 0
    capsys.readouterr()
    assert main(["books", "balance", "--book", "book", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["data"]["rows"]
    assert {row["currency"] for row in rows} == {"EUR"}
    assert not [row for row in rows if "value-added" in row["name"].lower() and row["amount_minor"]]

    Path("filer.yaml").write_text("name: Ours\nunit: unit\ndecimals: 2\n")
    release = ["disclose", "release", "2024Q1", "--book", "book", "--filer", "filer.yaml"]
    assert main([*release, "--formats", "csv,html", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["data"]["files"]
    text = Path(files["csv"]).read_text()
    assert ",EUR," in text
    assert "RMB" not in text
    assert "USD" not in text
    assert main(["disclose", "check", files["csv"], "--pack", "nl", "--json"]) == 0
    capsys.readouterr()
    assert main(["books", "sample", "other", "--pack", "xx"]) == 2

"""The site of a book: whole, well-formed, and the same figures as the books' own functions."""

from __future__ import annotations

import re
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from tests.disclose.release_book import ENTITIES, FACTS, release_book
from tests.twin.runs import ticking
from usance.base.book import Book
from usance.base.columns import make
from usance.base.dates import first_of_month
from usance.base.ids import print_id
from usance.books.closed_books import ClosedBooks
from usance.books.loans.journal import loan_journal
from usance.books.periods import parse_close_period
from usance.books.statements.ifrs_reconciliation import COLUMNS
from usance.cli import main
from usance.disclose.profile import DEFAULT, load_profile
from usance.disclose.release.filer import read_filer
from usance.disclose.release.publication import publish, release_of
from usance.pages.errors import SiteError
from usance.pages.reports.release import RELEASE_WRITERS
from usance.pages.server import site_server
from usance.pages.site.language import catalogue, languages, translated
from usance.pages.site.write import write_site
from usance.twin.run.runner import run_scenario
from usance.twin.site.last_plan import last_plan
from usance.world.scenario.file import read_scenario

NAME = 'Loans & <Sons> "Ltd"'
PERIODS = ("2023Q4", "2024Q1")
NAMES = {NAME, "Example Lending", "Example Platform", "Example Holding", "Example Trust",
         "Asia/Shanghai", "2024Q1.csv", "2024Q1.html", "2024-12-31T00:00:00+00:00"}  # fmt: skip
"""Texts of the sample that are names, and the same in every language."""
MONTH = 650
BALANCES = [1_000, 2_000, 40_000, 50_000]
Element = ElementTree.Element


class Site:
    """Pages read as XML, which fails on anything that is not well-formed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = {
            file: ElementTree.fromstring(file.read_text().removeprefix("<!DOCTYPE html>"))
            for file in sorted(folder.rglob("*.html"))
            if file.parent.name != "release"
        }
        self.names = {
            file: [each.get("id") for each in tree.iter() if each.get("id")]
            for file, tree in self.pages.items()
        }

    def __getitem__(self, path: str) -> Element:
        return self.pages[self.folder / path]

    def words(self, path: str) -> str:
        return " ".join("".join(self[path].itertext()).split())

    def rows(self, path: str) -> list[list[Element]]:
        return [list(row) for row in self[path].iter("tr")]

    def broken(self) -> list[str]:
        """Every link that leads to no page, or to a place the page has not."""
        return [
            f"{file.name}: {to}"
            for file, tree in self.pages.items()
            for each in tree.iter()
            if (to := each.get("href")) and not self._is_there(file, to)
        ]

    def _is_there(self, file: Path, to: str) -> bool:
        path, _, name = unquote(to).partition("#")
        target = (file.parent / path).resolve() if path else file
        return target.exists() and (not name or name in self.names.get(target, []))


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """Two quarters of the sample, with the routing of one loan and a group with a strange name."""
    folder = tmp_path_factory.mktemp("pages") / "book"
    entities = ENTITIES.replace('"Example Holding, Inc."', f"'{NAME}'")
    made = release_book(folder, PERIODS, FACTS, entities)
    ids = made.read("loans", ["loan_id"])["loan_id"].to_pylist()
    with made.writing() as step:
        step.add("routing", make(
            "routing", loan_id=[ids[0]] * 2, attempt=[1, 2], at=[1, 1], source=[2, 1],
            outcome=[2, 1], score_minor=[900, 700], runner_up=[1, 0], runner_up_minor=[800, 0],
            binding_limit=[3, 0], plan_no=[1, 1],
        ))  # fmt: skip
        step.add("cells", make(
            "cells", cell=[1, 2, 3], model=[0, 1, 2], product=[1] * 3, source=[1] * 3,
            entity=[1] * 3,
        ))  # fmt: skip
        for month in (MONTH - 1, MONTH):
            step.add("tape", _tape(ids, month), month=month)
    filer = replace(read_filer(None), translated=False)
    release = release_of(made, parse_close_period("2024Q1"), load_profile(DEFAULT), filer)
    publish(release, folder / "release", ("csv", "html"), writers=RELEASE_WRITERS)
    return made


def _tape(ids: list[int], month: int) -> pa.Table:
    """Two months of five loans, one of them late; the last loan is in no month."""
    zeros = [0] * 4
    return make(
        "tape", month=[month] * 4, loan_id=ids[:4], mob=[month - MONTH + 3] * 4,
        dpd=[0, 40, 0, 0], bucket=[0, 2, 0, 0], bucket_prev=[0, 1, 0, 0], status=zeros,
        principal_minor=BALANCES, principal_prev_minor=BALANCES, past_due_minor=[0, 300, 0, 0],
        net30_minor=[0, 2_000, 0, 0], net180_minor=zeros, prepaid_minor=zeros,
        recovered_minor=zeros, cohort=[MONTH - 3] * 4, cell=[1, 1, 2, 2],
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Site:
    first = write_site(book, tmp_path_factory.mktemp("site") / "site")
    assert first.name == "index.html"
    return Site(first.parent)


def unknown(site: Site, language: str) -> set[str]:
    """Texts of the pages that the language has no words for; names, ids and numbers have none."""
    known, left = catalogue(language), set()
    for file, tree in site.pages.items():
        if file.parent.name == "loans" or file.name == "loans.html":
            continue  # the console leads to loans as they are now
        main = next(tree.iter("main"))
        own = {id(each) for code in main.iter("code") for each in code.iter()}
        for each in main.iter():
            texts = (each.tail, each.get("aria-label"), each.get("title"),
                     None if id(each) in own else each.text)  # fmt: skip
            left |= {plain for text in texts if text and (plain := " ".join(text.split()))
                     and known.of(plain) is None}  # fmt: skip
    return left


def test_every_text_of_the_house_is_there_in_chinese(site: Site) -> None:
    assert languages() == ["zh"]
    left = {each for each in unknown(site, "zh") if not each.startswith(": ")}  # ways onward
    assert left <= NAMES, sorted(left - NAMES)
    page = (site.folder / "statements.html").read_text()
    told = translated(page, "zh")
    ElementTree.fromstring(told.removeprefix("<!DOCTYPE html>"))
    assert "净利润" in told
    assert "Net income<" not in told
    minor = re.compile(r'data-minor="(-?[0-9]+)"')
    assert minor.findall(told) == minor.findall(page)  # the figures are the same
    assert translated(page, "en") == page


def minors(row: list[Element]) -> list[int]:
    return [int(each.attrib["data-minor"]) for each in row if "data-minor" in each.attrib]


def test_every_link_leads_somewhere(site: Site) -> None:
    assert site.broken() == []
    assert sum(1 for tree in site.pages.values() for _ in tree.iter("a")) > 1000
    assert all(len(names) == len(set(names)) for names in site.names.values())


def test_the_crawl_sees_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<html><a href="b.html">b</a><a href="#c">c</a></html>')
    assert Site(tmp_path).broken() == ["a.html: b.html", "a.html: #c"]


def test_every_page_can_be_reached_from_the_first(site: Site) -> None:
    first = site.folder / "index.html"
    seen, ahead = {first}, [first]
    while ahead:
        file = ahead.pop()
        for each in site.pages[file].iter("a"):
            target = (file.parent / unquote(each.attrib["href"]).partition("#")[0]).resolve()
            if target in site.pages and target not in seen:
                seen.add(target)
                ahead.append(target)
    # An account nobody posted to has a page, but no line leads to it.
    lost = {
        file
        for file in set(site.pages) - seen
        if "No close has posted" not in "".join(site.pages[file].itertext())
    }
    assert lost == set()


def test_nothing_comes_from_a_network(site: Site) -> None:
    for file in site.folder.rglob("*"):
        if file.suffix in (".html", ".css"):
            text = file.read_text()
            assert not [each for each in ("http:", "https:", "<script") if each in text], file


def test_names_are_escaped(site: Site) -> None:
    assert site["index.html"].findtext(".//h1") == NAME
    assert "<Sons>" not in (site.folder / "index.html").read_text()


@pytest.mark.parametrize("period", PERIODS[1:])
def test_statements_are_those_of_the_books(book: Book, site: Site, period: str) -> None:
    rows = ClosedBooks.of(book, parse_close_period(period)).statements()
    shown = [
        (("".join(row[0].itertext())), minors(row)[-1])
        for row in site.rows("statements.html")
        if minors(row)
    ]
    wanted = ("operations", "balance_sheet", "comprehensive_income", "cash_flows")
    expected = [
        (each.line, each.amount_minor)
        for name in wanted
        for each in rows
        if each.statement == name and (each.is_total or each.amount_minor)
    ]
    found = [each for each in shown if each[1] or each in expected]
    assert found == expected


def test_the_matrix_is_that_of_the_books(book: Book, site: Site) -> None:
    rows = ClosedBooks.of(book, parse_close_period("2024Q1")).statements()
    for row in site.rows("ifrs.html"):
        if values := minors(row):
            name = "".join(row[0].itertext())
            known = [
                [
                    each.amount_minor
                    for each in rows
                    if each.line == name
                    and each.statement == f"ifrs_reconciliation_{kind}:{column}"
                ]
                for kind in ("operations", "balance_sheet")
                for column in COLUMNS
            ]
            sides = known[: len(COLUMNS)], known[len(COLUMNS) :]
            choices = [list(each) for side in sides for each in zip(*side, strict=True)]
            assert values in choices, name
            assert sum(values[:-1]) == values[-1]


def test_lines_are_the_sum_of_their_accounts(site: Site) -> None:
    checked = 0
    for file in (site.folder / "lines").iterdir():
        *parts, total = [minors(row) for row in site.rows(f"lines/{file.name}") if minors(row)]
        if "Effect of foreign" not in site.words(f"lines/{file.name}")[:60]:
            assert [sum(each) for each in zip(*parts, strict=True)] == total or not any(total), file
            checked += bool(parts)
    assert checked > 60


def test_an_account_rolls_forward_through_its_rules(book: Book, site: Site) -> None:
    group = ClosedBooks.of(book, parse_close_period("2024Q1")).books
    for name in ("loans", "cash", "stand_ready", "marketing"):
        rows = [row for row in site.rows(f"accounts/{name}.html") if minors(row)]
        first = next(place for place, row in enumerate(rows) if row[0].text == "closing")
        opening, closing = minors(rows[0])[-1], minors(rows[first])[-1]
        moved = sum(
            minors(row)[-1] for row in rows[1:first] if row[-1].get("data-minor") is not None
        )
        assert opening + moved == closing
        held = group.at(parse_close_period("2024Q1").last_day).amount(name)
        assert closing == held, name


def test_a_rule_is_the_sum_of_its_loans(site: Site) -> None:
    checked = 0
    for file in sorted((site.folder / "journals").iterdir()):
        tree = site[f"journals/{file.name}"]
        if tree.find(".//h2[@id='loans']") is None:
            continue
        lines, loans = list(tree.iter("table"))[:2]
        by_account: dict[str, int] = {}
        for row in lines.iter("tr"):
            if values := minors(list(row)):
                name = "".join(row[4].itertext())
                by_account[name] = by_account.get(name, 0) + values[0]
        names = ["".join(each.itertext()) for each in loans.iter("th")][1:]
        *each_loan, total = [minors(list(row)) for row in loans.iter("tr") if minors(list(row))]
        assert [sum(column) for column in zip(*each_loan, strict=True)] == total
        assert dict(zip(names, total, strict=True)) == by_account
        checked += 1
    assert checked > 20


def test_a_loan_tells_its_whole_story(book: Book, site: Site) -> None:
    loan = book.read("loans", ["loan_id"])["loan_id"][0].as_py()
    path = f"loans/{print_id('ln', loan)}.html"
    text = site.words(path)
    for told in (
        "Application approved: score 600",
        "declined",
        "source 1",
        "limit 3",
    ):
        assert told in text
    last = book.read("loans", ["loan_id"])["loan_id"][4].as_py()
    assert "This book has no tape of this loan." in site.words(f"loans/{print_id('ln', last)}.html")
    tables = list(site[path].iter("table"))
    facts = [
        row
        for row in book.read("facts").to_pylist()
        if row["loan_id"] == loan and row["effective_on"].isoformat() <= "2024-03-31"
    ]
    assert [minors(list(row)) for row in tables[2].iter("tr") if minors(list(row))] == [
        [row["amount_minor"]] for row in facts
    ]
    journal = [line.amount_minor for line in loan_journal(book, loan)]
    assert [v for row in tables[3].iter("tr") for v in minors(list(row))] == journal
    schedule = [minors(list(row)) for row in tables[1].iter("tr") if minors(list(row))]
    assert all(row[5] == row[6] + row[7] for row in schedule)
    principal = book.read("loans", ["principal_minor"])["principal_minor"][0].as_py()
    assert sum(row[0] for row in schedule) == principal


def test_metrics_are_measured(site: Site) -> None:
    (balance,), *_ = [
        minors(row) for row in site.rows("metrics/outstanding_balance.html") if minors(row)
    ]
    assert balance == sum(BALANCES)
    tables = list(site["metrics/outstanding_balance.html"].iter("table"))
    rows = [["".join(each.itertext()) for each in row] for row in tables[1].iter("tr")][1:]
    assert [(row[0], row[1]) for row in rows] == [
        ("capital heavy", "30.00"), ("on balance sheet", "900.00"),
    ]  # fmt: skip
    assert "Principal outstanding at the date" in site.words("metrics.html")


def test_the_sample_stands_on_the_tape(book: Book, site: Site) -> None:
    rows = [row for row in site.rows("metrics/delinquency_90.html") if len(row) == 7][1:]
    late = {"".join(row[0].itertext()): row[1].text for row in rows}
    ids = book.read("loans", ["loan_id"])["loan_id"].to_pylist()
    assert late == {print_id("ln", ids[at]): "40" if at == 1 else "0" for at in range(4)}


def test_figures_of_the_release_lead_down(site: Site) -> None:
    page = (site.folder / "release" / "2024Q1.html").read_text()
    assert page.count('<a href="../lines/') > 200
    for piece in page.split('<a href="')[1:]:
        to = unquote(piece.partition('"')[0])
        if not to.startswith("#"):
            assert (site.folder / "release" / to).resolve().exists(), to
    assert "release/2024Q1.csv" in (site.folder / "release.html").read_text()


def test_an_open_book_says_what_it_has_not(tmp_path: Path) -> None:
    book = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    site = Site(write_site(book, tmp_path / "site").parent)
    assert site.broken() == []
    for path, told in (
        ("statements.html", "no closed period"), ("ifrs.html", "no closed period"),
        ("accounts.html", "no closed period"), ("metrics.html", "no metrics"),
        ("matching.html", "no sources"), ("loans.html", "no loans"),
        ("release.html", "no release"), ("book.html", "No period is closed"),
    ):  # fmt: skip
        assert told in site.words(path), path


def test_only_a_site_is_replaced(tmp_path: Path) -> None:
    book = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    folder = write_site(book, tmp_path / "site").parent
    (folder / "index.html").write_text("old")
    write_site(book, folder)
    assert (folder / "index.html").read_text() != "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["book", "site"]
    with pytest.raises(SiteError, match="holds something else"):
        write_site(book, book.path)
    assert (book.path / "manifest.json").exists()


def test_nothing_of_others_is_lost(tmp_path: Path) -> None:
    """Not beside a site, not in one, and not in a site that somebody else has made."""
    book = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    beside = tmp_path / "site.new" / "notes.txt"
    beside.parent.mkdir()
    beside.write_text("mine")
    folder = write_site(book, tmp_path / "site").parent
    (folder / "notes.txt").write_text("mine")
    own = tmp_path / "own"
    own.mkdir()
    for name in ("index.html", "style.css"):
        (own / name).write_text("mine")
    for place in (folder, own, beside):
        with pytest.raises(SiteError):
            write_site(book, place)
    with pytest.raises(SiteError, match="cannot be written"):
        write_site(book, beside / "site")
    for kept in (beside, folder / "notes.txt", own / "index.html", own / "style.css"):
        assert kept.read_text() == "mine"


@pytest.fixture
def served(site: Site) -> Iterator[str]:
    with site_server(site.folder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_site_is_served_to_its_own_machine(served: str) -> None:
    with urllib.request.urlopen(f"{served}/loans.html") as answer:
        assert b"<h1>Loans</h1>" in answer.read()


def test_a_port_that_is_taken_is_told(site: Site) -> None:
    with site_server(site.folder) as first, pytest.raises(SiteError, match="cannot serve"):
        site_server(site.folder, first.server_port)


def test_the_command_writes_the_same_bytes_again(
    book: Book, site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = tmp_path / "again"
    assert main(["pages", str(book.path), "--out", str(again)]) == 0
    assert f"beginning with {again / 'index.html'}" in capsys.readouterr().out
    files = {file.relative_to(site.folder) for file in site.folder.rglob("*") if file.is_file()}
    assert files == {file.relative_to(again) for file in again.rglob("*") if file.is_file()}
    assert all((site.folder / each).read_bytes() == (again / each).read_bytes() for each in files)


def test_the_command_stands_beside_the_rooms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "  pages " in capsys.readouterr().out
    assert main(["twin", "pages"]) == 2


def test_the_command_tells_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pages", str(tmp_path), "--out", str(tmp_path / "other")]) == 2
    assert "is not a book" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_the_command_serves_until_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def interrupted(server: ThreadingHTTPServer) -> None:
        asked.append(server.server_port)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupted)
    book = Book.create(tmp_path / "book", currency="CNY", time_zone="Asia/Shanghai")
    call = ["pages", str(book.path), "--out", str(tmp_path / "site"), "--serve"]
    assert main(call) == 130
    assert f"http://127.0.0.1:{asked[0]}/ until interrupted" in capsys.readouterr().out


def test_a_run_shows_its_plan_and_its_stories(tmp_path: Path) -> None:
    economy = read_scenario("calm")
    first = economy.first_month
    made = run_scenario(economy, tmp_path / "run", scale=Fraction(1, 20), first=first, last=first,
               clock=ticking())  # fmt: skip
    site = Site(write_site(made.book, tmp_path / "site", loans=12, last_plan=last_plan).parent)
    assert site.broken() == []
    text = site.words("matching.html")
    assert "planned again from its requests and mandates" in text
    tables = list(site["matching.html"].iter("table"))
    sources, planned = ([minors(list(row)) for row in each.iter("tr")] for each in
                        (tables[1], tables[-1]))  # fmt: skip
    flows = [minor for each in tables[0].iter("tr") for minor in [list(each)[-1].text]]
    assert len(flows) > 3
    assert all(flows)
    loans = made.book.read("loans").to_pylist()
    assert sum(each[0] for each in sources if each) == sum(row["principal_minor"] for row in loans)
    drawn = [row for row in loans if row["disbursed_on"] >= first_of_month(first)]
    assert sum(each[1] for each in planned if each) == sum(row["principal_minor"] for row in drawn)
    assert sum(each[0] for each in planned if each) > 0
    assert len(list((site.folder / "loans").iterdir())) == 12
    assert "A run of the scenario calm" in site.words("index.html")

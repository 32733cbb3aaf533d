"""The close of a period: a checklist that is really executed, from cut-off to lock.

Each step is a plain function on what the steps before it found. Nothing is published before the
last one; a control that fails stops the close and names what is behind it. Closing the same facts
again gives the same journals, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.book_step import Step, written_to_folder
from usance.base.codes import Currency, parse
from usance.base.columns import arrays, make, sort
from usance.base.compiled import available_cores
from usance.base.concurrency import parallel_map
from usance.base.dates import first_of_month, format_month
from usance.base.errors import raise_all
from usance.base.manifest import FileEntry
from usance.base.parameters import Parameters, trace
from usance.base.segments import segment_model
from usance.base.tables import table
from usance.books.close.carry_forward import CarryForward, keep_carry_forward, open_loans_path
from usance.books.close.closes import (
    CLOSED,
    CloseRef,
    begin,
    effective_closes,
    keep_controls,
    last_hash,
    postings_of,
)
from usance.books.close.controls import Control, failed, ledger_controls, loan_controls
from usance.books.close.exposure import (
    FEE_INSTALMENTS_LOST,
    Exposure,
    exposure_of,
    lost_shares,
    lost_shares_by_month,
)
from usance.books.close.group import (
    GroupClose,
    activity_codes,
    fees_of_loans,
    flux_notes,
    opening_day,
)
from usance.books.close.loans import Sums, subledger_parts
from usance.books.close.metric_roles import keep_roles
from usance.books.close.recomputation import guarantee_notes, merge_controls
from usance.books.close.scope import Pools, Progress, Scope, no_progress, shares_of
from usance.books.effective_interest.expected_lives import expected_lives, life_rows
from usance.books.errors import PeriodError
from usance.books.group.rules import load_group_rules
from usance.books.journal import CloseHead, journal_heads, loan_postings, unbalanced
from usance.books.loans.amounts import AMOUNTS, SUBLEDGER, SUMS
from usance.books.loans.cells import Sources, cell_index
from usance.books.losses.estimates import Estimates
from usance.books.losses.estimation import estimate
from usance.books.losses.pools import Exposures
from usance.books.losses.review import loss_review, provision_splits, splits_as_dict
from usance.books.losses.stages import STAGES
from usance.books.periods import ClosePeriod
from usance.books.policies import Policies
from usance.books.policy_files import PolicyFiles, read_policies
from usance.books.postings import post
from usance.books.rules import load_rules
from usance.books.statements.consolidation import GroupBooks
from usance.books.tape.book import check_tape_covers, holds_tape, tape_moments
from usance.books.tape.loans import TapeLoans
from usance.measure.triangles import Triangle


@dataclass(slots=True)
class Closing:
    """A close while it is made: what it is of, and what its steps have found so far."""

    book: Book
    period: ClosePeriod
    ref: CloseRef
    before: CloseRef | None
    known_at: datetime
    actor: str
    files: PolicyFiles
    parameters: Parameters
    clock: Callable[[], float]
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    controls: list[Control] = field(default_factory=list)
    loans: int = 0
    open_loans: dict[int, str] = field(default_factory=dict)
    """By shard, the SHA-256 of the file of its open loans."""
    losses: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """One line of the checklist, timed."""
        self.progress(name, 0, 1)
        begun = self.clock()
        yield
        self.seconds[name] = self.clock() - begun
        self.progress(name, 1, 1)

    def as_dict(self) -> dict[str, Any]:
        """The close as JSON."""
        return {
            "period": self.period.label, "close": self.ref.name, "loans": self.loans,
            "known_at": self.known_at.isoformat(),
            "controls": [control.as_dict() for control in self.controls],
            "notes": self.notes,
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
        }  # fmt: skip

    @property
    def head(self) -> CloseHead:
        """The head of its journals."""
        return CloseHead(self.ref.close_no, self.ref.month, self.ref.day, self.known_at, self.actor)


def close(
    book: Book, period: ClosePeriod, *, policies: Path | None = None,
    known_at: datetime | None = None, actor: str = "close", clock: Callable[[], float],
    progress: Progress = no_progress, parameters: Parameters | None = None,
    tape: TapeLoans | None = None, whole: bool = False,
) -> Closing:  # fmt: skip
    """Close a period of a book, or raise what stands against it; nothing is half done.

    A book that keeps its loans as a tape is closed from it; `tape` spares reading it again. Loans
    fully settled at the close before are not read again, unless the `whole` book is to be.
    """
    ref, before = begin(book, period)
    check_tape_covers(book, period.months)
    moment = known_at or latest_booking(book)
    if before is not None and moment.date() < before.day:
        what = f"at {moment.isoformat()} not even {before.name} was over, which is closed"
        fix = f"Close as known at a moment after {before.day}"
        raise PeriodError(what, where="--known-at", fix=fix)
    made = Closing(
        book, period, ref, before, moment, actor, read_policies(book, policies, period.last_day),
        parameters or book.pack.parameters, clock, progress,
    )  # fmt: skip
    with trace() as reads, book.writing() as step:
        base = Policies.at(period.last_day, made.parameters)
        with made.step("cut-off"):
            scope = _scope(made, tape, None if whole else CarryForward.of(book, before, base))
        with made.step("cohorts and exposures"):
            exposure = exposure_of(scope, base, progress)
        with made.step("expected losses"):
            rated, estimates = _estimate(made, base, exposure)
        with made.step("revenue, accruals and allowances"):
            sums = _subledger(made, scope, exposure.pools, rated, step)
        with made.step("journals of loans"):
            postings = _post_loans(made, scope, sums)
        entities, total = made.files.entities, sums.cells.sum(axis=0)
        fees = fees_of_loans(book, entities, effective_closes(book), (period.last_day, total))
        group = GroupClose.of(book, entities, period.last_day, moment, made.parameters, list(fees))
        with made.step("group entries"):
            raise_all(group.refusals(book, before), where="group facts")
            entries = group.entries(book, before, made.head)
            postings = pa.concat_tables([postings, entries])
        with made.step("tax and non-controlling interests"):
            everything = pa.concat_tables([postings_of(book, effective_closes(book)), postings])
            closing = group.closing_entries(everything, made.head, before)
            postings = pa.concat_tables([postings, closing])
            everything = pa.concat_tables([everything, closing])
        with made.step("controls"):
            books = group.books(everything)
            _control(made, group, books, postings, everything, sums)
        with made.step("flux"):
            made.notes += flux_notes(books, period)
        with made.step("books"):
            _write(made, step, postings, sums, scope, estimates)
            if not holds_tape(book):
                settled = sums.carry_forward(scope, exposure.pools)
                keep_carry_forward(step, book, ref, base, settled, made.open_loans)
            _finish(made, step, [read.name for read in reads])
    return made


def latest_booking(book: Book) -> datetime:
    """The moment of the newest fact in a book: everything it holds is known by then."""
    moments = [datetime.min.replace(tzinfo=UTC), *tape_moments(book)]
    for name in ("facts", "group_facts"):
        for file in book.files(name):
            column = book.read_file(table(name), file, ["booked_at"])["booked_at"]
            if len(column):
                moments.append(pc.max(column).as_py())
    return max(moments)


def _scope(made: Closing, tape: TapeLoans | None, carry_forward: CarryForward | None) -> Scope:
    index = cell_index(made.book)
    lag = made.parameters.at("servicing.clearing_lag", made.period.last_day).integer
    scope = Scope(
        made.book, made.period.last_day, made.known_at, made.period.months, index,
        Sources.of(made.book), lag, shares_of(made.book, index), carry_forward,
    )  # fmt: skip
    if not holds_tape(made.book):
        return scope
    loans = tape or TapeLoans(made.book)
    made.notes += loans.notes
    return loans.scope(scope)


def _estimate(made: Closing, base: Policies, exposure: Exposure) -> tuple[Policies, pa.Table]:
    """Policies with their estimates, and the rows of the `estimates` table."""
    day, pools, found = made.period.last_day, exposure.pools, exposure.triangle
    assumed = made.parameters.at("accounting.fee_instalments_lost", day).integer
    shares = lost_shares(exposure.fee_instalments, assumed)
    earlier = [
        (each, made.book.read("estimates", folder=each.folder))
        for each in effective_closes(made.book)
    ]
    lost, first = lost_shares_by_month(shares, pools.segments, made.period.months, earlier)
    curves = made.files.expected_life
    lives = expected_lives(curves, pools.segments, made.period.months, earlier)
    rated = replace(base, lost_ppm=lost, first_month=first, lives=lives)
    number = made.ref.close_no
    rows = [_lost_rows(number, pools.segments, shares), life_rows(number, curves)]
    if len(found.segments):
        made_of = _losses(made, found, exposure, earlier)
        rated = replace(rated, rates_ppb=made_of.rates_ppb)
        made.notes += made_of.notes
        rows.append(made_of.rows())
    else:
        rated = replace(rated, rates_ppb=np.zeros((len(pools), base.rates_ppb.shape[1]), np.int64))
    return rated, sort(pa.concat_tables(rows), table("estimates"))


def _losses(
    made: Closing, found: Triangle, exposure: Exposure,
    earlier: Sequence[tuple[CloseRef, pa.Table]],
) -> Estimates:  # fmt: skip
    models = np.array([segment_model(int(each)) for each in found.segments])
    shape = (STAGES, len(found.segments), len(found.cohorts))
    losses = made.files.losses
    at_risk = Exposures(models, exposure.minor.reshape(shape))
    assumptions = losses.assumptions(made.parameters, made.period.last_day)
    estimates = estimate(
        found, at_risk, assumptions, losses.overlays, as_of=made.period.last_day,
        close_no=made.ref.close_no,
    )  # fmt: skip
    made.losses = loss_review(
        estimates, found, at_risk, assumptions, losses.overlays, made.ref, earlier
    )
    return estimates


def _lost_rows(close_no: int, segments: I64, shares: I64) -> pa.Table:
    size = len(segments)
    return make(
        "estimates", close_no=np.full(size, close_no), name=[FEE_INSTALMENTS_LOST] * size,
        segment=segments, age=np.zeros(size, np.int64), value=shares,
    )  # fmt: skip


def _subledger(made: Closing, scope: Scope, pools: Pools, policies: Policies, step: Step) -> Sums:
    """The second pass over the loans; their subledger goes to the book piece by piece."""

    def written(number: int) -> tuple[Sums, FileEntry, Path]:
        own, file = Sums.zero(scope, pools), step.aside()
        parts = subledger_parts(
            scope, scope.shard(number), made.ref.close_no, pools, policies, own, made.progress
        )
        entry = written_to_folder(
            made.ref.folder, SUBLEDGER, parts, file, shard=number, month=made.ref.month
        )
        return own, entry, file

    sums, numbers = Sums.of(scope, pools), scope.shards()
    shards = parallel_map(written, numbers, available_cores())
    for number, (own, entry, file) in zip(numbers, shards, strict=True):
        sums.add(own)
        step.take(SUBLEDGER, entry, file)
        if own.open_loans:
            made.open_loans[number] = step.keep(open_loans_path(number), own.open_loans)
    made.loans = sums.loans
    made.controls += loan_controls(sums.findings)
    made.controls += merge_controls(iter(sums.sampled))
    made.notes += guarantee_notes(sums.implausible)
    raise_all(failed(made.controls), where=f"close {made.ref.name}")
    return sums


def _by_cell(sums: I64) -> I64:
    return np.asarray(sums[0::2] + sums[1::2])


def _post_loans(made: Closing, scope: Scope, sums: Sums) -> pa.Table:
    """The journals of what moved since the close before, by cell."""
    before = _sums_before(made, scope)
    movement = _by_cell(sums.cells) - before
    made.losses["provisions"] = splits_as_dict(provision_splits(sums.cells, before))
    lines = post(movement, scope.index.cells, load_rules(), made.files.entities.platform.number)
    currency = int(parse(Currency, made.book.manifest.currency))
    return loan_postings(lines, made.head, currency, activity_codes(lines.rule, lines.account))


def _sums_before(made: Closing, scope: Scope) -> I64:
    """Sums of the close before, in the rows of this one's cells."""
    found = np.zeros((len(scope.index.cells), len(AMOUNTS)), np.int64)
    if made.before is None:
        return found
    rows = arrays(made.book.read(SUMS, folder=made.before.folder))
    order = np.argsort(scope.index.cells.cell)
    place = order[np.searchsorted(scope.index.cells.cell, rows["cell"], sorter=order)]
    for amount, name in enumerate(AMOUNTS):
        np.add.at(found[:, amount], place, rows[name])
    return found


def _control(
    made: Closing, group: GroupClose, books: GroupBooks, postings: pa.Table,
    everything: pa.Table, sums: Sums,
) -> None:  # fmt: skip
    """Everything that must hold before anything is published."""
    raise_all(list(unbalanced(postings)), where=f"close {made.ref.name}")
    numbers = {rule.number for rule in load_group_rules()}
    made.controls += ledger_controls(everything, _by_cell(sums.cells), numbers)
    raise_all(failed(made.controls), where=f"close {made.ref.name}")
    for name, problems in group.problems(books, _opening(made.period)).items():
        raise_all(problems, where=f"close {made.ref.name}")
        made.controls.append(Control(name))


def _opening(period: ClosePeriod) -> date:
    return opening_day(first_of_month(period.months[0]))


def _write(
    made: Closing, step: Step, postings: pa.Table, sums: Sums, scope: Scope, estimates: pa.Table
) -> None:
    """The tables of the close."""
    names = {rule.number: rule.amount.replace("_", " ") for rule in load_rules()}
    names |= {rule.number: rule.amount.replace("_", " ") for rule in load_group_rules()}
    ordered = sort(postings, table("postings"))
    heads = journal_heads(ordered, made.head, names, last_hash(made.book, made.before))
    month = made.ref.month
    for name, rows in (
        ("postings", ordered), ("journals", heads), ("estimates", estimates),
        (SUMS, _sum_rows(made.ref.close_no, scope, sums)),
    ):  # fmt: skip
        step.add_to_folder(made.ref.folder, name, [rows], month=month)


def _sum_rows(close_no: int, scope: Scope, sums: Sums) -> pa.Table:
    cells = scope.index.cells.cell
    order = np.lexsort((np.tile([0, 1], len(cells)), np.repeat(cells, 2)))
    columns = {
        "close_no": np.full(2 * len(cells), close_no),
        "cell": np.repeat(cells, 2)[order],
        "is_new": np.tile([0, 1], len(cells))[order],
    }
    columns |= {name: sums.cells[order, place] for place, name in enumerate(AMOUNTS)}
    return make(SUMS, **columns)


def _finish(made: Closing, step: Step, parameters: Sequence[str]) -> None:
    """The period is closed; what was used and found is written down."""
    made.files.keep(step)
    keep_roles(step)
    for month in made.period.months:
        step.period(format_month(month), CLOSED, made.ref.version)
    content: dict[str, Any] = {
        "period": made.period.label,
        "known_at": made.known_at.isoformat(),
        "actor": made.actor,
        "before": made.before.name if made.before else "",
        "loans": made.loans,
        "controls": [control.as_dict() for control in made.controls],
        "parameters": sorted(set(parameters)),
        "notes": made.notes,
        "losses": made.losses,
    }
    keep_controls(step, made.ref, content)

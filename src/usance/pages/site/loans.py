"""The sample of loans: a list, and for each the whole history from decision to journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from usance.assess.flow.reasons import Reasons
from usance.base.codes import (
    DecisionKind,
    DecisionOutcome,
    FactKind,
    Fee,
    FundingModel,
    IfrsAdjustment,
    Product,
    RoutingOutcome,
    Status,
)
from usance.base.dates import format_month
from usance.base.ids import print_id, user_of
from usance.books.close.closes import effective_closes
from usance.books.statements.ifrs_reconciliation import COLUMN_NAMES
from usance.pages.charts import Figure, lines
from usance.pages.components import (
    Cell,
    Event,
    cell,
    definitions,
    missing,
    number,
    paragraph,
    table,
    table_row,
    time_line,
)
from usance.pages.numbers import grouped, percent, ppm, words
from usance.pages.site.book_view import BookView
from usance.pages.site.journals import journal_path
from usance.pages.site.loan_history import LoanHistory, loan_histories, reasons
from usance.pages.site.page import Page, Part

_TAGS = {
    IfrsAdjustment.NONE: "us_gaap",
    IfrsAdjustment.ECL: "ecl_net_of_tax",
    IfrsAdjustment.EIR: "effective_interest_net_of_tax",
    IfrsAdjustment.SBC: "share_based_compensation",
    IfrsAdjustment.GUARANTEE: "financial_guarantee_net_of_tax",
}


def loan_pages(view: BookView) -> Iterator[Page]:
    """The list of the sample and the page of every loan in it."""
    known = reasons()
    histories = list(loan_histories(view))
    yield _list(view, histories)
    for history in histories:
        yield _story(view, history, known)


def _list(view: BookView, histories: list[LoanHistory]) -> Page:
    if not histories:
        return Page.without("loans.html", "Loans", "This book has no loans.")
    rows = [table_row(_summary(view, history)) for history in histories]
    heads = ["loan", "model", "product", "drawn", "principal", "rate", "instalments", "status",
             "days past due", "facts"]  # fmt: skip
    count = view.book.rows("loans") or view.book.rows("refs")
    lead = (
        f"{len(histories)} of {grouped(count)} loans, chosen to differ as much as they can. "
        "Each leads from its decision to its journal."
    )
    made = table(heads, rows, numbers=[4, 5, 6, 8, 9])
    return Page("loans.html", "Loans", "sections", {"parts": [Part("", made)]}, lead=lead)


def _summary(view: BookView, history: LoanHistory) -> list[Cell]:
    head, state = history.head, history.loan.view() if history.loan else None
    name = cell(history.ref or history.name, to=history.path)
    last = history.tape[-1] if history.tape else None
    if state:
        status, late = state.status.label, state.days_past_due
    else:
        status, late = (Status(last["status"]).label, last["dpd"]) if last else ("", 0)
    if not head:
        blank = [cell("")] * 3
        return [name, *blank, number(""), number(""), number(""), cell(words(status)),
                number(grouped(late)), number(grouped(len(history.tape)))]  # fmt: skip
    return [
        name,
        cell(words(FundingModel(head["model"]).label)),
        cell(words(Product(head["product"]).label)),
        cell(head["disbursed_on"].isoformat()),
        number(view.money(head["principal_minor"]), minor=head["principal_minor"]),
        number(ppm(head["rate_ppm"])),
        number(grouped(head["instalments"])),
        cell(words(status)),
        number(grouped(late)),
        number(grouped(len(history.facts))),
    ]


def _story(view: BookView, history: LoanHistory, known: Reasons) -> Page:
    parts = [
        Part("Decision", _decisions(view, history, known), "decision"),
        Part("Match and alternatives", _match(view, history), "match"),
        Part("Schedule", _schedule(view, history), "schedule"),
        Part("Facts", _facts(view, history), "facts"),
        Part("Journal", _journal(view, history), "journal"),
        Part("Tape", _tape(view, history), "tape"),
    ]
    values = {
        "contents": [(each.title, f"#{each.anchor}") for each in parts],
        "opening": _head(view, history), "figures": [_curve(view, history)], "parts": parts,
    }  # fmt: skip
    crumbs = (("Loans", "/loans.html"),)
    title = f"Loan {history.ref or history.name}"
    return Page(
        history.path.lstrip("/"), title, "sections", values, crumbs, lead=_lead(view, history)
    )


def _lead(view: BookView, history: LoanHistory) -> str:
    head = history.head
    if not head:
        return "It came with a tape: its months are known, not its terms and facts."
    principal = f"{view.money(head['principal_minor'])} {view.currency.label}"
    return (
        f"{principal} over {head['instalments']} instalments at {ppm(head['rate_ppm'])} a year, "
        f"drawn on {head['disbursed_on']}; {words(FundingModel(head['model']).label)}, "
        f"funded by source {head['source']}."
    )


def _head(view: BookView, history: LoanHistory) -> Markup:
    if history.loan is None:
        return Markup("")
    state, head = history.loan.view(), history.head
    return definitions([
        ("on", str(history.as_of)), ("status", words(state.status.label)),
        ("days past due", grouped(state.days_past_due)),
        ("principal outstanding", view.money(state.principal_outstanding)),
        ("past due", view.money(state.past_due.total)),
        ("paid so far", view.money(state.paid.total)),
        ("to settle", view.money(state.settlement)),
        ("borrower", print_id("us", user_of(history.loan_id))),
        ("its loan", f"number {head['user_loan_no']}, grade {head['grade']}"),
        ("from", f"region {head['region']}, channel {head['channel']}"),
    ])  # fmt: skip


def _curve(view: BookView, history: LoanHistory) -> Figure | None:
    """Unpaid principal, month by month."""
    if len(history.tape) < 2:  # a line needs two points
        return None
    scale = 10**view.currency.exponent
    points = {
        "unpaid principal": [
            (row["month"], row["principal_minor"] / scale) for row in history.tape
        ],
        "past due": [(row["month"], row["past_due_minor"] / scale) for row in history.tape],
    }
    return lines(points, format_y=lambda y: grouped(round(y)),
                 format_x=lambda x: format_month(round(x)), caption="Month by month",
                 note=view.currency.label)  # fmt: skip


def _decisions(view: BookView, history: LoanHistory, known: Reasons) -> Markup:
    if not view.has("decisions"):
        return missing("This book has no decisions.")
    if not history.decisions:
        return missing("The book has no decision about this loan.")
    return time_line(_decision(view, row, known) for row in history.decisions)


def _decision(view: BookView, row: Mapping[str, Any], known: Reasons) -> Event:
    facts = [
        ("score", grouped(row["score"]) if row["score"] else ""),
        ("probability of default", percent(row["pd_ppm"] / 1e6) if row["pd_ppm"] else ""),
        ("grade", str(row["grade"]) if row["grade"] else ""),
        ("line", view.money(row["line_minor"]) if row["line_minor"] else ""),
        ("rate", ppm(row["rate_ppm"]) if row["rate_ppm"] else ""),
    ]
    codes = [row[f"reason_{n}"] for n in range(1, 5) if row[f"reason_{n}"]]
    reasons = [f"{known.texts.get(code, 'reason')} ({code})" for code in codes]
    answer = DecisionOutcome(row["approved"]).label
    numbers = ", ".join(f"{name} {value}" for name, value in facts if value)
    text = f": {numbers}. " if numbers else ". "
    text += f"Flow {row['flow_no']}, model {row['model_no']}. "
    text += "Reasons: " + " ".join(reasons) if reasons else "No reasons are stated."
    title = f"{words(DecisionKind(row['kind']).label).capitalize()} {answer}"
    return Event(row["booked_at"].date().isoformat(), title, text, "" if row["approved"] else
                 "declined")  # fmt: skip


def _match(view: BookView, history: LoanHistory) -> Markup:
    if not view.has("routing"):
        return missing("This book has no routing: nobody wrote down which sources were asked.")
    if not history.routing:
        return missing("The book does not say how this loan was routed; it was there before.")
    request, made = history.request, Markup("")
    if request:
        made += paragraph(
            f"Asked for {view.money(request['amount_minor'])} over {request['months']} months at "
            f"{ppm(request['rate_ppm'])} on {request['requested_at']:%Y-%m-%d at %H:%M} UTC."
        )
    rows = [
        table_row([
            cell(row["attempt"]), _source(row["source"]),
            cell(words(RoutingOutcome(row["outcome"]).label)),
            number(view.money(row["score_minor"]), minor=row["score_minor"]),
            _source(row["runner_up"]),
            number(view.money(row["runner_up_minor"]) if row["runner_up"] else ""),
            _limit(row["binding_limit"]), cell(row["plan_no"]),
        ])
        for row in history.routing
    ]  # fmt: skip
    heads = ["attempt", "source", "answer", "worth × approval", "next best", "its worth",
             "decided by", "plan"]  # fmt: skip
    made += table(heads, rows, numbers=[3, 5])
    if history.shares:
        shares = [table_row([_source(row["source"]),
                      number(view.money(row["principal_minor"]), minor=row["principal_minor"])])
                  for row in history.shares]  # fmt: skip
        made += table(["shared with", "principal"], shares, numbers=1, kind="narrow")
    return made


def _source(source: int) -> Cell:
    if not source:
        return cell("none")
    return cell(f"source {source}", to=f"/matching.html#source-{source}")


def _limit(limit: int) -> Cell:
    if not limit:
        return cell("margin alone")
    return cell(f"limit {limit}", to=f"/matching.html#limit-{limit}")


def _schedule(view: BookView, history: LoanHistory) -> Markup:
    if history.loan is None:
        return missing("The book has no terms of this loan, so it has no schedule.")
    rows = []
    for each in history.loan.rows():
        due, paid, left = each.due, each.paid, each.outstanding
        amounts = (due.principal, due.interest, due.guarantee_fee, due.service_fee, due.penalty,
                   due.total, paid.total, left.total)  # fmt: skip
        cells = [number(view.money(minor), minor=minor) for minor in amounts]
        rows.append(table_row([cell(each.number), cell(each.due_on.isoformat()), *cells]))
    heads = ["no.", "due on", "principal", "interest", "guarantee", "service", "penalty", "due",
             "paid", "open"]  # fmt: skip
    return table(heads, rows, numbers=2)


def _facts(view: BookView, history: LoanHistory) -> Markup:
    if not history.facts:
        return missing("The book has no facts of this loan.")
    rows = [
        table_row([
            cell(row["effective_on"].isoformat()), cell(words(FactKind(row["kind"]).label)),
            number(view.money(row["amount_minor"]), minor=row["amount_minor"]),
            cell(_argument(row), kind="quiet"), cell(str(row["ref"]), kind="quiet"),
            cell(f"{row['booked_at']:%Y-%m-%d %H:%M}", kind="quiet"),
        ])
        for row in history.facts
    ]  # fmt: skip
    return table(["on", "what", "amount", "", "ref", "known at (UTC)"], rows, numbers=[2])


def _argument(row: Mapping[str, Any]) -> str:
    kind, arg = FactKind(row["kind"]), row["arg"]
    if not arg:
        return ""
    names = {
        FactKind.TERMS_CHANGED: "terms",
        FactKind.FEE_CHARGED: "fee",
        FactKind.PAID: "provider",
        FactKind.REFUNDED: "provider",
        FactKind.CHARGED_BACK: "provider",
        FactKind.COMPENSATED: "party",
        FactKind.BOUGHT_OUT: "party",
        FactKind.REVERSED: "reverses",
        FactKind.WAIVED: "component",
    }
    known = {int(each): words(each.label) for each in Fee}
    value = known.get(arg, str(arg)) if kind is FactKind.FEE_CHARGED else str(arg)
    return f"{names.get(kind, '')} {value}".strip()


def _journal(view: BookView, history: LoanHistory) -> Markup:
    if not history.journal:
        return missing("No close has posted anything for this loan.")
    closes = {close.name: close for close in effective_closes(view.book)}
    rows, last = [], ("", 0)
    for line in history.journal:
        place = (line.close, line.rule)
        is_new = place != last
        close, name = closes[line.close], f"{line.rule} {words(line.amount)}"
        # What loans of a cell take from one another is no journal of the cell.
        there = (close.month, line.rule) in view.posted
        to = f"{journal_path(close, line.rule)}#loans" if there and is_new else None
        rows.append(table_row([
            cell(line.close if line.close != last[0] else "", kind="quiet"),
            cell(name if is_new else "", to=to),
            cell(COLUMN_NAMES[_TAGS[IfrsAdjustment(line.tag)]] if is_new else "", kind="quiet"),
            cell(words(line.account), to=f"/accounts/{line.account}.html"),
            number(view.money(line.amount_minor), minor=line.amount_minor),
        ]))  # fmt: skip
        last = place
    return table(["close", "rule", "framework", "account", "amount"], rows, numbers=[4])


def _tape(view: BookView, history: LoanHistory) -> Markup:
    if not history.tape:
        return missing("This book has no tape of this loan.")
    amounts = ("principal_minor", "past_due_minor", "net30_minor", "prepaid_minor",
               "recovered_minor")  # fmt: skip
    rows = [
        table_row([
            cell(format_month(row["month"])), number(grouped(row["mob"])),
            number(grouped(row["dpd"])), number(grouped(row["bucket"])),
            cell(words(Status(row["status"]).label)),
            *(number(view.money(row[name]), minor=row[name]) for name in amounts),
        ])
        for row in history.tape
    ]  # fmt: skip
    heads = ["month", "on book", "days past due", "bucket", "status", "principal", "past due",
             "over 30 days", "prepaid", "recovered"]  # fmt: skip
    return table(heads, rows, numbers=[1, 2, 3, 5, 6, 7, 8, 9])

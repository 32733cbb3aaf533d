"""The pre-loan investigation report: the facts for an institution before it decides on a loan.

Identity and consent, income and occupation, liabilities and bureau, exposure to other lenders,
device and links, score, grade and capacity, the suggested line, price and tenor, warnings, where
each figure comes from, and the versions of flow and model. Without a consent to share in force at
that moment there is no report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from usance.acquire.consent import Consent, Purpose, in_force, read_consents
from usance.assess.decision.decide import Decider, Decision
from usance.assess.decision.request import Request, read_request
from usance.assess.errors import WrongInput
from usance.assess.features.definition import Feature
from usance.assess.flow.files import Flow, read_flow
from usance.base.atomic_files import replace
from usance.base.dates import add_months
from usance.base.document_places import document_places
from usance.base.documents import read_text
from usance.base.fields import moment
from usance.base.ids import print_id
from usance.base.money import half_up
from usance.base.rates import PPM
from usance.loan.exact.charge import level_instalment
from usance.loan.exact.dates import periods
from usance.loan.terms import Terms

SECTIONS: dict[str, tuple[str, ...]] = {
    "identity": ("document_valid", "face_match_ppm", "card_check", "duplicate_identity",
                 "age_years"),
    "income_and_occupation": ("monthly_income_minor", "occupation", "bank_inflow_ppm"),
    "liabilities_and_bureau": ("bureau_debt_minor", "bureau_overdue_minor",
                               "bureau_worst_days_24m"),
    "multi_lender_exposure": ("bureau_open_loans", "bureau_inquiries_90d"),
    "device_and_links": ("list_hit", "applications_24h", "device_users_30d", "device_age_days",
                         "link_size", "bad_neighbours_ppm"),
    "platform_record": ("platform_worst_days", "platform_days_past_due"),
}  # fmt: skip
"""The inputs each section shows, where the flow has them."""

ASSESSED = ("score", "grade", "pd_ppm")
GRANTED = ("line_minor", "rate_ppm")


def investigate(
    content: object, file: str, flow: Flow | str, *, currency: str = "CNY"
) -> dict[str, Any]:
    """The report on a request that also lists `consents` and the offered `months`."""
    read = read_flow(flow) if isinstance(flow, str) else flow
    places = document_places(file, partial(read_text, file))
    given = dict(content) if isinstance(content, dict) else {}
    consents, months = given.pop("consents", None), given.pop("months", None)
    request = read_request(given if isinstance(content, dict) else content, places)
    facts = read_consents(consents or [], request.user_id, places) if consents else ()
    shown = _consents(facts, request)
    if type(months) is not int or not 1 <= months <= 360:
        raise WrongInput(f"months is {months!r}", where=f"{file}, months", fix="Give 1 to 360")
    decision = Decider(read).decide(request, lambda: request.at)
    return {"currency": currency, **report_on(read, request, decision, shown, months)}


def write_report(
    report: Mapping[str, Any], folder: Path, page: Callable[[Mapping[str, Any]], str]
) -> list[str]:
    """Write `investigation.json`, and `investigation.html` by `page`; gives their names."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True)
    files = {"investigation.json": text + "\n", "investigation.html": page(report)}
    for name, content in files.items():
        replace(folder / name, content.encode())
    return [*files]


def _consents(facts: tuple[Consent, ...], request: Request) -> list[dict[str, str]]:
    found = []
    for purpose in (Purpose.CREDIT_DECISION, Purpose.BUREAU_INQUIRY,
                    Purpose.SHARE_WITH_INSTITUTION):  # fmt: skip
        held = in_force(facts, request.user_id, purpose, request.at, request.at)
        if held is None:
            fix = "Ask the user to agree in the app; nothing is shared before"
            what = f"no consent to {purpose.label.replace('_', ' ')} is in force"
            raise WrongInput(what, where="consents", fix=fix)
        found.append(
            {"purpose": purpose.label, "since": held.effective_at.isoformat(),
             "booked_at": held.booked_at.isoformat(), "text_version": held.text_version,
             "channel": held.channel}
        )  # fmt: skip
    return found


def report_on(
    flow: Flow, request: Request, decision: Decision, consents: list[dict[str, str]], months: int
) -> dict[str, Any]:
    """The report on a decision that was made, without the currency of its amounts."""
    shown = decision.as_dict(flow)
    values, answer = shown["inputs"], decision.answer
    # A stage that was not reached has said nothing: that is not a probability of 0.
    reached = {name: answer.number(name) for name in ASSESSED if name in answer.values}
    granted = {name: answer.number(name) for name in GRANTED if answer.approved}
    assessed = {name: reached.get(name) for name in ASSESSED}
    suggested = {name: granted.get(name) for name in GRANTED} | {"months": months}
    sections = {
        title: [_figure(flow, request, name, values[name]) for name in names if name in values]
        for title, names in SECTIONS.items()
    }
    return {
        "report": "pre-loan investigation",
        "decision": shown["decision"],
        "user": print_id("us", request.user_id),
        "made_at": request.at.isoformat(),
        "consents": consents,
        "sections": sections,
        "assessment": {"approved": answer.approved, **assessed},
        "capacity": _capacity(values, suggested, request.at.date()),
        "suggested": suggested,
        "reasons": shown["reasons"],
        "warnings": _warnings(flow, values, shown),
        "versions": {"flow": shown["flow"], "model_no": answer.model_no,
                     "valid_from": flow.valid_from.isoformat()},
        "path": shown["path"],
    }  # fmt: skip


def _capacity(
    values: Mapping[str, Any], suggested: Mapping[str, int | None], on: date
) -> dict[str, int | None]:
    """The user's income and debts, now and with the whole line drawn."""
    income, owed = values.get("monthly_income_minor"), values.get("bureau_debt_minor")
    debt = owed if owed is not None and owed >= 0 else None
    line, rate = suggested["line_minor"], suggested["rate_ppm"]
    instalment = None
    if line and rate is not None:
        instalment = _instalment_minor(line, rate, suggested["months"] or 1, on)
    return {
        "monthly_income_minor": income,
        "debt_minor": debt,
        "debt_with_line_minor": None if debt is None or line is None else debt + line,
        "instalment_minor": instalment,
        "instalment_of_income_ppm": (
            half_up(instalment * PPM, income) if instalment and income else None
        ),
    }


def _instalment_minor(line_minor: int, rate_ppm: int, months: int, on: date) -> int:
    """The level instalment of the whole line, a month apart."""
    terms = Terms(
        principal_minor=line_minor, rate_ppm=rate_ppm, instalments=months,
        disbursed_on=on, first_due_on=add_months(on, 1),
    )  # fmt: skip
    return level_instalment(terms, periods(terms), line_minor)


def _figure(flow: Flow, request: Request, name: str, value: Any) -> dict[str, Any]:
    declared = flow.inputs[name]
    means = declared.special.get(value, "") if type(value) is int else ""
    return {"name": name, "value": value, "means": means, **_provenance(flow, request, name)}


def _provenance(flow: Flow, request: Request, name: str) -> dict[str, Any]:
    """The provenance of a figure: a source with the day of its last record known then, or given."""
    made = {each.name: each for each in (flow.features.features if flow.features else ())}
    if name in request.inputs:
        return {"source": "given with the request"}
    if name not in made:
        return {"source": f"parameter {flow.inputs[name].parameter}"}
    feature = made[name]
    if feature.parts[0]:
        named = f"{feature.take.value} of {' and '.join(feature.parts)}"
        return {"source": named, "from": sorted(_sources(made, name))}
    booked = [
        at
        for row in request.records.get(feature.source, ())
        if (at := moment(row["booked_at"], feature.source)) <= request.at
    ]
    last = max(booked).isoformat() if booked else ""
    return {"source": feature.source, "records": len(booked), "last_booked_at": last}


def _sources(made: Mapping[str, Feature], name: str) -> set[str]:
    """The sources of records behind a feature, through all its parts."""
    feature = made[name]
    if not feature.parts[0]:
        return {feature.source}
    return {source for part in feature.parts for source in _sources(made, part)}


def _warnings(flow: Flow, values: Mapping[str, Any], shown: Mapping[str, Any]) -> list[str]:
    """Warnings an institution should see at once: no records, lists, overdue, unseen values."""
    found = [
        f"{name}: {flow.inputs[name].special[value]}"
        for name, value in values.items()
        if type(value) is int and value in flow.inputs[name].special
    ]
    if values.get("list_hit") not in (None, "none"):
        found.append(f"the applicant is on a list: {values['list_hit']}")
    if (values.get("bureau_overdue_minor") or 0) > 0:
        found.append("something is overdue elsewhere")
    return [*found, *shown["notes"]]

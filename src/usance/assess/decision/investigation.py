"""The pre-loan investigation report: what an institution is told before it decides on a loan.

Identity and consent, income and occupation, liabilities and bureau, exposure to other lenders,
device and links, score, grade and capacity, the suggested line, price and tenor, warnings, where
each figure comes from, and the versions of flow and model. Without a consent to share in force at
that moment there is no report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from usance.acquire.consent import Consent, Purpose, in_force, read_consents
from usance.assess.decision.decide import Decider, Decision
from usance.assess.decision.investigation_page import page
from usance.assess.decision.request import Request, read_request
from usance.assess.flow.errors import WrongInput
from usance.assess.flow.files import Flow, read_flow
from usance.base.documents import read_text
from usance.base.errors import unknown
from usance.base.fields import document_places
from usance.base.ids import print_id
from usance.base.publish import replace

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


def investigate(content: object, file: str, flow: Flow | str) -> dict[str, Any]:
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
    return _report(read, request, decision, shown, months)


def write_report(report: Mapping[str, Any], folder: Path) -> list[str]:
    """Write `investigation.json` and `investigation.html`; gives their names."""
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


def _report(
    flow: Flow, request: Request, decision: Decision, consents: list[dict[str, str]], months: int
) -> dict[str, Any]:
    shown = decision.shown(flow)
    values, answer = shown["inputs"], decision.answer
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
        "assessment": {
            "approved": answer.approved, "score": answer.number("score"),
            "grade": answer.number("grade"), "pd_ppm": answer.number("pd_ppm"),
        },
        "capacity": _capacity(values, answer.number("line_minor")),
        "suggested": {"line_minor": answer.number("line_minor"),
                      "rate_ppm": answer.number("rate_ppm"), "months": months},
        "reasons": shown["reasons"],
        "warnings": _warnings(flow, values, shown),
        "versions": {"flow": shown["flow"], "model_no": answer.model_no,
                     "valid_from": flow.valid_from.isoformat()},
        "path": shown["path"],
    }  # fmt: skip


def _capacity(values: Mapping[str, Any], line_minor: int) -> dict[str, Any]:
    """What the user earns and owes, and what would be owed with the whole line drawn."""
    income = values.get("monthly_income_minor")
    debt = values.get("bureau_debt_minor")
    known = debt is not None and debt >= 0
    return {
        "monthly_income_minor": income,
        "debt_minor": debt if known else None,
        "debt_with_line_minor": int(debt) + line_minor if debt is not None and known else None,
    }


def _figure(flow: Flow, request: Request, name: str, value: Any) -> dict[str, Any]:
    declared = flow.inputs[name]
    means = declared.special.get(value, "") if type(value) is int else ""
    return {"name": name, "value": value, "means": means, **_provenance(flow, request, name)}


def _provenance(flow: Flow, request: Request, name: str) -> dict[str, Any]:
    """Where a figure comes from: a source with the day of its last record known then, or given."""
    feature = next((f for f in (flow.features.features if flow.features else ())
                    if f.name == name), None)  # fmt: skip
    if name in request.inputs or feature is None:
        place = f"parameter {flow.inputs[name].parameter}" if flow.inputs[name].parameter else ""
        return {"source": "given with the request" if name in request.inputs else place}
    assert flow.features is not None
    source = feature.source
    if feature.parts[0]:
        by_name = {each.name: each for each in flow.features.features}
        sources = {by_name[part].source for part in feature.parts} - {""}
        named = f"{feature.take.value} of {' and '.join(feature.parts)}"
        return {"source": named, "from": sorted(sources)}
    rows = [row for row in request.records.get(source, ()) if isinstance(row, Mapping)]
    last = max((str(row.get("booked_at")) for row in rows), default="")
    return {"source": source, "records": len(rows), "last_booked_at": last}


def _warnings(flow: Flow, values: Mapping[str, Any], shown: Mapping[str, Any]) -> list[str]:
    """What an institution should see at once: nothing known, lists, overdue, unseen values."""
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


def section_of(report: Mapping[str, Any], title: str) -> dict[str, Any]:
    """The figures of a section by name."""
    if title not in report["sections"]:
        raise unknown("section", title, report["sections"])
    return {figure["name"]: figure for figure in report["sections"][title]}

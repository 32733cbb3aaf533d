"""Eligibility of requests under a mandate, rule by rule, in plain NumPy and without the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from usance.base.arrays import I64, Bools
from usance.base.dates import to_day
from usance.match.mandates.mandate import EventKind, Mandate, Mandates
from usance.match.router.request_rows import RequestRows
from usance.match.router.requests import Requests


def exclusions(
    mandate: Mandate, mandates: Mandates, requests: Requests, rows: RequestRows
) -> dict[str, Bools]:
    """For each rule of a mandate the requests that it excludes."""
    own = mandate.eligibility
    masks = {name: 1 << bit for bit, name in enumerate(mandates.attributes)}
    needs, refuses = (sum(masks[name] for name in names) for names in (own.needs, own.refuses))
    amount, attributes = requests.amount_minor, requests.attributes
    return {
        "amount": (amount < own.min_amount_minor) | (amount > own.max_amount_minor),
        "product": _outside(requests.product, own.products),
        "region": _outside(requests.region, own.regions),
        "grade": _outside(requests.grade, own.grades),
        "channel": _outside(requests.channel, own.channels),
        "tenor": _outside(requests.months, own.months),
        "attributes": (attributes & needs != needs) | (attributes & refuses != 0),
        "blacklist": np.isin(requests.user_id, sorted(own.blacklist)),
        "hours": (rows.second < own.opens) | (rows.second >= own.cut_off),
        "not in force": (rows.day < to_day(mandate.valid_from))
        | (rows.day > to_day(mandate.valid_to))
        | _absent(mandate, mandates, requests),
    }


def _outside(values: I64, allowed: frozenset[Any]) -> Bools:
    if not allowed:
        return np.zeros(len(values), np.bool_)
    return ~np.isin(values, [int(each) for each in allowed])


def _absent(mandate: Mandate, mandates: Mandates, requests: Requests) -> Bools:
    """Requests made while the source had left."""
    absent = np.zeros(len(requests), np.bool_)
    for event in mandates.events:
        if event.source == mandate.source and event.kind in (EventKind.LEAVES, EventKind.RETURNS):
            later = requests.requested_at >= event.moment
            absent[later] = event.kind is EventKind.LEAVES
    return absent

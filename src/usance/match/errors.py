"""Errors of matching: mandates, demand, streams, checkpoints, requests, shares.

InputError
├── MandateError                match.mandate            422
│   ├── MandateDates            match.mandate.dates      422
│   ├── MandateApproval         match.mandate.approval   422
│   ├── MandateBudget           match.mandate.budget     422
│   ├── MandateShare            match.mandate.share      422
│   ├── EmptyEligibility        match.mandate.empty      422
│   └── UnknownName             match.mandate.unknown    422
├── StreamError                 match.stream             422
│   └── StreamOrder             match.stream.order       422
├── DemandError                 match.demand             422
├── ApprovalError               match.approval           422
├── ForecastError               match.forecast           422
├── ReleaseError                match.release            422
├── CheckpointError               match.checkpoint         422
├── RequestRefused              match.refused            409
├── ShareError                  match.share              422
└── NotFound                    match.not_found          404
"""

from __future__ import annotations

from usance.base.errors import InputError


class MandateError(InputError):
    """A mandate contradicts itself or another; nothing is routed on it."""

    code = "match.mandate"
    http_status = 422


class MandateDates(MandateError):
    """A mandate ends before it begins, or two versions of one source overlap."""

    code = "match.mandate.dates"


class MandateApproval(MandateError):
    """A mandate was not approved by two different people."""

    code = "match.mandate.approval"


class MandateBudget(MandateError):
    """A budget is below the minimum take, or below the smallest loan."""

    code = "match.mandate.budget"


class MandateShare(MandateError):
    """A share is above one, or no portfolio keeps all shares together."""

    code = "match.mandate.share"


class EmptyEligibility(MandateError):
    """No loan can ever meet a mandate."""

    code = "match.mandate.empty"


class UnknownName(MandateError):
    """A region, channel, grade or attribute is not one of those the file lists."""

    code = "match.mandate.unknown"


class StreamError(InputError):
    """A row of a stream of requests cannot be used."""

    code = "match.stream"
    http_status = 422


class StreamOrder(StreamError):
    """Requests are not in order of time and loan, or one is there twice."""

    code = "match.stream.order"


class DemandError(InputError):
    """A row of a demand forecast cannot be used."""

    code = "match.demand"
    http_status = 422


class ApprovalError(InputError):
    """Answers or stated rates from which no approval rate can be estimated."""

    code = "match.approval"
    http_status = 422


class ForecastError(InputError):
    """A history is empty, not by whole days, or below zero."""

    code = "match.forecast"
    http_status = 422


class ReleaseError(InputError):
    """Released principal is below zero or beyond any budget."""

    code = "match.release"
    http_status = 422


class CheckpointError(InputError):
    """A file is no checkpoint of a router."""

    code = "match.checkpoint"
    http_status = 422


class RequestRefused(InputError):
    """A request for reservation that cannot be taken as it is."""

    code = "match.refused"
    http_status = 409


class ShareError(InputError):
    """The shares of a co-funded loan do not make a whole, or one is below its minimum."""

    code = "match.share"
    http_status = 422


class NotFound(InputError):
    """A loan, a source or a limit that is asked about does not exist here."""

    code = "match.not_found"
    http_status = 404

"""Errors of flows, of requests for decisions and of stored decisions.

InputError
├── FlowError        assess.flow        422
├── WrongInput       assess.input       422
├── FeatureError     assess.feature     422
├── LogError         assess.log         409
└── HandoverError    assess.handover    422
"""

from __future__ import annotations

from usance.base.errors import InputError


class FlowError(InputError):
    """A flow file cannot be used; `where` has the file and the node, rule or key."""

    code = "assess.flow"
    http_status = 422


class WrongInput(InputError):
    """An input of a decision is missing, of the wrong type, unknown or impossible."""

    code = "assess.input"
    http_status = 422


class FeatureError(InputError):
    """A feature's definition, or a record it reads, cannot be used."""

    code = "assess.feature"
    http_status = 422


class LogError(InputError):
    """A decision log is damaged, or lacks what a stored decision was made with."""

    code = "assess.log"
    http_status = 409


class HandoverError(InputError):
    """A decision cannot be handed on as a line or a request."""

    code = "assess.handover"
    http_status = 422

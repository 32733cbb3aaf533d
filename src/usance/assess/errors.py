"""Errors of training data and models, of flows, requests for decisions and stored decisions.

UsanceError
├── InputError
│   ├── DataError             assess.data            422
│   ├── ModelError            assess.model           422
│   ├── FlowError             assess.flow            422
│   ├── WrongInput            assess.input           422
│   ├── FeatureError          assess.feature         422
│   ├── LogError              assess.log             409
│   └── DecisionTableError    assess.handover        422
└── NotApproved               assess.not_approved    409
"""

from __future__ import annotations

from usance.base.errors import InputError, UsanceError


class DataError(InputError):
    """A file of applicants cannot be used; `where` has the file and the column or row."""

    code = "assess.data"
    http_status = 422


class ModelError(InputError):
    """A model folder is missing, incomplete or was edited."""

    code = "assess.model"
    http_status = 422


class NotApproved(UsanceError):
    """A model is asked to decide live without an approver for exactly its bytes."""

    code = "assess.not_approved"
    http_status = 409


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


class DecisionTableError(InputError):
    """A decision cannot become a row of lines or requests."""

    code = "assess.handover"
    http_status = 422

"""Errors of training data, of model folders and of the use of models.

UsanceError
├── InputError
│   ├── DataError       assess.data            422
│   └── ModelError      assess.model           422
└── NotApproved         assess.not_approved    409
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

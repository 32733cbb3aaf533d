"""Errors of estimates of credit losses.

InputError
├── CurveError         books.losses.curve         422
├── ScenarioError      books.losses.scenario      422
├── OverlayError       books.losses.overlay       422
└── ExposureError      books.losses.exposure      422
"""

from __future__ import annotations

from usance.base.errors import InputError


class CurveError(InputError):
    """A curve leaves 0 to 1, falls, or is missing."""

    code = "books.losses.curve"
    http_status = 422


class ScenarioError(InputError):
    """Scenarios do not add up, or one lacks a driver."""

    code = "books.losses.scenario"
    http_status = 422


class OverlayError(InputError):
    """An overlay lacks a reason, an approver or an end, has ended, or cannot be carried."""

    code = "books.losses.overlay"
    http_status = 422


class ExposureError(InputError):
    """Exposures do not fit the triangle, or a loan is in no pool."""

    code = "books.losses.exposure"
    http_status = 422

"""Complaints: acknowledged and answered by a day, by somebody else than the one complained about.

>>> complaint = Complaint(1, "contact", date(2024, 7, 1), against="anna")
>>> deadlines = ComplaintDeadlines.at(date(2024, 7, 1))
>>> due_on(complaint, deadlines), is_overdue(complaint, date(2024, 7, 7), deadlines)
(datetime.date(2024, 7, 6), True)
>>> heard = acknowledged(complaint, date(2024, 7, 3))
>>> due_on(heard, deadlines)
datetime.date(2024, 7, 31)
>>> answered(heard, date(2024, 7, 9), by="anna", answer="no")
Traceback (most recent call last):
usance.service.errors.ComplaintRefused: complaint 1: anna is complained about. \
Let somebody else answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import NamedTuple

from usance.base.errors import unknown
from usance.base.parameters import Parameters
from usance.service.errors import ComplaintRefused

SUBJECTS = ("contact", "amount", "plan", "data", "other")
"""Things that a complaint is about."""


@dataclass(frozen=True)
class Complaint:
    """A complaint of a borrower, and how far it is."""

    complaint_id: int
    subject: str
    received_on: date
    against: str = ""
    acknowledged_on: date | None = None
    answered_on: date | None = None
    answer: str = ""

    def __post_init__(self) -> None:
        if self.subject not in SUBJECTS:
            raise unknown("subject", self.subject, SUBJECTS, where="complaint")


class ComplaintDeadlines(NamedTuple):
    """Days from receipt to the acknowledgement and to the answer."""

    acknowledge_days: int
    answer_days: int

    @classmethod
    def at(cls, day: date, parameters: Parameters | None = None) -> ComplaintDeadlines:
        """Deadlines in force on a day."""
        known = parameters or Parameters.load()
        names = ("servicing.complaint_acknowledged", "servicing.complaint_answered")
        return cls(*(known.at(name, day).integer for name in names))


def due_on(complaint: Complaint, deadlines: ComplaintDeadlines) -> date | None:
    """The last day of the next step; None once it is answered."""
    if complaint.answered_on is not None:
        return None
    days = deadlines.answer_days
    if complaint.acknowledged_on is None:
        days = deadlines.acknowledge_days
    return complaint.received_on + timedelta(days=days)


def is_overdue(complaint: Complaint, day: date, deadlines: ComplaintDeadlines) -> bool:
    """True if the next step is late on a day."""
    last = due_on(complaint, deadlines)
    return last is not None and day > last


def acknowledged(complaint: Complaint, day: date) -> Complaint:
    """The complaint after its receipt was confirmed, once."""
    if complaint.acknowledged_on is not None:
        _refuse(complaint, "was acknowledged already", "Answer it")
    return replace(complaint, acknowledged_on=day)


def answered(complaint: Complaint, day: date, *, by: str, answer: str) -> Complaint:
    """The complaint with its answer, which also acknowledges it."""
    if complaint.answered_on is not None:
        _refuse(complaint, "was answered already", "Open a new one")
    if by == complaint.against:
        _refuse(complaint, f"{by} is complained about", "Let somebody else answer")
    if not answer.strip():
        _refuse(complaint, "the answer is empty", "Say what was found and what is done")
    heard = complaint.acknowledged_on or day
    return replace(complaint, acknowledged_on=heard, answered_on=day, answer=answer)


def _refuse(complaint: Complaint, what: str, fix: str) -> None:
    raise ComplaintRefused(what, where=f"complaint {complaint.complaint_id}", fix=fix)

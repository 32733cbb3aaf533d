"""Answers of a bank to our orders (pain.002), as events of payment orders.

A code for a whole message or payment holds for the orders that have none of their own.

>>> text = b'''<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>
... <OrgnlGrpInfAndSts><OrgnlMsgId>M1</OrgnlMsgId></OrgnlGrpInfAndSts><OrgnlPmtInfAndSts>
... <OrgnlPmtInfId>M1</OrgnlPmtInfId><TxInfAndSts><OrgnlEndToEndId>OR1</OrgnlEndToEndId>
... <TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf></TxInfAndSts>
... </OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>'''
>>> [(each.reference, each.kind.value, each.reason) for each in read_status_report(text, "a.xml")]
[('OR1', 'rejected', 'AC04')]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from usance.service.bank_files.xml_reader import Element, Fields, Place, read_xml
from usance.service.errors import BankFileError
from usance.service.orders.payment_order import EventKind

_NAMESPACE = re.compile(r"urn:iso:std:iso:20022:tech:xsd:pain\.002\.001\.\d\d")
_KINDS = {
    "ACTC": EventKind.ACCEPTED, "ACCP": EventKind.ACCEPTED, "ACSP": EventKind.ACCEPTED,
    "ACWC": EventKind.ACCEPTED, "ACFC": EventKind.ACCEPTED, "PDNG": EventKind.ACCEPTED,
    "RCVD": EventKind.ACCEPTED, "RJCT": EventKind.REJECTED, "CANC": EventKind.REJECTED,
}  # fmt: skip
"""Codes that are taken as an answer. `ACSC` and `ACCC` say that the debtor's side has settled: an
order is settled by a statement or notification, which has the day and the amount."""
_SETTLED = ("ACSC", "ACCC")
_PARTIAL = "PART"  # the orders have codes of their own


class StatusLine(NamedTuple):
    """The bank's word about one order; `reference` is empty where it speaks of a whole message."""

    reference: str
    message_id: str
    kind: EventKind
    reason: str
    line: int


def read_status_report(content: bytes | Iterable[bytes], where: str) -> list[StatusLine]:
    """Every answer of a report; refused whole if one cannot be read."""
    found: list[list[StatusLine]] = read_xml(
        content, where, _grammar,
        {"report": _report, "payment": lambda fields, _: fields, "order": _order},
    )  # fmt: skip
    return [line for report in found for line in report]


def _grammar(namespace: str) -> Element:
    if not _NAMESPACE.fullmatch(namespace):
        fix = "Give a payment status report"
        raise BankFileError(f"is no pain.002 but {namespace or 'plain XML'!r}", fix=fix)
    order = Element("order", {
        "reference": ("OrgnlEndToEndId",), "code": ("TxSts",),
        "reason": ("StsRsnInf", "Rsn", "Cd"),
    })  # fmt: skip
    payment = Element(
        "payment",
        {"code": ("PmtInfSts",), "reason": ("StsRsnInf", "Rsn", "Cd")},
        {"TxInfAndSts": order},
    )
    report = Element(
        "report",
        {"message_id": ("OrgnlGrpInfAndSts", "OrgnlMsgId"), "code": ("OrgnlGrpInfAndSts", "GrpSts"),
         "reason": ("OrgnlGrpInfAndSts", "StsRsnInf", "Rsn", "Cd")},
        {"OrgnlPmtInfAndSts": payment},
    )  # fmt: skip
    return Element(children={"Document": Element(children={"CstmrPmtStsRpt": report})})


def _order(fields: Fields, place: Place) -> tuple[Fields, Place]:
    return fields, place


def _report(fields: Fields, place: Place) -> list[StatusLine]:
    message = fields.get("message_id", "")
    lines = []
    for payment in fields.get("payment", []):
        for order, at in payment.get("order", []):
            code = order.get("code") or payment.get("code") or fields.get("code", "")
            reason = order.get("reason") or payment.get("reason") or fields.get("reason", "")
            lines.append(_line(order.get("reference", ""), message, code, reason, at))
    whole = fields.get("code", "")
    if not lines and whole and whole != _PARTIAL:
        lines.append(_line("", message, whole, fields.get("reason", ""), place))
    return lines


def _line(reference: str, message: str, code: str, reason: str, place: Place) -> StatusLine:
    kind = EventKind.ACCEPTED if code in _SETTLED else _KINDS.get(code)
    if kind is None:
        fix = "Ask the bank what it means; nothing of the file was taken"
        raise BankFileError(f"unknown status {code!r}", where=str(place), fix=fix)
    return StatusLine(reference, message, kind, reason, place.line)

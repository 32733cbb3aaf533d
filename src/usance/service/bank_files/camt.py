"""Account statements (camt.053) and notifications (camt.054), read by a bank's profile.

Entries that are only pending are left out. A profile says what ISO 20022 leaves to banks: what the
sign of a reversal means, whether a batch entry is one line or its details, which field carries our
reference, which day counts, and whether balances roll.

>>> text = b'''<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
... <Stmt><Id>S-1</Id><Acct><Id><IBAN>CN01</IBAN></Id><Ccy>CNY</Ccy></Acct>
... <Ntry><Amt Ccy="CNY">1500.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
... <BookgDt><Dt>2024-07-01</Dt></BookgDt><NtryDtls><TxDtls><Refs><EndToEndId>OR1</EndToEndId>
... </Refs></TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>'''
>>> [statement] = read_camt(text, "s1.xml")
>>> statement.account, [(line.reference, line.amount_minor) for line in statement.lines]
('CN01', [('OR1', 150000)])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any, NamedTuple

from usance.base.errors import raise_all
from usance.service.bank_files.profile import BankProfile, Batches, DayField, ReversalSign
from usance.service.bank_files.statement import FileLine, Statement
from usance.service.bank_files.values import day_of, minor_units
from usance.service.bank_files.xml_reader import Element, Fields, Place, read_xml
from usance.service.errors import BankFileError

_NAMESPACE = re.compile(r"urn:iso:std:iso:20022:tech:xsd:camt\.05([34])\.001\.(\d\d)")
_DETAIL = {
    "end_to_end_id": ("Refs", "EndToEndId"),
    "payment_information_id": ("Refs", "PmtInfId"),
    "message_id": ("Refs", "MsgId"),
    "instruction_id": ("Refs", "InstrId"),
    "transaction_id": ("Refs", "TxId"),
    "servicer_ref": ("Refs", "AcctSvcrRef"),
    "amount": ("Amt",),
    "currency": ("Amt", "@Ccy"),
    "tx_amount": ("AmtDtls", "TxAmt", "Amt"),
    "tx_currency": ("AmtDtls", "TxAmt", "Amt", "@Ccy"),
    "side": ("CdtDbtInd",),
    "debtor": ("RltdPties", "Dbtr", "Nm"),
    "debtor_party": ("RltdPties", "Dbtr", "Pty", "Nm"),
    "creditor": ("RltdPties", "Cdtr", "Nm"),
    "creditor_party": ("RltdPties", "Cdtr", "Pty", "Nm"),
    "credited_iban": ("RltdPties", "CdtrAcct", "Id", "IBAN"),
    "credited_account": ("RltdPties", "CdtrAcct", "Id", "Othr", "Id"),
    "text": ("RmtInf", "Ustrd"),
    "return_reason": ("RtrInf", "Rsn", "Cd"),
}
_ENTRY = {
    "entry_ref": ("NtryRef",),
    "amount": ("Amt",),
    "currency": ("Amt", "@Ccy"),
    "side": ("CdtDbtInd",),
    "is_reversal": ("RvslInd",),
    "status": ("Sts",),  # up to version 6
    "status_code": ("Sts", "Cd"),
    "booked": ("BookgDt", "Dt"),
    "booked_at": ("BookgDt", "DtTm"),
    "valued": ("ValDt", "Dt"),
    "valued_at": ("ValDt", "DtTm"),
    "servicer_ref": ("AcctSvcrRef",),
    "text": ("AddtlNtryInf",),
    "batch_message": ("NtryDtls", "Btch", "MsgId"),
    "batch_payment": ("NtryDtls", "Btch", "PmtInfId"),
}
_STATEMENT = {
    "id": ("Id",),
    "iban": ("Acct", "Id", "IBAN"),
    "other_account": ("Acct", "Id", "Othr", "Id"),
    "account_currency": ("Acct", "Ccy"),
}
_BALANCE = {
    "code": ("Tp", "CdOrPrtry", "Cd"), "amount": ("Amt",), "currency": ("Amt", "@Ccy"),
    "side": ("CdtDbtInd",), "day": ("Dt", "Dt"), "moment": ("Dt", "DtTm"),
}  # fmt: skip
_TRUE = ("true", "1")
_BOOKED = "BOOK"
_OPENING, _CLOSING = ("OPBD", "PRCD"), ("CLBD",)


class _Balance(NamedTuple):
    code: str
    amount_minor: int
    day: date


def read_camt(
    content: bytes | Iterable[bytes], where: str, profile: BankProfile | None = None
) -> list[Statement]:
    """The statements of a file; raises at the first thing that is wrong, and takes nothing then."""
    makers = _Makers(profile or BankProfile("iso20022"))
    found: list[Statement] = read_xml(
        content, where, _grammar,
        {"statement": makers.statement, "balance": _balance, "entry": makers.entry,
         "detail": lambda fields, place: (fields, place)},
    )  # fmt: skip
    if makers.profile.balances_roll:
        raise_all([each for one in found for each in one.balance_problems(where)], where=where)
    return found


def _grammar(namespace: str) -> Element:
    known = _NAMESPACE.fullmatch(namespace)
    if not known:
        fix = "Give an account statement (camt.053) or a notification (camt.054)"
        raise BankFileError(f"is no camt.053 or camt.054 but {namespace or 'plain XML'!r}", fix=fix)
    message, one = (
        ("BkToCstmrStmt", "Stmt") if known[1] == "3" else ("BkToCstmrDbtCdtNtfctn", "Ntfctn")
    )
    detail = Element("detail", _DETAIL)
    entry = Element("entry", _ENTRY, {"NtryDtls/TxDtls": detail})
    statement = Element(
        "statement", _STATEMENT, {"Bal": Element("balance", _BALANCE), "Ntry": entry}
    )
    inner = Element(children={message: Element(children={one: statement})})
    return Element(children={"Document": inner})


class _Makers:
    """Entries and statements of one bank."""

    def __init__(self, profile: BankProfile) -> None:
        self.profile = profile

    def entry(self, fields: Fields, place: Place) -> list[FileLine]:
        """The lines of an entry; none if it is only pending."""
        if (fields.get("status_code") or _need(fields, "status", place)) != _BOOKED:
            return []
        details: list[tuple[Fields, Place]] = fields.get("detail", [])
        currency = _need(fields, "currency", place)
        total = _unsigned(_need(fields, "amount", place), currency, place)
        total *= self.sign(fields, place)
        if self.profile.batches is Batches.DETAILS and len(details) > 1:
            return list(self.detail_lines(fields, details, currency, total, place))
        first = details[0][0] if len(details) == 1 else {}
        return [self.line(fields, first, total, currency, place)]

    def detail_lines(
        self, fields: Fields, details: list[tuple[Fields, Place]], currency: str, total: int,
        place: Place,
    ) -> Iterator[FileLine]:  # fmt: skip
        """One line a detail; together they are the entry."""
        left = total
        for detail, at in details:
            text = detail.get("amount") or detail.get("tx_amount")
            if text is None:
                raise _refusal("a detail of a batch without its amount", at)
            unit = detail.get("currency") or detail.get("tx_currency") or currency
            amount = _unsigned(text, unit, at)
            amount *= self.sign({**fields, **detail} if "side" in detail else fields, at)
            left -= amount
            yield self.line(fields, detail, amount, unit, at)
        if left:
            raise _refusal(f"the details of a batch leave {left} minor units of its amount", place)

    def sign(self, fields: Fields, place: Place) -> int:
        """+1 for money that came in, −1 for money that went out."""
        side = _need(fields, "side", place)
        if side not in ("CRDT", "DBIT"):
            raise _refusal(f"{side!r} is neither CRDT nor DBIT", place)
        sign = 1 if side == "CRDT" else -1
        flips = self.profile.reversal_sign is ReversalSign.ORIGINAL
        return -sign if flips and fields.get("is_reversal") in _TRUE else sign

    def line(
        self, fields: Fields, detail: Fields, amount: int, currency: str, place: Place
    ) -> FileLine:
        """A line from an entry and one of its details."""
        booked = fields.get("booked") or fields.get("booked_at")
        valued = fields.get("valued") or fields.get("valued_at")
        if self.profile.day is DayField.VALUE:
            booked = valued or booked
        booked = booked or valued
        if booked is None:
            raise _refusal("an entry without a booking day", place)
        party = ("debtor", "debtor_party") if amount > 0 else ("creditor", "creditor_party")
        own = {**fields, **detail} if detail else fields
        return FileLine(
            number=place.line,
            reference=self.profile.reference_of(own),
            amount_minor=amount,
            currency=currency,
            booked_on=day_of(booked, place),
            value_on=day_of(valued, place) if valued else None,
            party=detail.get(party[0]) or detail.get(party[1]) or "",
            batch=fields.get("batch_payment") or detail.get("payment_information_id")
            or fields.get("batch_message") or "",
            bank_ref=detail.get("servicer_ref") or fields.get("servicer_ref")
            or fields.get("entry_ref") or "",
            is_reversal=fields.get("is_reversal") in _TRUE,
            return_reason=detail.get("return_reason", ""),
            text=own.get("text", ""),
            account=_credited(detail) if amount > 0 else "",
        )  # fmt: skip

    def statement(self, fields: Fields, place: Place) -> Statement:
        """A statement with its balances."""
        balances: list[_Balance] = fields.get("balance", [])
        lines = tuple(line for entry in fields.get("entry", []) for line in entry)
        opening = next((each for each in balances if each.code in _OPENING), None)
        closing = next((each for each in reversed(balances) if each.code in _CLOSING), None)
        account = fields.get("iban") or _need(fields, "other_account", place)
        currency = fields.get("account_currency") or (lines[0].currency if lines else "")
        return Statement(
            account, _need(fields, "id", place), currency, lines,
            opening.amount_minor if opening else None,
            closing.amount_minor if closing else None,
            closing.day if closing else None,
        )  # fmt: skip


def _credited(detail: Fields) -> str:
    return str(detail.get("credited_iban") or detail.get("credited_account") or "")


def _unsigned(text: str, currency: str, place: Place) -> int:
    """An amount as these messages have it: the side says where the money went, not a sign."""
    amount = minor_units(text, currency, place)
    if amount < 0:
        raise _refusal(f"an amount below zero, {text}", place)
    return amount


def _balance(fields: Fields, place: Place) -> _Balance:
    amount = _unsigned(_need(fields, "amount", place), _need(fields, "currency", place), place)
    day = day_of(fields.get("day") or _need(fields, "moment", place), place)
    debit = _need(fields, "side", place) == "DBIT"
    return _Balance(fields.get("code", ""), -amount if debit else amount, day)


def _need(fields: Fields, name: str, place: Place) -> str:
    value: Any = fields.get(name)
    if not value:
        raise _refusal(f"{name.replace('_', ' ')} is missing", place)
    return str(value)


def _refusal(what: str, place: Place) -> BankFileError:
    fix = "Ask for the whole file again; nothing of it was taken"
    return BankFileError(what, where=str(place), fix=fix)

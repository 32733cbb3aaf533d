"""Orders as ISO 20022 messages: credit transfers (pain.001) and direct debits (pain.008).

The bytes depend on the arguments alone. Amounts and counts are sums of what is written.

>>> from datetime import UTC
>>> us = OwnAccount("Usance Lending", "CN0100", "ICBKCNBJ")
>>> transfer = Transfer("OR1", 1_500_00, "CNY", "Li Hua", "CN0200", "BKCHCNBJ", "Loan 16385")
>>> text = credit_transfers(
...     "M1", datetime(2024, 7, 1, 9, tzinfo=UTC), us, date(2024, 7, 1), [transfer]
... ).decode()
>>> '<InstdAmt Ccy="CNY">1500.00</InstdAmt>' in text, "<CtrlSum>1500.00</CtrlSum>" in text
(True, True)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from usance.base.money import Money
from usance.service.errors import BankFileError

PAIN_001 = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
PAIN_008 = "urn:iso:std:iso:20022:tech:xsd:pain.008.001.08"
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[a-zA-Z0-9]{1,30}")
_RECURRENT = (
    "<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl><LclInstrm><Cd>CORE</Cd></LclInstrm>"
    "<SeqTp>RCUR</SeqTp></PmtTpInf>"
)
_MAX_REFERENCE, _MAX_NAME = 35, 140


class OwnAccount(NamedTuple):
    """The account of ours that pays or is paid."""

    name: str
    account: str
    bic: str
    creditor_id: str = ""
    """Number of a creditor of direct debits."""


class Mandate(NamedTuple):
    """The borrower's consent to be debited."""

    reference: str
    signed_on: date


class Transfer(NamedTuple):
    """One order as a bank takes it."""

    reference: str
    amount_minor: int
    currency: str
    name: str
    account: str
    bic: str
    text: str = ""
    mandate: Mandate | None = None


def credit_transfers(
    message_id: str, made_at: datetime, debtor: OwnAccount, on: date, transfers: Sequence[Transfer]
) -> bytes:
    """A pain.001 that pays each transfer."""
    _check(message_id, transfers)
    return _document(PAIN_001, "CstmrCdtTrfInitn", (
        _header(message_id, made_at, debtor, transfers),
        "<PmtInf>", _element("PmtInfId", message_id), "<PmtMtd>TRF</PmtMtd>", _sums(transfers),
        f"<ReqdExctnDt><Dt>{on}</Dt></ReqdExctnDt>",
        _party("Dbtr", debtor.name), _account("DbtrAcct", debtor.account),
        _agent("DbtrAgt", debtor.bic),
        *(_credit_transfer(each) for each in transfers), "</PmtInf>",
    ))  # fmt: skip


def direct_debits(
    message_id: str, made_at: datetime, creditor: OwnAccount, on: date,
    transfers: Sequence[Transfer],
) -> bytes:  # fmt: skip
    """A pain.008 that debits each transfer under its mandate."""
    _check(message_id, transfers)
    for each in transfers:
        if each.mandate is None:
            fix = "Debit only who has signed a mandate"
            raise BankFileError("has no mandate", where=f"order {each.reference}", fix=fix)
    scheme = (
        "<CdtrSchmeId><Id><PrvtId><Othr>" + _element("Id", creditor.creditor_id)
        + "<SchmeNm><Prtry>SEPA</Prtry></SchmeNm></Othr></PrvtId></Id></CdtrSchmeId>"
    )  # fmt: skip
    return _document(PAIN_008, "CstmrDrctDbtInitn", (
        _header(message_id, made_at, creditor, transfers),
        "<PmtInf>", _element("PmtInfId", message_id), "<PmtMtd>DD</PmtMtd>", _sums(transfers),
        _RECURRENT,
        f"<ReqdColltnDt>{on}</ReqdColltnDt>",
        _party("Cdtr", creditor.name), _account("CdtrAcct", creditor.account),
        _agent("CdtrAgt", creditor.bic), "<ChrgBr>SLEV</ChrgBr>",
        scheme if creditor.creditor_id else "",
        *(_direct_debit(each) for each in transfers), "</PmtInf>",
    ))  # fmt: skip


def _credit_transfer(each: Transfer) -> str:
    return "".join((
        "<CdtTrfTxInf>", _ids(each), "<Amt>", _amount(each), "</Amt>", _agent("CdtrAgt", each.bic),
        _party("Cdtr", each.name), _account("CdtrAcct", each.account), _remittance(each),
        "</CdtTrfTxInf>",
    ))  # fmt: skip


def _direct_debit(each: Transfer) -> str:
    assert each.mandate is not None
    mandate = (
        "<DrctDbtTx><MndtRltdInf>" + _element("MndtId", each.mandate.reference)
        + f"<DtOfSgntr>{each.mandate.signed_on}</DtOfSgntr></MndtRltdInf></DrctDbtTx>"
    )  # fmt: skip
    return "".join((
        "<DrctDbtTxInf>", _ids(each), _amount(each), mandate, _agent("DbtrAgt", each.bic),
        _party("Dbtr", each.name), _account("DbtrAcct", each.account), _remittance(each),
        "</DrctDbtTxInf>",
    ))  # fmt: skip


def _document(namespace: str, message: str, parts: Sequence[str]) -> bytes:
    lines = (
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<Document xmlns={quoteattr(namespace)}><{message}>",
        *(part for part in parts if part),
        f"</{message}></Document>",
    )
    return ("\n".join(lines) + "\n").encode()


def _header(
    message_id: str, made_at: datetime, own: OwnAccount, transfers: Sequence[Transfer]
) -> str:
    moment = made_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        f"<GrpHdr>{_element('MsgId', message_id)}<CreDtTm>{moment}</CreDtTm>{_sums(transfers)}"
        f"<InitgPty>{_element('Nm', own.name)}</InitgPty></GrpHdr>"
    )


def _sums(transfers: Sequence[Transfer]) -> str:
    total = Money(sum(each.amount_minor for each in transfers), transfers[0].currency)
    return f"<NbOfTxs>{len(transfers)}</NbOfTxs><CtrlSum>{total.number}</CtrlSum>"


def _ids(each: Transfer) -> str:
    reference = each.reference
    return f"<PmtId>{_element('InstrId', reference)}{_element('EndToEndId', reference)}</PmtId>"


def _amount(each: Transfer) -> str:
    number = Money(each.amount_minor, each.currency).number
    return f"<InstdAmt Ccy={quoteattr(each.currency)}>{number}</InstdAmt>"


def _remittance(each: Transfer) -> str:
    return f"<RmtInf>{_element('Ustrd', each.text)}</RmtInf>" if each.text else ""


def _party(name: str, text: str) -> str:
    return f"<{name}>{_element('Nm', text)}</{name}>"


def _account(name: str, account: str) -> str:
    iban = _IBAN.fullmatch(account)
    inner = _element("IBAN", account) if iban else f"<Othr>{_element('Id', account)}</Othr>"
    return f"<{name}><Id>{inner}</Id></{name}>"


def _agent(name: str, bic: str) -> str:
    return f"<{name}><FinInstnId>{_element('BICFI', bic)}</FinInstnId></{name}>"


def _element(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>"


def _check(message_id: str, transfers: Sequence[Transfer]) -> None:
    fix = "Write only what the bank can execute"
    if not transfers or len({each.currency for each in transfers}) > 1:
        what = "has no orders, or orders in several currencies"
        raise BankFileError(what, where=f"message {message_id}", fix=fix)
    references = [each.reference for each in transfers]
    if len(set(references)) < len(references):
        raise BankFileError("names a reference twice", where=f"message {message_id}", fix=fix)
    for each in transfers:
        where = f"order {each.reference}"
        if not 0 < len(each.reference) <= _MAX_REFERENCE:
            raise BankFileError("its reference has 0 or over 35 characters", where=where, fix=fix)
        if each.amount_minor <= 0:
            raise BankFileError(f"an amount of {each.amount_minor}", where=where, fix=fix)
        if not 0 < len(each.name) <= _MAX_NAME:
            raise BankFileError("its name has 0 or over 140 characters", where=where, fix=fix)

"""Kinds of facts of the group: a closed list whose numbers never change once given.

>>> from usance.base.codes import parse
>>> parse(GroupFactKind, "funding_raised"), int(GroupFactKind.FUNDING_RAISED)
(<GroupFactKind.FUNDING_RAISED: 10>, 10)
"""

from __future__ import annotations

from usance.base.codes import Code


class GroupFactKind(Code):
    """Events that are not about one loan."""

    # Where the books begin, and what people write themselves.
    OPENING_BALANCE = 1
    MANUAL_ENTRY = 2
    REVERSED = 3
    # Money borrowed, and the trusts.
    FUNDING_RAISED = 10
    FUNDING_REPAID = 11
    FUNDING_INTEREST_PAID = 12
    RESIDUAL_DISTRIBUTED = 13
    TRUST_BUY_OUT = 14
    NOTES_ISSUED = 15
    NOTES_PAID = 16
    FUNDING_WRITTEN_DOWN = 17
    FUNDING_SCHEDULE = 18
    # Deposits with institutions and guarantors.
    DEPOSIT_PLACED = 20
    DEPOSIT_RETURNED = 21
    # What banks, providers and institutions say; compared, not posted.
    BANK_BALANCE = 30
    PROVIDER_SETTLEMENT = 31
    INSTITUTION_SETTLEMENT = 32
    # Fees of institutions.
    REFERRAL_INVOICED = 40
    FEES_RECEIVED = 41
    USAGE_DELIVERED = 42
    FEES_WRITTEN_OFF = 43
    FEES_HISTORY = 44
    # Costs.
    COST_INCURRED = 50
    COST_PAID = 51
    COST_DRIVER = 52
    COST_PREPAID = 53
    # Bank interest, subsidies and sundry, investments.
    BANK_INTEREST = 60
    SUBSIDY = 61
    SUNDRY = 62
    INVESTMENT_MADE = 63
    INVESTMENT_RETURNED = 64
    INVESTMENT_RESULT = 65
    BOND_BOUGHT = 66
    BOND_PAID = 67
    # Things that last, and companies.
    ASSET_BOUGHT = 70
    ASSET_SOLD = 71
    ACQUISITION = 72
    # Between the companies of the group, and non-controlling interests.
    CAPITAL_CONTRIBUTED = 80
    GROUP_TRANSFER = 81
    GROUP_DIVIDEND = 82
    NON_CONTROLLING_CONTRIBUTION = 83
    NON_CONTROLLING_DISTRIBUTION = 84
    # The company's own shares.
    SHARES_ISSUED = 90
    SHARES_REPURCHASED = 91
    SHARES_RETIRED = 92
    GRANT = 93
    UNITS_CHANGED = 94
    VESTING_ESTIMATE = 95
    DIVIDEND_DECLARED = 96
    DIVIDEND_PAID = 97
    # Tax.
    TAX_PAID = 100
    WITHHOLDING = 101
    PERMANENT_DIFFERENCE = 102
    # Currencies.
    EXCHANGE_RATE = 110
    CURRENCY_EXCHANGED = 111
    # More of the company's own shares.
    SHARES_RESERVED = 120
    SHARES_REISSUED = 121
    PROGRAMME_OPENED = 122
    DIVIDEND_RECORDED = 123
    SHARE_PRICE = 124

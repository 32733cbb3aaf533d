"""Bounds of a loan's terms, and the narrower ones of the kernel's 64-bit arithmetic.

Beyond the kernel's limits a loan goes through the exact form.
"""

from __future__ import annotations

MAX_INT64 = 2**63 - 1
MAX_PRINCIPAL_MINOR = 10**15
"""Ten trillion major units: any loan, with room for its interest in 64 bits."""
MAX_RATE_PPM = 10_000_000
"""1,000 % a year; what may be *offered* is limited by the dated cap, not here."""
MAX_INSTALMENTS = 1_200
LAST_START_YEAR = 2100
"""A loan of the kernel begun then is over before its table of months ends with 2150."""
LAST_DUE_YEAR = 9000
"""No instalment falls due later: a calendar ends with 9999, and calendars move due dates."""

MAX_KERNEL_PRINCIPAL_MINOR = 10**11
"""With a rate of at most 100 % and a period of at most 62 days, balance × rate × days < 2^63."""
MAX_KERNEL_RATE_PPM = 1_000_000
MAX_KERNEL_FIRST_DAYS = 62
MAX_KERNEL_INSTALMENTS = 360
MAX_KERNEL_FEES_MINOR = 2**31 - 1
"""Two fee totals are packed into one 64-bit slot, and their product must fit one too."""
MAX_KERNEL_FACT_MINOR = 10**13
MAX_KERNEL_FACTS = 500_000
"""Of one loan: the largest sum of its facts stays within 64 bits."""

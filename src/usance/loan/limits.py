"""What the kernel's 64-bit arithmetic can hold; beyond it a loan goes through the exact form."""

from __future__ import annotations

MAX_KERNEL_PRINCIPAL_MINOR = 10**11
"""With a rate of at most 100 % and a period of at most 62 days, balance × rate × days < 2^63."""
MAX_KERNEL_RATE_PPM = 1_000_000
MAX_KERNEL_FIRST_DAYS = 62
MAX_KERNEL_INSTALMENTS = 360
MAX_KERNEL_FEES_MINOR = 2**31 - 1
"""Two fee totals are packed into one 64-bit slot, and their product must fit one too."""

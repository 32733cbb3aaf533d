"""The streams of chance: a number for each thing that is drawn, only ever appended to.

>>> int(Stream.PAYMENT), Stream(1).label
(11, 'hazard')
"""

from __future__ import annotations

from usance.base.codes import Code


class Stream(Code):
    """Subject of a draw; `entity` is a user or a loan, `counter` as its line says."""

    HAZARD = 1  # user; 0
    REGION = 2  # user; 0
    CHANNEL = 3  # user; 0
    USER_KIND = 4  # user; 0
    FRAUD = 5  # user; 0
    APPLIES = 6  # user; 0
    APPLICANT = 7  # user; the place of the input that is drawn
    LINE = 8  # user; 0 approved before the opening, 1 borrowed, 2 grade
    REQUEST = 9  # user; month × 256
    REQUEST_PART = 10  # user; month × 256 + product, months, amount, day, second
    PAYMENT = 11  # loan; month of the due × 256 + whether and when, days late, day of settlement
    NOTICE = 12  # loan; month × 256 + payment of the month
    CURE = 13  # loan; month × 256 + whether, day, whether an opening loan in arrears pays
    RECOVERY = 14  # loan; month × 256 + whether, day
    OPENING = 15  # user; 0 how many loans; loan; 1 plan, 2 amount, 3 day, 4 model, 5 source
    DUPLICATE = 16  # loan; reference of the payment
    DELIVERY = 17  # loan; reference of the payment × 16 + times it was sent before
    CRASH = 18  # provider; day
    LIFE = 19  # user; month × 256
    PROVIDER = 20  # 48 bits of a hash of what is drawn; 0
    INCIDENT = 21  # loan; month × 256 + whether and which, days after a payment, day, plan

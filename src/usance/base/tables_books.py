"""Tables after the loan: tape, dues, group facts, journals, metrics and what is published."""

from __future__ import annotations

from usance.base.schemas import Table, declare

BOOKS_TABLES: tuple[Table, ...] = (
    declare(
        "tape",
        1,
        "Each loan at each month end from disbursement to its last row of zeros.",
        """
        month                 i16  key   the month
        loan_id               i64  key   the loan
        mob                   i16        months on book
        dpd                   i16        days past due
        bucket                i8         0 current, 1-6 by 30 days past due, 7 beyond, -1 none
        bucket_prev           i8         a month earlier
        status                i8:status  active, closed or charged off
        principal_minor       i64        unpaid principal, whatever the books have done
        principal_prev_minor  i64        a month earlier
        past_due_minor        i64        due and unpaid
        net30_minor           i64        unpaid principal once past due over 30 days, until cured
        net180_minor          i64        the same over 180 days
        prepaid_minor         i64        principal paid before it was due, this month
        recovered_minor       i64        after charge-off, this month
        cohort                i16        month of origination
        cell                  i16        its dimensions
        """,
    ),
    declare(
        "dues",
        1,
        "What fell due each day and became of it, summed by cell.",
        """
        due_on                day  key  the day
        cell                  i16  key  the dimensions
        due_minor             i64       principal due
        overdue_minor         i64       of that, unpaid at the day's end
        collected30_minor     i64       of that, paid within 30 days
        first_minor           i64       original principal of loans with their first due that day
        first_unpaid7_minor   i64       of those, unpaid 7 days later
        first_unpaid30_minor  i64       of those, unpaid 30 days later
        """,
    ),
    declare(
        "cells",
        1,
        "The dimensions of postings and tapes.",
        """
        cell     i16  key     number
        model    i8:model     funding model
        product  i16:product  product
        source   i16          funding source
        entity   i16          legal entity
        related      i8   =0   1 if the institution is a related party
        fund_cash    i16  =0   account the loans are paid from and to, 0 for cash
        payout_cash  i16  =0   account compensation is paid from, 0 for cash
        """,
    ),
    declare(
        "group_facts",
        1,
        "Everything that is not about one loan.",
        """
        fact_id       i64  key     number
        entity        i16          legal entity
        kind          i16          what it states, numbered by the books
        effective_on  day          when it is true
        booked_at     moment       when we knew
        currency      i8:currency  of the amount
        amount_minor  i64          how much, 0 if none
        party         i16          with whom, 0 if nobody
        quantity      i64          shares, days or units, 0 if none
        detail        text         JSON, checked per kind
        """,
    ),
    declare(
        "estimates",
        1,
        "Curves and expectations a close used.",
        """
        close_no  i32   key  the close
        name      text  key  which estimate
        segment   i16   key  for whom
        age       i16   key  at which month on book
        value     i64        ppm or ppb
        """,
    ),
    declare(
        "subledger",
        1,
        "Cumulative posting amounts of each loan at a close; one more column per amount.",
        """
        close_no  i32  key  the close
        loan_id   i64  key  the loan
        """,
    ),
    declare(
        "sums",
        1,
        "The subledger summed by cell; one more column per amount.",
        """
        close_no  i32  key  the close
        cell      i16  key  the dimensions
        is_new    i8   key  1 for loans made in the closed period
        """,
    ),
    declare(
        "postings",
        1,
        "The lines of every journal; debit is positive.",
        """
        journal_id    i64  key  the journal
        line          i8   key  1, 2, 3 …
        entity        i16       legal entity
        basis         i8:basis  accounting basis
        tag           i8:tag    reason of an adjustment
        account       i16       account
        period        i16       month
        effective_on  day       when it is true
        rule          i16       the posting rule
        cell          i16       dimensions
        loan_id       i64       0 when a cell's sum
        amount_minor  i64       debit +, credit -
        currency      i8:currency  =0  of the amount
        fact_id       i64       =0  the group's fact behind it, 0 if a loan's
        activity      i8        =0  of a cash line: 1 operating, 2 investing, 3 financing
        """,
    ),
    declare(
        "journals",
        1,
        "The heads of journals, hash-chained.",
        """
        journal_id     i64  key  the journal
        booked_at      moment    when
        close_no       i32       the close it belongs to
        kind           i16       numbered by the books
        actor          text      who
        text           text      why
        reverses       i64       the journal undone, 0 if none
        hash           text      SHA-256 of this journal, in hex
        previous_hash  text      of the one before
        """,
    ),
    declare(
        "metrics",
        1,
        "Measured figures with what they were divided from.",
        """
        metric       text  key  name
        version      i16   key  of its definition
        series       text  key  as_reported or restated
        period       text  key  such as 2024Q2 or 2024-06-30
        dimensions   text  key  such as model=ice, empty for all
        numerator    i64        integer sum
        denominator  i64        integer sum, 1 if none
        unit         text       how to read the value
        value        f64        the quotient, for print
        snapshot     text       the data it was measured on
        """,
    ),
    declare(
        "disclosed",
        1,
        "Published figures, signs as printed.",
        """
        document        text  key  the filing
        statement       text  key  the statement
        line            text  key  the line
        parent_line     text  key  the total it belongs to, empty if none
        period_or_date  text  key  instant or duration
        currency        text  key  as printed
        unit            text  key  thousand, per share, text …
        value           text       as printed
        is_total        i8         1 for a total
        address         text       where the figure comes from
        """,
    ),
)

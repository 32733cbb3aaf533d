"""Tables up to the loan: users, decisions, lines, sources, requests, loans and their facts."""

from __future__ import annotations

from usance.base.schemas import Table, declare

LOANS_TABLES: tuple[Table, ...] = (
    declare(
        "users",
        1,
        "Everyone registered.",
        """
        user_id        i64  key   1, 2, 3 … in order of registration, without gaps
        registered_on  day        day of registration
        channel        i16        the app the user came through
        region         i16        home region
        kind           i8         consumer or business
        client_ref     text null  the user's name in the channel's system; small books only
        """,
    ),
    declare(
        "decisions",
        1,
        "What was decided about a user, with score, price and reasons.",
        """
        decision_id  i64  key          user_id × 16384 + n
        booked_at    moment            when it was taken
        kind         i8:decision_kind  at which point
        approved     i8                1 yes, 0 no, 2 waits for a person
        score        i16               points of the scorecard
        pd_ppm       i32               probability of default
        grade        i8                risk band
        line_minor   i64               the line granted, 0 if none
        rate_ppm     i32               the price granted, 0 if none
        flow_no      i16               version of the decision flow
        model_no     i16               version of the model
        reason_1     i16               strongest reason, 0 if none
        reason_2     i16               second
        reason_3     i16               third
        reason_4     i16               fourth
        latency_us   i32               time taken
        """,
    ),
    declare(
        "decision_inputs",
        1,
        "What a model saw, apart from the decisions because of its size.",
        """
        decision_id  i64  key  the decision
        inputs       inputs    model inputs in the order of the flow
        """,
    ),
    declare(
        "lines",
        1,
        "Credit lines, a new row per change.",
        """
        line_id       i64  key     user_id × 16384 + n
        effective_on  day  key     first day of this row
        booked_at     moment       when it was booked
        product       i16:product  what may be drawn
        limit_minor   i64          the line
        rate_ppm      i32          its price
        state         i8           numbered by the assessing room
        """,
    ),
    declare(
        "sources",
        1,
        "Funding sources as the router reads them, by version.",
        """
        source          i16  key  the source
        version         i16  key  its version
        valid_from      day       first day
        valid_to        day       last day
        institution     i16       who lends
        entity          i16       in whose books
        model           i8:model  who bears the risk
        coupon_ppm      i32       the lender's annual rate
        fee_ppm         i32       the platform's fee on volume
        trigger_days    i16       days past due that lead to compensation
        guarantor       i16       who guarantees, 0 if nobody
        co_share_ppm    i32       the platform's own part in each loan
        settlement_lag  i8        business days to settlement
        """,
    ),
    declare(
        "limits",
        1,
        "Limits of funding sources, by version.",
        """
        source        i16  key  the source
        version       i16  key  its version
        limit         i16  key  1, 2, 3 …
        scope         i8:scope  what it counts over
        amount_minor  i64       most in money, -1 if a share
        share_ppm     i32       most as a share, -1 if money
        """,
    ),
    declare(
        "requests",
        1,
        "Drawdown requests in the order they meet the router.",
        """
        requested_at  moment  key  when
        loan_id       i64  key     taken at once, even if no source is found
        decision_id   i64          the decision at drawdown
        product       i16:product  what is drawn
        amount_minor  i64          how much
        months        i16          for how long
        rate_ppm      i32          at which price
        grade         i8           risk band
        region        i16          of the borrower
        channel       i16          the app
        """,
    ),
    declare(
        "routing",
        1,
        "Every attempt to place a request with a source.",
        """
        loan_id          i64  key            the request's loan
        attempt          i8   key            1, 2, 3 …
        at               moment              when
        source           i16                 asked
        outcome          i8:routing_outcome  how it ended
        score_minor      i64                 what the choice was worth
        runner_up        i16                 next best source, 0 if none
        runner_up_minor  i64                 what that would have been worth
        binding_limit    i16                 the limit that decided, 0 if none
        plan_no          i32                 the plan in force
        """,
    ),
    declare(
        "loans",
        1,
        "Terms of every loan, a new row per change of terms.",
        """
        loan_id              i64  key       user_id × 16384 + n
        terms_no             i8   key       version of the terms
        effective_on         day            first day of these terms
        line_id              i64            the line it was drawn under
        decision_id          i64            the decision behind it
        product              i16:product    what it is
        convention           i16            its schedule, rounding and allocation options
        model                i8:model       who bears the risk
        source               i16            its lead source
        currency             i8:currency    of every amount of the loan
        disbursed_on         day            contractual day of disbursement
        first_due_on         day            first instalment
        instalments          i16            how many
        principal_minor      i64            lent
        rate_ppm             i32            nominal, a year
        coupon_ppm           i32            the funder's part of it
        guarantee_fee_minor  i64            guarantee fees over the whole life
        eir_ppb              i64            effective rate per period
        grade                i8             risk band at drawdown
        user_loan_no         i16            1 = the user's first drawdown
        channel              i16            the app
        region               i16            of the borrower
        flat_fee_minor       i64       =0   service fee over the whole life, in equal parts
        upfront_fee_minor    i64       =0   fee withheld at disbursement
        change               i8        =0   why: rescheduled, re-aged, re-amortised, hardship
        """,
    ),
    declare(
        "refs",
        1,
        "Text ids of a foreign tape.",
        """
        loan_id   i64  key  by order of first row
        loan_ref  text      the foreign id
        """,
    ),
    declare(
        "shares",
        1,
        "Who funds a co-funded loan; shares sum to its principal.",
        """
        loan_id          i64  key  the loan
        source           i16  key  the source
        principal_minor  i64       its part
        """,
    ),
    declare(
        "facts",
        1,
        "Everything that happened to a loan; only ever appended.",
        """
        loan_id       i64  key      the loan
        effective_on  day  key      when it is true
        kind          i8:kind  key  what it states
        ref           i64  key      from who caused it, unique per loan
        amount_minor  i64           how much, 0 if none
        arg           i64           by kind: terms, fee, provider, component, party, target
        booked_at     moment        when we knew
        """,
    ),
    declare(
        "state",
        1,
        "The checkpoint of each loan's fold: its slots in the order of the kernel.",
        """
        loan_id                  i64  key  the loan
        through                  day       facts up to this day are in it
        meta                     i64       open instalment, flags and waived penalties, packed
        balance_minor            i64       principal scheduled before the open instalment
        level_minor              i64       the level instalment
        fees                     i64       all fees and those before the open instalment, packed
        interest_before_minor    i64       interest scheduled before the open instalment
        covered_principal_minor  i64       by money and waivers
        covered_interest_minor   i64       by money and waivers
        covered_guarantee_minor  i64       by money and waivers
        covered_service_minor    i64       by money and waivers
        penalty_paid_minor       i64       so far
        penalty_open_minor       i64       charged and unpaid
        overpaid_minor           i64       not yet used
        compensated_minor        i64       so far
        charged_off_minor        i64       so far
        recovered_minor          i64       so far
        waived_principal_minor   i64       so far
        waived_interest_minor    i64       so far
        waived_fees              i64       guarantee and service fees, packed
        """,
    ),
)

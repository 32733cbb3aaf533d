"""Queries of a tape's report, constant text over the tables `loan_months`, `states` and others.

They return whole numbers only; rates are divided once, outside. `kind` of a state:
0 current, 1 past due, 2 closed, 3 charged off, 4 absent.
"""

from __future__ import annotations

PANEL = """
    WITH ends AS (SELECT max(month) AS last_month FROM loan_months),
    lives AS (
        SELECT loan_id, min(month) AS first_month, min(cohort) AS given_cohort,
            arg_min(principal, month) AS given_principal,
            arg_min(coalesce(balance, 0), month) AS first_balance,
            arg_min(segment, month) AS first_segment, max(month) AS final_month,
            arg_max(state, month) AS final_state
        FROM loan_months GROUP BY loan_id
    ),
    weighted AS (
        SELECT m.row, m.loan_id, l.first_segment AS segment, m.month, first_month,
            CASE WHEN $closed_stay AND f.kind IN (2, 3) THEN last_month ELSE final_month
            END AS seen_until,
            coalesce(given_cohort, first_month) AS cohort, m.state, s.kind, s.last_day,
            CASE WHEN $has_balance THEN m.balance WHEN s.kind IN (2, 4) THEN 0 ELSE 1
            END::BIGINT AS balance,
            CASE WHEN given_principal IS NOT NULL AND $has_balance THEN given_principal
                 WHEN $has_balance THEN first_balance ELSE 1 END::BIGINT AS principal
        FROM loan_months m JOIN lives l USING (loan_id) JOIN states s USING (state)
        JOIN states f ON f.state = l.final_state CROSS JOIN ends
    ),
    with_previous AS (
        SELECT *, lag(month) OVER w AS month_before, lag(state) OVER w AS state_before,
            lag(kind) OVER w AS kind_before, lag(balance) OVER w AS balance_before,
            lead(month) OVER w AS month_after,
            max(CASE WHEN kind IN (1, 3) THEN last_day ELSE 0 END) OVER (
                PARTITION BY loan_id ORDER BY month ROWS UNBOUNDED PRECEDING) AS worst
        FROM weighted WINDOW w AS (PARTITION BY loan_id ORDER BY month)
    ),
    divided AS (
        SELECT '' AS part, * FROM with_previous
        UNION ALL SELECT segment, * FROM with_previous WHERE $by_segment
    )
    SELECT row, loan_id, part AS segment, month, cohort, month - cohort AS mob,
        first_month - cohort AS mob_from, seen_until - cohort AS mob_until,
        (floor(cohort / $size) * $size)::INT AS period, state, kind, last_day, balance, principal,
        worst, month_before, month_after,
        CASE WHEN $has_balance AND month = cohort AND kind <> 4 THEN principal
             WHEN kind = 3 THEN 0 ELSE balance END AS opened, month_before IS NULL AS is_first,
        coalesce(month_before = month - 1, false) AS follows,
        CASE WHEN month_before = month - 1 THEN state_before END AS state_prev,
        CASE WHEN month_before = month - 1 THEN kind_before END AS kind_prev,
        CASE WHEN month_before = month - 1 THEN balance_before END AS balance_prev
    FROM divided
"""

STATUSES = """
    SELECT segment, label AS status, count(*) AS loan_months, sum(balance)::BIGINT AS balance
    FROM panel JOIN states USING (state) GROUP BY segment, state, label ORDER BY segment, state
"""

GAPS = """
    SELECT row, loan_ref AS loan, month_before AS after_month, month AS before_month
    FROM panel JOIN refs USING (loan_id)
    WHERE segment = '' AND NOT follows AND NOT is_first ORDER BY row
"""

MATRIX = """
    WITH moved AS (
        SELECT segment, state_prev, state, count(*) AS loans,
            sum(balance_prev)::BIGINT AS balance
        FROM panel WHERE follows GROUP BY ALL
    ),
    total AS (
        SELECT segment, state_prev, sum(loans)::BIGINT AS loans, sum(balance)::BIGINT AS balance
        FROM moved GROUP BY ALL
    )
    SELECT t.segment, f.label AS "from", s.label AS "to", coalesce(m.loans, 0) AS loans,
        t.loans AS loans_from, coalesce(m.balance, 0) AS balance, t.balance AS balance_from
    FROM total t JOIN states f ON f.state = t.state_prev CROSS JOIN states s
    LEFT JOIN moved m ON m.segment = t.segment AND m.state_prev = t.state_prev
        AND m.state = s.state
    ORDER BY t.segment, t.state_prev, s.state
"""

ROLLS = """
    WITH stock AS (
        SELECT segment, month, bucket, count(*) AS loans, sum(balance)::BIGINT AS balance
        FROM panel JOIN states USING (state) GROUP BY ALL
    ),
    arrived AS (  -- who stays in a bucket without an end has not rolled into it
        SELECT p.segment, p.month, s.bucket, count(*) AS loans, sum(p.balance)::BIGINT AS balance
        FROM panel p JOIN states s ON s.state = p.state
        LEFT JOIN states before ON before.state = p.state_prev
        WHERE NOT s.is_open OR before.bucket IS DISTINCT FROM s.bucket GROUP BY ALL
    ),
    months AS (SELECT DISTINCT month FROM panel)
    SELECT b.segment, b.month + 1 AS month, f.bucket_label AS "from", t.bucket_label AS "to",
        coalesce(k.loans, 0) AS loans, b.loans AS loans_before,
        coalesce(k.balance, 0) AS balance, b.balance AS balance_before
    FROM stock b JOIN chain c ON c.from_state = b.bucket
    JOIN months ON months.month = b.month + 1
    JOIN states f ON f.state = c.from_state JOIN states t ON t.state = c.to_state
    LEFT JOIN arrived k ON k.segment = b.segment AND k.month = b.month + 1 AND k.bucket = c.to_state
    ORDER BY b.segment, b.month, c.step
"""

VINTAGES = """
    WITH ends AS (SELECT min(month) AS first, max(month) AS last FROM panel),
    carried AS (
        SELECT segment, period, mob, month, balance, kind, worst FROM panel
        UNION ALL
        SELECT segment, period, mob + n, month + n, balance, kind, worst
        FROM panel, ends, unnest(range(1, last - month + 1)) AS u(n)
        WHERE kind = 3 AND month_after IS NULL
    ),
    base AS (
        SELECT segment, period, sum(principal)::BIGINT AS principal, count(*) AS loans,
            max(cohort) AS youngest, min(cohort) AS oldest
        FROM panel WHERE is_first GROUP BY ALL
    ),
    net AS (
        SELECT segment, period, mob, days,
            sum(CASE WHEN worst > days AND kind IN (1, 3) THEN balance ELSE 0 END)::BIGINT AS past
        FROM carried CROSS JOIN vintage_days GROUP BY ALL
    ),
    grid AS (
        SELECT b.*, days, unnest(range(greatest(0, first - youngest), last - oldest + 1)) AS mob,
            first, last
        FROM base b, vintage_days, ends
    )
    SELECT g.segment, g.period AS cohort, g.days, g.mob::INT AS mob,
        coalesce(n.past, 0) AS past_due, g.principal, g.loans,
        g.youngest + g.mob <= g.last AND g.oldest + g.mob >= g.first AS complete
    FROM grid g LEFT JOIN net n USING (segment, period, days, mob)
    ORDER BY g.segment, g.period, g.days, g.mob
"""

EVER = """
    WITH lives AS (
        SELECT segment, loan_id, period, mob_from, mob_until FROM panel WHERE is_first
    ),
    firsts AS (
        SELECT segment, loan_id, days, min(mob) AS past_from
        FROM panel JOIN ever_days ON last_day > days WHERE kind IN (1, 3) GROUP BY ALL
    ),
    shape AS (
        SELECT l.segment, period, d.days, mob_from, mob_until, past_from, count(*) AS loans
        FROM lives l CROSS JOIN ever_days d LEFT JOIN firsts f
            ON f.segment = l.segment AND f.loan_id = l.loan_id AND f.days = d.days
        GROUP BY ALL
    ),
    mobs AS (SELECT unnest(range(0, (SELECT max(mob_until) + 1 FROM panel))) AS mob)
    SELECT segment, period AS cohort, days, mob::INT AS mob, sum(loans)::BIGINT AS loans,
        sum(CASE WHEN mob BETWEEN mob_from AND mob_until THEN loans ELSE 0 END)::BIGINT AS observed,
        sum(CASE WHEN mob BETWEEN mob_from AND mob_until AND past_from <= mob THEN loans ELSE 0
            END)::BIGINT AS ever
    FROM shape CROSS JOIN mobs GROUP BY ALL ORDER BY segment, cohort, days, mob
"""

EVER_TOTAL = """
    SELECT days, count(DISTINCT loan_id) AS loans FROM ever_days LEFT JOIN panel
        ON last_day > days AND kind IN (1, 3) AND segment = '' GROUP BY days ORDER BY days
"""

COHORTS = """
    WITH ends AS (
        SELECT segment, loan_id, max(month) AS month FROM panel GROUP BY ALL
    )
    SELECT p.segment, period AS cohort, label AS status, count(*) AS loans,
        sum(principal)::BIGINT AS principal, sum(balance)::BIGINT AS balance
    FROM panel p JOIN ends USING (segment, loan_id, month) JOIN states USING (state)
    GROUP BY p.segment, period, state, label ORDER BY p.segment, period, state
"""

WATERFALL = """
    WITH months AS (
        SELECT DISTINCT segment, month FROM panel
        UNION SELECT segment, month_next FROM (
            SELECT segment, month + 1 AS month_next, max(month) OVER () AS last FROM panel)
        WHERE month_next <= last
    ),
    live AS (SELECT *, CASE WHEN kind = 3 THEN 0 ELSE balance END AS held,
                CASE WHEN kind_prev = 3 THEN 0 ELSE balance_prev END AS held_prev FROM panel),
    stock AS (SELECT segment, month, sum(held)::BIGINT AS held FROM live GROUP BY ALL),
    moved AS (
        SELECT segment, month, held,
            CASE WHEN is_first THEN 'new' WHEN NOT follows OR kind_prev = 3 THEN 'returned'
                 ELSE 'kept' END AS how,
            CASE WHEN is_first THEN opened WHEN NOT follows OR kind_prev = 3 THEN held
                 ELSE held_prev END AS began,
            kind = 3 AS lost
        FROM live
    ),
    flows AS (
        SELECT segment, month,
            sum(CASE WHEN how = 'new' THEN began ELSE 0 END)::BIGINT AS new,
            sum(CASE WHEN how = 'returned' THEN began ELSE 0 END)::BIGINT AS returned,
            sum(CASE WHEN lost THEN 0 ELSE greatest(0, held - began) END)::BIGINT AS drawn,
            sum(CASE WHEN lost THEN 0 ELSE greatest(0, began - held) END)::BIGINT AS repaid,
            sum(CASE WHEN lost THEN began ELSE 0 END)::BIGINT AS charged_off
        FROM moved GROUP BY ALL
    ),
    gone AS (
        SELECT segment, month + 1 AS month, sum(held)::BIGINT AS gone FROM live
        WHERE month_after IS NULL OR month_after > month + 1 GROUP BY ALL
    )
    SELECT m.segment, m.month, coalesce(p.held, 0) AS opening, coalesce(f.new, 0) AS new,
        coalesce(f.drawn, 0) AS drawn, coalesce(f.returned, 0) AS returned,
        -coalesce(f.repaid, 0) AS repaid, -coalesce(f.charged_off, 0) AS charged_off,
        -coalesce(g.gone, 0) AS gone, coalesce(s.held, 0) AS closing
    FROM months m LEFT JOIN flows f USING (segment, month) LEFT JOIN stock s USING (segment, month)
    LEFT JOIN stock p ON p.segment = m.segment AND p.month = m.month - 1
    LEFT JOIN gone g ON g.segment = m.segment AND g.month = m.month
    ORDER BY m.segment, m.month
"""

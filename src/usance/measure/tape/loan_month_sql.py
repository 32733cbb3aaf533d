"""Queries that turn a tape's text into loan-months, constant text with parameters.

Amounts become whole minor units; an invalid cell becomes null in the cells and a finding with its
row in the problems.
"""

from __future__ import annotations

LOAN_MONTH_CELLS = """
    SELECT g.row, g.loan, g.segment,
        g.month AS month_text, g.cohort AS cohort_text, g.balance AS balance_text,
        g.principal AS principal_text, g.status AS status_text, g.days_past_due AS days_text,
        CASE WHEN g.month IS NULL THEN $month::INT
             WHEN $relative THEN try_cast(g.month AS INT)
             ELSE datediff('month', DATE '1970-01-01', try_strptime(g.month, $months)) END AS month,
        CASE WHEN $relative THEN try_cast(g.cohort AS INT)
             ELSE datediff('month', DATE '1970-01-01', try_strptime(g.cohort, $months))
        END AS cohort,
        try_cast(g.balance_plain AS DECIMAL(24, 9)) * $units AS balance,
        try_cast(g.principal_plain AS DECIMAL(24, 9)) * $units AS principal,
        try_cast(g.days_past_due AS INT) AS days,
        CASE WHEN $by_status THEN s.state
             WHEN $has_balance AND try_cast(g.balance_plain AS DECIMAL(24, 9)) = 0
                 THEN $closed::BIGINT
             WHEN try_cast(g.days_past_due AS INT) <= 0 THEN 0
             ELSE least(7, (try_cast(g.days_past_due AS INT) + 29) // 30) END AS state
    FROM given g LEFT JOIN states s ON s.label = g.status
"""

MONTH_PROBLEMS = """
    WITH twice AS (
        SELECT row, loan, month, min(row) OVER (PARTITION BY loan, month) AS first FROM cells
        WHERE month IS NOT NULL
    )
    SELECT row, 'loan is empty' AS what, 'Give its number' AS fix FROM cells WHERE loan IS NULL
    UNION ALL SELECT row, 'month is ' || coalesce('''' || month_text || '''', 'empty'),
        'Write it as the mapping says' FROM cells WHERE month IS NULL
    UNION ALL SELECT row, 'cohort is ' || coalesce('''' || cohort_text || '''', 'empty'),
        'Write it as the mapping says' FROM cells WHERE $has_cohort AND cohort IS NULL
    UNION ALL SELECT row, 'the month is before the cohort', 'Correct one of them'
        FROM cells WHERE month < cohort
    UNION ALL SELECT row, 'balance is ' || coalesce('''' || balance_text || '''', 'empty'),
        'Write it as the mapping says, with no more decimals than the currency has' FROM cells
        WHERE $has_balance AND (balance IS NULL OR balance <> trunc(balance))
    UNION ALL SELECT row, 'principal is ' || coalesce('''' || principal_text || '''', 'empty'),
        'Write it above zero as the mapping says, with no more decimals than the currency has'
        FROM cells WHERE $has_principal AND (principal IS NULL OR principal <> trunc(principal)
                                  OR principal <= 0)
    UNION ALL SELECT row, 'status is ' || coalesce('''' || status_text || '''', 'empty'),
        'Add it to the statuses of the mapping' FROM cells WHERE $by_status AND state IS NULL
    UNION ALL SELECT row, 'days past due are ' || coalesce('''' || days_text || '''', 'empty'),
        'Write a whole number' FROM cells WHERE NOT $by_status AND days IS NULL
    UNION ALL SELECT row, 'repeats loan and month of row ' || first, 'Keep one of them'
        FROM twice WHERE row > first
    ORDER BY row, what
"""

LOAN_MONTH_ROWS = """
    WITH fine AS (
        SELECT *, min(row) OVER (PARTITION BY loan) AS first_row,
            row_number() OVER (PARTITION BY loan, month ORDER BY row) AS copy
        FROM cells
        WHERE loan IS NOT NULL AND month IS NOT NULL AND state IS NOT NULL
          AND (balance_text IS NULL OR balance = trunc(balance))
          AND (principal_text IS NULL OR (principal = trunc(principal) AND principal > 0))
          AND (cohort_text IS NULL OR cohort <= month)
          AND ($by_status OR days IS NOT NULL)
    )
    SELECT row, dense_rank() OVER (ORDER BY first_row) AS loan_id, loan AS loan_ref,
        coalesce(segment, '') AS segment, month::INT AS month, state::INT AS state,
        balance::BIGINT AS balance, principal::BIGINT AS principal, cohort::INT AS cohort
    FROM fine WHERE copy = 1 ORDER BY row
"""

LOAN_CELLS = """
    SELECT row, loan, segment,
        disbursed_on AS disbursed_text, principal AS principal_text, total_due AS total_text,
        due_on AS due_text, first_due_on AS first_due_text, instalments AS instalments_text,
        closed_on AS closed_text, charged_off_on AS charged_off_text,
        charged_off AS charged_off_amount_text,
        try_strptime(disbursed_on, $dates)::DATE AS disbursed_on,
        try_cast(principal_plain AS DECIMAL(24, 9)) * $units AS principal,
        try_cast(total_due_plain AS DECIMAL(24, 9)) * $units AS total_due,
        try_strptime(due_on, $dates)::DATE AS due_on,
        try_strptime(first_due_on, $dates)::DATE AS first_due_on,
        try_cast(try_cast(instalments AS DECIMAL(18, 3)) AS INT) AS instalments,
        try_strptime(closed_on, $dates)::DATE AS closed_on,
        try_strptime(charged_off_on, $dates)::DATE AS charged_off_on,
        try_cast(charged_off_plain AS DECIMAL(24, 9)) * $units AS charged_off
    FROM given
"""

LOAN_PROBLEMS = """
    WITH twice AS (SELECT row, min(row) OVER (PARTITION BY loan) AS first FROM cells
                   WHERE loan IS NOT NULL)
    SELECT row, 'loan is empty' AS what, 'Give its number' AS fix FROM cells WHERE loan IS NULL
    UNION ALL SELECT row, 'repeats the loan of row ' || first, 'Keep one of them'
        FROM twice WHERE row > first
    UNION ALL SELECT row, 'disbursed_on is ' || coalesce('''' || disbursed_text || '''', 'empty'),
        'Write it as the mapping says' FROM cells WHERE disbursed_on IS NULL
    UNION ALL SELECT row, 'principal is ' || coalesce('''' || principal_text || '''', 'empty'),
        'Write it above zero as the mapping says, with no more decimals than the currency has'
        FROM cells WHERE principal IS NULL OR principal <> trunc(principal) OR principal <= 0
    UNION ALL SELECT row, 'total_due is ' || coalesce('''' || total_text || '''', 'empty'),
        'Write it above zero as the mapping says, with no more decimals than the currency has'
        FROM cells WHERE $has_total_due AND (total_due IS NULL OR total_due <> trunc(total_due)
                                  OR total_due <= 0)
    UNION ALL SELECT row, 'due_on is ' || coalesce('''' || due_text || '''', 'empty'),
        'Write it as the mapping says' FROM cells WHERE $has_due_on AND due_on IS NULL
    UNION ALL SELECT row,
        'first_due_on is ' || coalesce('''' || first_due_text || '''', 'empty'),
        'Write it as the mapping says' FROM cells WHERE $has_first_due_on AND first_due_on IS NULL
    UNION ALL SELECT row,
        'instalments are ' || coalesce('''' || instalments_text || '''', 'empty'),
        'Give a whole number from 1 to 1200' FROM cells
        WHERE $has_instalments AND coalesce(instalments, 0) NOT BETWEEN 1 AND 1200
    UNION ALL SELECT row, 'closed_on is ''' || closed_text || '''',
        'Write it as the mapping says' FROM cells
        WHERE closed_text IS NOT NULL AND closed_on IS NULL
    UNION ALL SELECT row, 'charged_off_on is ''' || charged_off_text || '''',
        'Write it as the mapping says' FROM cells
        WHERE charged_off_text IS NOT NULL AND charged_off_on IS NULL
    UNION ALL SELECT row, 'charged_off is ''' || charged_off_amount_text || '''',
        'Write it as the mapping says, with no more decimals than the currency has' FROM cells
        WHERE charged_off_amount_text IS NOT NULL
          AND (charged_off IS NULL OR charged_off <> trunc(charged_off))
    UNION ALL SELECT row, 'ends before it was disbursed', 'Correct the dates' FROM cells
        WHERE closed_on < disbursed_on OR charged_off_on < disbursed_on
    UNION ALL SELECT row, 'is charged off after it was closed', 'Leave one of the dates out'
        FROM cells WHERE closed_on < charged_off_on
    ORDER BY row, what
"""

PAYMENT_CELLS = """
    SELECT row, loan, paid_on AS paid_text, amount AS amount_text,
        try_strptime(paid_on, $dates)::DATE AS paid_on,
        try_cast(amount_plain AS DECIMAL(24, 9)) * $units AS amount
    FROM paid
"""

PAYMENT_PROBLEMS = """
    SELECT row, 'paid_on is ' || coalesce('''' || paid_text || '''', 'empty') AS what,
        'Write it as the mapping says' AS fix FROM payments WHERE paid_on IS NULL
    UNION ALL SELECT row, 'amount is ' || coalesce('''' || amount_text || '''', 'empty'),
        'Write it as the mapping says, with no more decimals than the currency has' FROM payments
        WHERE amount IS NULL OR amount <> trunc(amount)
    UNION ALL SELECT row, 'loan ' || coalesce('''' || loan || '''', 'nothing') || ' is not known',
        'Add the loan, or drop this row' FROM payments ANTI JOIN cells USING (loan)
    ORDER BY row, what
"""

LOAN_ROWS = """
    WITH fine AS (
        SELECT row, loan, coalesce(segment, '') AS segment, disbursed_on,
            principal::BIGINT AS principal, coalesce(total_due, principal)::BIGINT AS total,
            coalesce(instalments, 1) AS instalments, closed_on, charged_off_on,
            coalesce(due_on, first_due_on, (disbursed_on + INTERVAL 1 MONTH)::DATE) AS first_due_on,
            charged_off::BIGINT AS charged_off,
            datediff('month', DATE '1970-01-01', disbursed_on) AS cohort,
            row_number() OVER (PARTITION BY loan ORDER BY row) AS copy
        FROM cells
        WHERE loan IS NOT NULL AND disbursed_on <= $as_of
          AND principal = trunc(principal) AND principal > 0
          AND (total_text IS NULL OR (total_due = trunc(total_due) AND total_due > 0))
          AND (due_text IS NULL OR due_on IS NOT NULL)
          AND (first_due_text IS NULL OR first_due_on IS NOT NULL)
          AND (instalments_text IS NULL OR instalments BETWEEN 1 AND 1200)
          AND (closed_text IS NULL OR closed_on >= disbursed_on)
          AND (charged_off_text IS NULL OR charged_off_on >= disbursed_on)
          AND (closed_on IS NULL OR charged_off_on IS NULL OR closed_on >= charged_off_on)
          AND (charged_off_amount_text IS NULL OR charged_off = trunc(charged_off))
    ),
    loans AS (SELECT * EXCLUDE copy, row_number() OVER (ORDER BY row) AS loan_id FROM fine
              WHERE copy = 1),
    observed AS (
        SELECT l.*, d.month, d.seen_on, d.month - l.cohort AS mob,
            coalesce(l.closed_on <= d.seen_on, false) AS is_closed,
            coalesce(l.charged_off_on <= d.seen_on, false) AS is_charged_off
        FROM loans l JOIN days d ON d.month >= l.cohort
    ),
    money AS (
        SELECT s.loan_id, s.month, sum(p.amount)::BIGINT AS paid
        FROM observed s JOIN payments p ON p.loan = s.loan AND p.paid_on <= s.seen_on
        WHERE p.amount = trunc(p.amount) GROUP BY ALL
    ),
    covered_dues AS (
        SELECT s.*, CASE WHEN is_closed AND NOT is_charged_off THEN total
            WHEN NOT $scheduled THEN least(total, coalesce(paid, 0))
            -- What is charged off one day was never paid in full before.
            ELSE least(total * least(instalments, CASE WHEN instalments > 1 THEN mob
                    WHEN first_due_on <= seen_on THEN 1 ELSE 0 END) // instalments,
                CASE WHEN charged_off_on IS NULL THEN total ELSE total - 1 END) END AS covered
        FROM observed s LEFT JOIN money USING (loan_id, month)
    ),
    dues AS (
        SELECT loan_id, total * n // instalments AS asked,
            (first_due_on + to_months((n - 1)::INT))::DATE AS due_on
        FROM loans, unnest(range(1, instalments + 1)) AS u(n) WHERE NOT $scheduled
    ),
    late AS (
        SELECT s.loan_id, s.month, max(datediff('day', d.due_on, s.seen_on)) AS days
        FROM covered_dues s JOIN dues d USING (loan_id)
        WHERE d.due_on < s.seen_on AND d.asked > s.covered GROUP BY ALL
    ),
    ended AS (
        SELECT s.*, coalesce(days, 0) AS days,
            CASE WHEN is_charged_off AND charged_off IS NOT NULL THEN charged_off
                 ELSE principal - (principal::HUGEINT * covered // total)::BIGINT END AS balance,
            lag(covered >= total AND NOT is_charged_off, 1, false)
                OVER (PARTITION BY loan_id ORDER BY month) AS was_closed
        FROM covered_dues s LEFT JOIN late USING (loan_id, month)
    )
    SELECT row, loan_id, loan AS loan_ref, segment, month::INT AS month,
        CASE WHEN is_charged_off THEN 9 WHEN covered >= total THEN 8
             WHEN days <= 0 THEN 0 ELSE least(7, (days + 29) // 30) END::INT AS state,
        balance::BIGINT AS balance, principal, cohort::INT AS cohort
    FROM ended WHERE NOT was_closed OR is_charged_off ORDER BY loan_id, month
"""

REFS = """
    SELECT loan_id, any_value(loan_ref) AS loan_ref FROM loan_months
    GROUP BY loan_id ORDER BY loan_id
"""

SUMS = """
    SELECT greatest(sum(abs(balance)), sum(principal)) FROM loan_months
"""

UNUSED = """
    SELECT count(*) FROM given ANTI JOIN loan_months USING (row)
"""

"""Payment dates of a deal under many scenarios, compiled: the kernel beside the exact form.

A deal is a program of integers (`scenario_program`): registers hold the names of its formulas,
rows of code work them out, rows of steps pay. Nothing is allocated and nothing is a float but the
first guess of a quotient, which the exact remainder then mends.
"""

from __future__ import annotations

from typing import NamedTuple

from usance.base.arrays import F64, I64, i64, u64
from usance.base.compiled import kernel

PPM = 1_000_000
HUNDREDTHS = 100
# Registers that every deal has, in this order; classes, fees and accounts follow.
(PERIOD, _, POOL_START, POOL_END, INTEREST, PRINCIPAL, DEFAULTED, RECOVERED,
 DEFAULTED_TO_DATE, BOUGHT_TO_DATE, CLASSES, FIRST) = range(12)  # fmt: skip
BALANCE, ORIGINAL, DUE, TARGET, CLASS_WIDTH = range(5)
# Columns of a step, and its kinds.
(KIND, SOURCE, AMOUNT, WHEN, PRO_RATA, FIRST_PAYEE, LAST_PAYEE) = range(7)
PAY_FEE, PAY_INTEREST, PAY_PRINCIPAL, MOVE, BUY, RESIDUAL = range(6)
# Columns of the shape: how many of each there are, and where the deal begins.
(N_CLASSES, N_FEES, N_STRATA, N_PERIODS, N_MONTHS, STATUS, PRICE, HELD, CALL_WHEN,
 CALL_PRICE) = range(10)  # fmt: skip
# Columns of a stratum.
S_BALANCE, S_SCHEDULE, S_MONTHS, S_MDR, S_MDR_LAST, S_SMM, S_SMM_LAST, S_REC, S_REC_END = range(9)
# Columns of a result: sums over all dates; two of the whole, then five for each class.
COLLECTED, PAID, END_STATUS, WHOLE_WIDTH = range(4)
R_INTEREST, R_PRINCIPAL, R_PRINCIPAL_DAYS, R_BALANCE, R_DUE, RESULT_WIDTH = range(6)


class ScenarioProgram(NamedTuple):
    """A deal as arrays; rows by the columns above, dates and months from the first."""

    shape: I64
    start: I64
    strata: I64
    curves: I64
    """Curves as given; below them those of a scenario, as defaults and prepayments multiply."""
    shares: I64
    ratios: F64
    given: I64
    factors: I64
    bases: I64
    targets: I64
    supplies: I64
    days: I64
    formulas: I64
    code: I64
    triggers: I64
    statuses: I64
    steps: I64
    payees: I64


class WorkingMemory(NamedTuple):
    """Everything that moves while a scenario runs; a piece of work has its own."""

    register: I64
    cohort: I64
    """Balance, first month and stratum of each cohort."""
    accrued: I64
    recoveries: I64
    """Recoveries to come, by month."""
    parts: I64
    """Shares of a payment by class, each with the rest of its division."""
    rest: I64
    """The rest of the last division, and whether a tie was met that cannot be decided."""
    paid: I64
    date: I64
    """Of one payment date: everything paid, loans bought."""


@kernel(inline=True)
def quotient(amount: int, above: int, below: int, ratio: float, rest: I64) -> int:
    """⌊amount × above / below⌋, exact for `below` < 2^61: the remainder goes to `rest`."""
    found = i64(amount * ratio)
    left = amount * above - found * below  # both wrap around; their difference does not
    while left < 0:
        found -= 1
        left += below
    while left >= below:
        found += 1
        left -= below
    rest[0] = left
    return found


@kernel(inline=True)
def rounded(amount: int, share: I64, ratio: float, rest: I64) -> int:
    """Amount × share half-up; a tie of a share that is not exact marks `rest[1]`."""
    found = quotient(amount, share[0], share[1], ratio, rest)
    if 2 * rest[0] < share[1]:
        return found
    if 2 * rest[0] == share[1] and share[2] == 0:
        rest[1] = 1
    return found + 1


@kernel
def work(formula: int, program: ScenarioProgram, register: I64) -> int:  # noqa: C901
    """The value of a formula as things stand."""
    formulas, code = program.formulas, program.code
    for at in range(formulas[formula, 0], formulas[formula, 1]):
        op = code[at, 0]
        a, b = register[code[at, 2]], register[code[at, 3]]
        if op == 1:
            value = a + b
        elif op == 2:
            value = a - b
        elif op == 3:
            value = a * b
        elif op == 4:
            value = a // b
        elif op == 5:
            value = min(a, b)
        elif op == 6:
            value = max(a, b)
        elif op == 7:
            value = int(a == b)
        elif op == 8:
            value = int(a != b)
        elif op == 9:
            value = int(a < b)
        elif op == 10:
            value = int(a <= b)
        elif op == 11:
            value = int(a > b)
        elif op == 12:
            value = int(a >= b)
        elif op == 13:
            value = a & b
        elif op == 14:
            value = a | b
        elif op == 15:
            value = 1 - a
        else:
            value = b if a != 0 else register[code[at, 4]]
        register[code[at, 1]] = value
    found: int = register[formulas[formula, 2]]
    return found


@kernel(inline=True)
def of_million(amount: int, ppm: int) -> int:
    """Amount × ppm half-up; unsigned, since its division by a constant is a multiplication."""
    return i64((u64(amount) * u64(ppm) + u64(PPM // 2)) // u64(PPM))


@kernel
def pool_month(month: int, cohorts: int, program: ScenarioProgram, memory: WorkingMemory) -> None:
    """One month of every cohort, added to the registers of the period."""
    strata, curves, shares, ratios = program.strata, program.curves, program.shares, program.ratios
    cohort, recoveries, rest = memory.cohort, memory.recoveries, memory.rest
    interest_in = principal_in = lost_in = 0
    for c in range(cohorts):
        balance, template = cohort[c, 0], cohort[c, 2]
        age = month - cohort[c, 1]
        if balance == 0 or age >= strata[template, S_MONTHS]:
            continue
        mdr = curves[1, strata[template, S_MDR] + min(age, strata[template, S_MDR_LAST])]
        smm = curves[2, strata[template, S_SMM] + min(age, strata[template, S_SMM_LAST])]
        lost = of_million(balance, mdr)
        left = balance - lost
        at = 2 * (strata[template, S_SCHEDULE] + age)
        interest_in += rounded(left, shares[at], ratios[at], rest)
        due = rounded(left, shares[at + 1], ratios[at + 1], rest)
        prepaid = of_million(left - due, smm)
        first = strata[template, S_REC]
        for lag in range(min(strata[template, S_REC_END] - first, len(recoveries) - month)):
            recoveries[month + lag] += of_million(lost, curves[0, first + lag])
        cohort[c, 0] = left - due - prepaid
        principal_in += due + prepaid
        lost_in += lost
    memory.register[INTEREST] += interest_in
    memory.register[PRINCIPAL] += principal_in
    memory.register[DEFAULTED] += lost_in


@kernel
def accrue(period: int, program: ScenarioProgram, memory: WorkingMemory) -> None:
    """Interest and fees since the last date: whole units and a rest over the item's own base."""
    classes, fees = program.shape[N_CLASSES], program.shape[N_FEES]
    bases, accrued, register, rest = program.bases, memory.accrued, memory.register, memory.rest
    for item in range(classes + fees):
        below = bases[item, 0]
        if item < classes:
            amount = register[FIRST + CLASS_WIDTH * item + BALANCE]
            due = FIRST + CLASS_WIDTH * item + DUE
        else:
            amount = 0
            if bases[item, 2] >= 0:
                amount = max(work(bases[item, 2], program, register), 0)
            due = FIRST + CLASS_WIDTH * classes + item - classes
        before = accrued[item, 0] + (2 * accrued[item, 1] >= below)
        times = program.factors[item, period]
        whole = quotient(amount, times, below, times / below, rest)
        left = accrued[item, 1] + rest[0]
        accrued[item, 0] += whole + left // below + bases[item, 1]
        accrued[item, 1] = left % below
        register[due] += accrued[item, 0] + (2 * accrued[item, 1] >= below) - before


@kernel
def split_by(total: int, payees: I64, offset: int, memory: WorkingMemory) -> None:
    """Shares of a total by what each class has in a register, by largest remainder."""
    parts, register, rest = memory.parts, memory.register, memory.rest
    whole, count = 0, len(payees)
    for i in range(count):
        whole += register[FIRST + CLASS_WIDTH * payees[i] + offset]
    left = total
    for i in range(count):
        weight = register[FIRST + CLASS_WIDTH * payees[i] + offset]
        parts[i, 0] = quotient(total, weight, whole, weight / whole, rest)
        parts[i, 1] = rest[0]
        left -= parts[i, 0]
    for _ in range(left):
        best = 0
        for i in range(1, count):
            if parts[i, 1] > parts[best, 1]:
                best = i
        parts[best, 0] += 1
        parts[best, 1] = -1


@kernel
def pay_classes(step: I64, most: int, payees: I64, memory: WorkingMemory) -> int:
    """Interest by what is due, or principal in order or by balance."""
    parts, register, paid = memory.parts, memory.register, memory.paid
    listed = payees[step[FIRST_PAYEE] : step[LAST_PAYEE]]
    is_interest = step[KIND] == PAY_INTEREST
    offset = DUE if is_interest else BALANCE
    owed = 0
    for i in range(len(listed)):
        owed += register[FIRST + CLASS_WIDTH * listed[i] + offset]
    total = min(most, owed)
    if total == 0:
        return 0
    if is_interest or step[PRO_RATA]:
        split_by(total, listed, offset, memory)
    else:
        left = total
        for i in range(len(listed)):
            parts[i, 0] = min(left, register[FIRST + CLASS_WIDTH * listed[i] + offset])
            left -= parts[i, 0]
    for i in range(len(listed)):
        register[FIRST + CLASS_WIDTH * listed[i] + offset] -= parts[i, 0]
        paid[listed[i], 0 if is_interest else 1] += parts[i, 0]
    if not is_interest:
        register[CLASSES] -= total
    return total


@kernel
def pay_step(step: I64, supply: int, program: ScenarioProgram, memory: WorkingMemory) -> None:
    """One step of a payment date."""
    payees, price = program.payees, program.shape[PRICE]
    register, date = memory.register, memory.date
    if step[WHEN] >= 0 and work(step[WHEN], program, register) == 0:
        return
    most = register[step[SOURCE]]
    if step[AMOUNT] >= 0:
        most = min(most, max(work(step[AMOUNT], program, register), 0))
    kind = step[KIND]
    spent = most
    if kind == PAY_FEE:
        due = payees[step[FIRST_PAYEE]]
        spent = min(most, register[due])
        register[due] -= spent
    elif kind in (PAY_INTEREST, PAY_PRINCIPAL):
        spent = pay_classes(step, most, payees, memory)
    elif kind == MOVE:
        register[payees[step[FIRST_PAYEE]]] += most
    elif kind == BUY:
        bought = min(most * PPM // price, supply - date[1])
        spent = (bought * price + PPM // 2) // PPM
        register[POOL_END] += bought
        register[BOUGHT_TO_DATE] += bought
        date[1] += bought
    else:
        memory.paid[payees[step[FIRST_PAYEE]], 0] += most
    register[step[SOURCE]] -= spent
    if kind != MOVE:
        date[0] += spent


@kernel
def test_triggers(moment: int, status: int, program: ScenarioProgram, register: I64) -> int:
    """The status after the triggers of a moment."""
    triggers = program.triggers
    for at in range(len(triggers)):
        moves_on = triggers[at, 0] == moment and triggers[at, 2] > status
        if moves_on and work(triggers[at, 1], program, register) != 0:
            status = triggers[at, 2]
    return status


@kernel
def scenario_kernel(  # noqa: C901 -- a payment date from its collections to its triggers
    scenarios: I64, program: ScenarioProgram, memory: WorkingMemory, results: I64, unsure: I64
) -> None:
    """A row of results for each scenario.

    `unsure` marks a scenario whose rounding met a tie that a share's nearest fraction cannot
    decide; the exact form runs it again.
    """
    shape, curves, given = program.shape, program.curves, program.given
    register, cohort, rest, paid = memory.register, memory.cohort, memory.rest, memory.paid
    classes = shape[N_CLASSES]
    account = FIRST + CLASS_WIDTH * classes + shape[N_FEES]
    length = shape[N_MONTHS] // shape[N_PERIODS]
    for row in range(len(scenarios)):
        for at in range(len(register)):
            register[at] = program.start[at]
        memory.accrued[:] = 0
        memory.recoveries[:] = 0
        rest[:] = 0
        results[row] = 0
        for at in range(curves.shape[1]):
            for which in range(2):
                times = curves[0, at] * scenarios[row, which] + HUNDREDTHS // 2
                curves[1 + which, at] = min(PPM, times // HUNDREDTHS)
        cohorts, held, status, month = shape[N_STRATA], shape[HELD], shape[STATUS], 0
        for c in range(cohorts):
            cohort[c, 0], cohort[c, 1], cohort[c, 2] = program.strata[c, S_BALANCE], 0, c
        for period in range(shape[N_PERIODS]):
            register[PERIOD] = period + 1
            register[POOL_START] = register[POOL_END]
            register[INTEREST : RECOVERED + 1] = 0
            for _ in range(length):
                pool_month(month, cohorts, program, memory)
                register[RECOVERED] += memory.recoveries[month]
                for at in range(4):
                    register[INTEREST + at] += given[month, at]
                held -= given[month, 1] + given[month, 2]
                month += 1
            register[POOL_END] = held
            for c in range(cohorts):
                register[POOL_END] += cohort[c, 0]
            register[DEFAULTED_TO_DATE] += register[DEFAULTED]
            income = register[INTEREST] + register[PRINCIPAL] + register[RECOVERED]
            for c in range(classes):
                register[FIRST + CLASS_WIDTH * c + TARGET] = program.targets[c, period]
            register[account] += income
            accrue(period, program, memory)
            status = test_triggers(0, status, program, register)
            is_last = False
            if shape[CALL_WHEN] >= 0 and register[POOL_END] > 0:
                is_last = work(shape[CALL_WHEN], program, register) != 0
            if is_last:
                price = max(work(shape[CALL_PRICE], program, register), 0)
                register[account] += price
                income += price
                register[POOL_END] = 0
            paid[:] = 0
            memory.date[:] = 0
            for at in range(program.statuses[status, 0], program.statuses[status, 1]):
                pay_step(program.steps[at], program.supplies[period], program, memory)
            if memory.date[1] > 0:
                cohort[cohorts, 0], cohort[cohorts, 1] = memory.date[1], month
                cohort[cohorts, 2] = shape[N_STRATA]
                cohorts += 1
            results[row, COLLECTED] += income
            results[row, PAID] += memory.date[0]
            for c in range(classes):
                at = WHOLE_WIDTH + RESULT_WIDTH * c
                results[row, at + R_INTEREST] += paid[c, 0]
                results[row, at + R_PRINCIPAL] += paid[c, 1]
                results[row, at + R_PRINCIPAL_DAYS] += paid[c, 1] * program.days[period]
            status = test_triggers(1, status, program, register)
            if is_last:
                break
        results[row, END_STATUS] = status
        for c in range(classes):
            at = WHOLE_WIDTH + RESULT_WIDTH * c
            results[row, at + R_BALANCE] = register[FIRST + CLASS_WIDTH * c + BALANCE]
            results[row, at + R_DUE] = register[FIRST + CLASS_WIDTH * c + DUE]
        unsure[row] = rest[1]

"""Words of the private vocabulary with those of the field, and names that wait for their caller."""

from __future__ import annotations


def _retired(lines: str) -> dict[str, str]:
    """Words from lines of `old old …: new`."""
    pairs = (line.partition(": ") for line in lines.strip().splitlines())
    return {old: new for olds, _, new in pairs for old in olds.split()}


COINED = _retired("""
side_by_side: parallel_map
Beside Unanswered: StandardError, OutputFailed
Strangers: OrphanFacts
Gathered standing_rows: FactsByLoan, visible_rows
ForeignTerms ForeignFact: MigratedTerms, MigratedFact
lacking: missing
nothing_lacks pour take_back: is_paid_off, apply_oldest_first, uncover_youngest_first
OWN_CODES asked_by fallen_due lay_out meet_oldest unpay: the word of schedules and allocations
calm_loan weave weave_rows woven: on_schedule, merge_facts
knobs: behaviour_params
Wishes: demand
Door looks_like: UserRegister, possible_duplicates
falling_due NoticeDesk: servicing_events, PaymentFileIntake
Look looked_at: ClosedBooks
Carried left_path keep_over: CarryForward, open_loans_path
Told told_of add_told told_kernel: CohortOutcomes
slices add_slices slices_lost slices_received earned_slices: fee instalments
own_loans policy_places: on_balance_sheet, policy_layout
KnownLoans: LoansWithFacts
outside_holders outside_share outside_ppm outside_lines OUTSIDE_LINE: non-controlling interests
pay_in_shares pay_by_function: share_based_compensation
later_loans later_receivable later_contract loans_later other_later: non_current
is_raised: has_sicr
GroupKind: GroupFactKind
strays more_rows cost_to_come: cash_without_activity, note_rows, unrecognised_by_year
seen_curve GivenCurve: observed_curve, PolicyCurve
keeps_rate driven_minor: at_historical_rate, driver_cost_minor
Standing standing_of read_standing write_standing: RouterCheckpoint
resumption Clockwork live_state: router checkpoint, RouterProgress, RouterState
real_replay: a loader of the tests
MixLimit mix_weight mix_state mix_price mix_bound mix_limit: concentration limit
PLATFORM_ROOMS NO_ROOM room_minor start_rooms set_rooms: headroom
HandoverError beside_codes kept_flow price_menu Grower: the word of credit decisions
Spans Cube Pack TapeMap Asker Asked CannotDivide: the word of data engineers
Blanks Quoted Drilling Printed Translated: MissingCells, NarrativeFigures, RoundedStatements
makers_of said_day: derivations_of
standing_facts: unreversed_facts
each_told told_late told_period: with_progress, restated, reported_period
guaranteeing settling pausing restoring timekeeper: the noun it holds
Outermost Tried nobodys: OuterMiddleware, DeliveryResult, unmatched_hash
strata_to_come ClassToCome ToCome: remaining_strata, ProjectedClass, ProjectedDates
forbidding Reached: broken_rules, ContactOutcome
keep_time keep_moving keep_contacting keep_planning: the loop of the thing
""")
"""Identifiers that must not come back anywhere, each with the word to write instead."""

WITHIN = {
    "base": _retired("ahead: prefetch\nbehind: in_idle_time\nbeside: in_background"),
    "loan": _retired("forms: loan\ngathered: fact_files"),
    "acquire": _retired("door: registration"),
    "match": _retired("outlook Outlook Ahead: RemainingDemand\ncertificate: hindsight bound\n"
                      "placing: placement\nExperience: ApprovalTracker"),
    "books": _retired("looking: ClosedBooks\nis_over: is_fully_settled\nFORMS: FACT_SCHEMAS"),
    "service": _retired("is_over: is_closed, has_ended"),
    "platform": _retired("door: the word of the page\nknobs: parameters\nGuest: BorrowerVisit, "
                         "PortalVisit\nmaking: build\nmeant: decode\n"
                         "filed_by: partitioned_by"),
    "world": _retired("desks: specialisations\nturns: source_events\nasking: demand\n"
                      "shapes: distributions\nbegun: stream_prefix"),
    "twin": _retired("served serving: shard_month, loan_month\nrouted: routing, booking\n"
                     "opened: opening_shard\nsetting: run_context\nis_over: is_fully_settled\n"
                     "through_kernel late_kernel: month_pass"),
}  # fmt: skip
"""Words that are retired in one room, where they had a meaning of their own."""


def replacement(word: str, room: str) -> str:
    """The word to write instead of a retired one; empty for any other word."""
    return COINED.get(word) or WITHIN.get(room, {}).get(word, "")


AWAITED_NAMES = {
    "capture_signals": "uvicorn's server calls it; ours leaves signals to its owner",
    "model_config": "pydantic reads it",
    "all_in_cost": "the annual cost of any flows, as a library gives it",
    "create_table": "migrations are written with it; a test compares databases with it",
    "write_notices": "the writing side of a payment file; tests of faults send what it writes",
    "Sender": "a provider that loses, doubles and delays files; tests of faults play it",
    "WISH": "an input of an applicant keeps its place: draws are numbered by it",
    "OLD_7": "a column of dues that the kernel reaches from OLD_PAID",
    "OLD_30": "likewise",
    "NEW_7": "a column of dues that the kernel reaches from NEW_PAID",
    "NEW_30": "likewise",
    "asked_ppm": "the answers behind an approval rate, for the desk that reads it",
    "day_high": "the daily interval of a forecast, for the desk that reads it",
    "day_low": "the daily interval of a forecast, for the desk that reads it",
    "gross_minor": "the notice of a dividend's payment names it",
    "log_message": "the standard library's server calls it",
    "of_tables": "metrics of tables in memory, as a library measures them",
    "parse_features": "definitions that come as text, as in the examples of `features`",
    "parse_lists": "lists that come as text, as a library takes them",
    "possible_duplicates": "who registers in a book without a platform is reviewed by it",
    "VelocityLog": "counts one event at a time; the columns are held to it",
}
"""Names without a caller in the source, each with its reason."""

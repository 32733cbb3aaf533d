"""Words of the private vocabulary with those of the field, and names that wait for their caller."""

from __future__ import annotations

RETIRED = {
    "ahead": "prefetch",
    "beside": "in_background",
    "behind": "in_idle_time",
    "side_by_side": "parallel_map",
}
"""Identifiers that must not come back, each with the word to write instead."""

AWAITED_NAMES = {
    "http_status": "the status of an error when the API answers with it",
    "log_message": "the standard library's server calls it",
}
"""Names without a caller in the source, each with its reason."""

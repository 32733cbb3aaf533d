"""Settings of collections in force: the strategy, contracts of agencies, and C-scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from usance.base.errors import unknown
from usance.base.parameters import Parameters
from usance.service.collections.agencies import AgencyContract
from usance.service.collections.contact_rules import Channel
from usance.service.collections.strategy import Strategy
from usance.service.collections.strategy_file import parse_strategy, shipped_strategy

if TYPE_CHECKING:
    from usance.assess.scoring.model import Model

STRATEGY = "strategy"
MISSED = "missed"
C_SCORES = ("unpaid", "rolled", MISSED, *(f"{MISSED}_{each.value}" for each in Channel))
"""Scores that may be in force; `missed` is of calls, `missed_message` and its like of a channel."""
MODEL_FILES = ("model.json", "trees.txt")


@dataclass(frozen=True)
class CollectionSettings:
    """Everything that decides how cases are worked."""

    strategy_text: str = ""
    agencies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Files of the model of each C-score in force."""
    parameters: Parameters | None = None
    """The lender's own: the hours of its country, not those of another."""
    currency: str = "CNY"

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy that two people put in force; the shipped one before the first."""
        if not self.strategy_text:
            return shipped_strategy(self.currency)
        return parse_strategy(self.strategy_text, STRATEGY, self.parameters)

    def contract(self, name: str) -> AgencyContract:
        """The contract of an agency."""
        if name not in self.agencies:
            raise unknown("agency", name, self.agencies, where="body.agency")
        given = self.agencies[name]
        return AgencyContract(name, given["commission_ppm"], given["tail_days"], given["max_cases"])

    def reach_score(self, channel: Channel) -> str:
        """The C-score in force of reaching a debtor by a channel, empty if there is none.

        That of calls stands for any call that has none of its own.
        """
        own = f"{MISSED}_{channel.value}"
        general = MISSED if channel.is_call and MISSED in self.scores else ""
        return own if own in self.scores else general

    @property
    def payment_score(self) -> str:
        """The C-score in force of being paid without a contact: that of rolling first."""
        return next((name for name in ("rolled", "unpaid") if name in self.scores), "")

    @cached_property
    def models(self) -> Mapping[str, Model]:
        """C-scores in force, ready to score."""
        return {name: model_of(files) for name, files in self.scores.items()}


def collection_settings(
    found: Mapping[tuple[str, str], Any], parameters: Parameters | None = None,
    currency: str = "CNY",
) -> CollectionSettings:  # fmt: skip
    """The settings of collections among all that are in force."""
    strategy = found.get((STRATEGY, STRATEGY), {})

    def of(wanted: str) -> dict[str, Any]:
        return {name: given for (kind, name), given in found.items() if kind == wanted}

    scores = {name: given["files"] for name, given in of("c_score").items()}
    return CollectionSettings(strategy.get("text", ""), of("agency"), scores, parameters, currency)


def model_of(files: Mapping[str, str]) -> Model:
    """A model from the texts of its files."""
    from usance.assess.scoring.model import load_model

    with TemporaryDirectory() as folder:
        for name in MODEL_FILES:
            (Path(folder) / name).write_text(files.get(name, ""), encoding="utf-8")
        return load_model(folder)

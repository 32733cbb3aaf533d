"""What the tests of commands share: a loan written down, and the answer of one command."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from typing import Any, NamedTuple

TODAY = datetime(2024, 5, 20, 9, 30, tzinfo=UTC)
TERMS_YAML = """\
terms:
  principal: 9000
  rate: 18%
  instalments: 6
  disbursed_on: 2023-12-31
  convention: equal_principal_monthly
"""
FACTS_YAML = """\
facts:
  - {kind: disbursed, on: 2023-12-31, amount: 9000}
  - {kind: paid, on: 2024-01-31, amount: 1635.00, ref: psp-1}
  - {kind: paid, on: 2024-03-10, amount: 1500.00}
"""
LOAN_YAML = TERMS_YAML + FACTS_YAML + "as_of: 2024-03-15\n"


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def data(self) -> Any:
        told = self.json
        assert set(told) == {"data", "notes"}
        return told["data"]

    @property
    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(StringIO(self.out)))


Usance = Callable[..., Answer]

"""Dated parameters: rules, rates and limits as files, one each, every value with a source.

The folder tree is the namespace: `pricing/rate_cap.yaml` is `pricing.rate_cap`. Reading a
parameter leaves a trace, so a result can say which values it used.

>>> parameters = Parameters.load()
>>> with trace() as reads:
...     cap = parameters.at("pricing.rate_cap", date(2024, 6, 30))
>>> str(cap.value), cap.integer, str(cap.valid_from)
('24%', 240000, '2022-01-01')
>>> [(read.name, str(read.on)) for read in reads]
[('pricing.rate_cap', '2024-06-30')]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path

from usance.base.errors import ParameterError, UsanceError, raise_all
from usance.base.money import Money
from usance.base.parameter_file import Parameter, read_parameter
from usance.base.rates import Rate

SHIPPED = Path(__file__).resolve().parents[1] / "parameters"


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter's value on a day, with its unit, its source and the file it was read from."""

    name: str
    value: Rate | Money | Decimal | int | bool | str
    unit: str
    valid_from: date
    source: str
    file_sha256: str

    @property
    def integer(self) -> int:
        """The value as kernels take it: ppm of a rate, minor units of money, a whole number."""
        if isinstance(self.value, Rate):
            return self.value.ppm
        if isinstance(self.value, Money):
            return self.value.minor
        if isinstance(self.value, int):
            return int(self.value)
        raise ParameterError(
            f"{self.value!r} is no whole number", where=self.name, fix="Use its .value"
        )


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of a parameter, as a trace keeps it."""

    name: str
    on: date
    value: Value


_traces: ContextVar[tuple[list[Read], ...]] = ContextVar("traces", default=())


@contextmanager
def trace() -> Iterator[list[Read]]:
    """Collect every parameter read inside the block (in this thread or task)."""
    reads: list[Read] = []
    token = _traces.set((*_traces.get(), reads))
    try:
        yield reads
    finally:
        _traces.reset(token)


@dataclass(frozen=True, slots=True)
class Parameters:
    """A set of parameters read from one folder."""

    by_name: Mapping[str, Parameter]

    @classmethod
    def load(cls, folder: Path | str = SHIPPED) -> Parameters:
        """Read a folder, or raise everything that is wrong with it."""
        parameters, findings = _read_folder(Path(folder))
        raise_all(findings, where=str(folder))
        return cls(parameters)

    def at(self, name: str, on: date) -> Value:
        """The value in force on a day."""
        parameter = self.by_name.get(name)
        if parameter is None:
            near = get_close_matches(name, self.by_name, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "See docs/reference/parameters.md"
            raise ParameterError(f"unknown parameter {name!r}", fix=hint)
        index = bisect_right([entry.valid_from for entry in parameter.entries], on) - 1
        if index < 0:
            first = parameter.entries[0].valid_from
            raise ParameterError(
                f"has no value on {on}", where=name, fix=f"Ask for {first} or later, or add a value"
            )
        entry = parameter.entries[index]
        value = Value(
            name, entry.value, parameter.unit, entry.valid_from, entry.source, parameter.sha256
        )
        for reads in _traces.get():
            reads.append(Read(name, on, value))
        return value


def _read_folder(folder: Path) -> tuple[dict[str, Parameter], list[UsanceError]]:
    parameters: dict[str, Parameter] = {}
    findings: list[UsanceError] = []
    files = sorted(folder.rglob("*.yaml"))
    if not files:
        findings.append(
            ParameterError("holds no parameters", where=str(folder), fix="Name a folder of .yaml")
        )
    for file in files:
        name = ".".join(file.relative_to(folder).with_suffix("").parts)
        parameter, found = read_parameter(file)
        findings += found
        if parameter is not None:
            parameters[name] = parameter
    return parameters, findings

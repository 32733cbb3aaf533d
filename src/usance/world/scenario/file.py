r"""A scenario as people write it: one YAML file, read with line numbers, every problem at once.

`based_on` names another scenario of which only the differences are given; a mapping by period and a
list replace the ones they differ from. `fitted` holds the values of the behaviour that calibration
wrote, and nobody else.

>>> scenario = read_scenario("calm")
>>> (
...     scenario.name,
...     scenario.currency,
...     scenario.users.opening + sum(scenario.users.registered.values()),
... )
('calm', 'CNY', 20000)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usance.base.codes import Currency, parse
from usance.base.document_places import DocumentPath, Places, document_places
from usance.base.documents import parse_yaml, read_text
from usance.base.errors import DocumentError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, text, whole_of
from usance.world.scenario.checks import contradictions
from usance.world.scenario.collections_section import read_collections
from usance.world.scenario.funding_section import read_funding, read_later_funding
from usance.world.scenario.incidents_section import read_incidents
from usance.world.scenario.scenario import Scenario
from usance.world.scenario.sections import (
    built,
    needed,
    optional,
    read_behaviour,
    read_demand,
    read_group,
    read_macro,
    read_opening,
    read_pricing,
    read_providers,
    read_source_events,
    read_specialisations,
    read_users,
)
from usance.world.scenario.values import month, with_texts

PACKAGED = Path(__file__).resolve().parents[1] / "scenarios"
"""The scenarios that come with the platform."""
_PERIOD = re.compile(r"[0-9]{4}([QH][1-4]|-[0-9]{2})?")
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class _Files:
    """Files named by a scenario: beside it, else among the packaged ones."""

    scenario: Path
    check_flow: Callable[[Path], object]

    def folder(self, given: Any, where: str) -> Mapping[str, str]:
        """Texts of a folder of policies by name; the closes check what they say."""
        folder = self._found(given, where)
        texts = {path.name: read_text(path) for path in sorted(folder.glob("*.yaml"))}
        if not texts:
            fix = "Name a folder with the policies of the closes, such as entities.yaml"
            raise DocumentError(f"{given} holds no policies", where=where, fix=fix)
        return texts

    def flow(self, given: Any, where: str) -> Mapping[str, str]:
        """Texts of a decision flow by path inside its folder, once it was checked."""
        folder = self._found(given, where)
        self.check_flow(folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): read_text(path) for path in files}

    def text(self, given: Any, where: str) -> str:
        """The text of a file."""
        return read_text(self._found(given, where))

    def texts(self, given: Any, where: str) -> Mapping[str, str]:
        """The texts of some files by name."""
        listed = given if isinstance(given, list) else [given]
        return {text(each, where): self.text(each, where) for each in listed}

    def _found(self, given: Any, where: str) -> Path:
        name = text(given, where)
        for folder in (self.scenario.parent, PACKAGED):
            if (folder / name).exists():
                return folder / name
        fix = f"Put it beside {self.scenario.name}, or name one that is there"
        raise DocumentError(f"{name} is not there", where=where, fix=fix)


def names() -> tuple[str, ...]:
    """The packaged scenarios."""
    return tuple(sorted(file.stem for file in PACKAGED.glob("*.yaml")))


def scenario_path(name_or_path: str | Path) -> Path:
    """The file of a packaged scenario or the one named."""
    given = Path(name_or_path)
    if given.suffix in {".yaml", ".yml"}:
        return given
    if str(name_or_path) not in names():
        raise unknown("scenario", str(name_or_path), names())
    return PACKAGED / f"{name_or_path}.yaml"


def read_scenario(
    name_or_path: str | Path, *, check_flow: Callable[[Path], object] = Path.exists
) -> Scenario:
    """A scenario by its packaged name or from a `.yaml` file, or everything wrong with it.

    `check_flow` is the platform's reader of the folder of a decision flow, which raises what is
    wrong with it.
    """
    path = scenario_path(name_or_path)
    document, places = _document(path, 0)
    problems: list[UsanceError] = []
    scenario = _scenario(Fields(document, places, problems), _Files(path, check_flow))
    if scenario is not None:
        problems += contradictions(scenario, places)
    raise_all(problems, where=str(path))
    assert scenario is not None, "what lacks a part has a problem"
    return scenario


def write_policies(scenario: Scenario, folder: Path) -> Path:
    """Put the policies of a scenario into a folder, as a close takes them."""
    return write_texts(scenario.group.policies, folder)


def write_texts(texts: Mapping[str, str], folder: Path) -> Path:
    """Put the texts that a scenario carries into a folder, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def _document(path: Path, depth: int) -> tuple[Any, Places]:
    """The document with what it is based on, and where each part of it stands."""
    content = read_text(path)
    document = with_texts(parse_yaml(content, where=str(path)))
    places = document_places(str(path), lambda: content)
    if not isinstance(document, dict):
        return document, places
    base = document.pop("based_on", None)
    if base is not None:
        where = places(("based_on",))
        if depth == _DEEPEST:
            fix = "Let one scenario stand by itself"
            raise DocumentError("is based on itself", where=where, fix=fix)
        if isinstance(base, bool | list | dict):
            raise DocumentError("is no name of a scenario", where=where, fix="Write one name")
        beside = path.parent / f"{base}.yaml"  # 2024 is read as a number
        below, under = _document(beside if beside.exists() else scenario_path(str(base)), depth + 1)
        document, places = _merged(below, document), _either(document, places, under)
    return _with_fitted(document, places)


def _merged(below: Any, above: Any) -> Any:
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    if any(_PERIOD.fullmatch(key) for key in above):
        return above
    return {
        **below,
        **{key: _merged(below[key], value) if key in below else value
           for key, value in above.items()},
    }  # fmt: skip


def _either(above: dict[str, Any], own: Places, under: Places) -> Places:
    """Places of parts: in the file itself if it has them, else in its base."""

    def place(way: DocumentPath) -> str:
        return own(way) if not way or _says(above, way) else under(way)

    return place


def _says(document: Any, way: DocumentPath) -> bool:
    """True if a document has this part, or replaces what it is in."""
    for step in way:
        if isinstance(document, list) or not isinstance(document, dict):
            return True
        if step not in document:
            return any(_PERIOD.fullmatch(key) for key in document)
        document = document[str(step)]
    return True


def _with_fitted(document: dict[str, Any], places: Places) -> tuple[Any, Places]:
    """The document with its fitted values among the behaviour."""
    fitted, behaviour = document.pop("fitted", {}), document.get("behaviour", {})
    if not isinstance(fitted, dict) or not isinstance(behaviour, dict):
        return {**document, "fitted": fitted}, places
    for key in fitted.keys() & behaviour.keys():
        where, fix = places(("fitted", key)), "Leave it to the fitted values"
        raise DocumentError(f"{key} is given and fitted", where=where, fix=fix)

    def place(way: DocumentPath) -> str:
        mine = way[:1] == ("behaviour",) and len(way) > 1 and way[1] in fitted
        return places(("fitted", *way[1:])) if mine else places(way)

    return {**document, "behaviour": {**behaviour, **fitted}}, place


def _scenario(given: Fields, files: _Files) -> Scenario | None:
    currency = given.need("currency", _currency) or "CNY"
    needs = ("users", "demand", "macro", "behaviour", "providers", "opening", "pricing", "group")
    for key in (*needs, "funding"):
        if key not in given and given.is_mapping:
            given.wrong(f"{key} is missing", f"Give {key}", key)
    funding = read_funding(given)
    return built(Scenario, given, {
        "name": needed("name", text),
        "text": needed("text", text),
        "currency": lambda _: currency,
        "time_zone": needed("time_zone", text),
        "seed": needed("seed", whole_of(0, 2**63 - 1)),
        "first_month": needed("first_month", month),
        "last_month": needed("last_month", month),
        "forecast_to": optional("forecast_to", month, 0),
        "users": lambda own: read_users(own.inner("users"), currency),
        "demand": lambda own: read_demand(own.inner("demand"), currency),
        "funding": lambda _: funding,
        "funding_from": lambda own: read_later_funding(own, funding),
        "source_events": read_source_events,
        "specialisations": read_specialisations,
        "macro": lambda own: read_macro(own.inner("macro")),
        "behaviour": lambda own: read_behaviour(own.inner("behaviour")),
        "providers": lambda own: read_providers(own.inner("providers"), currency),
        "opening": lambda own: read_opening(own.inner("opening"), currency),
        "pricing": lambda own: read_pricing(own.inner("pricing")),
        "group": lambda own: read_group(own.inner("group"), currency, files),
        "flow": optional("flow", files.flow, {}),
        "collections": lambda own: read_collections(own, files),
        "incidents": read_incidents,
    })  # fmt: skip


def _currency(given: Any, where: str) -> str:
    return parse(Currency, text(given, where), where=where).label

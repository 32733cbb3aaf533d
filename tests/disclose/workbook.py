"""A workbook read and computed without the program that wrote it: XML, and a formula engine."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_REF = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_REFERENCE = re.compile(r"(?:'([^']+)'!)?\b([A-Z]{1,3}[0-9]+)\b")

Cell = tuple[str, str]


class Workbook:
    """Numbers and formulas by sheet and cell; `value` computes, `cached` is what was written."""

    def __init__(self, path: Path, instead: Mapping[Cell, float] | None = None) -> None:
        self.numbers: dict[Cell, float] = {}
        self.formulas: dict[Cell, str] = {}
        self.cached: dict[Cell, float] = {}
        with zipfile.ZipFile(path) as archive:
            sheets = ElementTree.fromstring(archive.read("xl/workbook.xml")).iter(f"{_MAIN}sheet")
            targets = {
                each.get("Id"): each.get("Target")
                for each in ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
            }
            for sheet in sheets:
                content = archive.read(f"xl/{targets[sheet.get(_REF)]}")
                self._read(str(sheet.get("name")), ElementTree.fromstring(content))
        self._known: dict[Cell, float] = dict(instead or {})

    def _read(self, sheet: str, tree: ElementTree.Element) -> None:
        for cell in tree.iter(f"{_MAIN}c"):
            place = sheet, str(cell.get("r"))
            value, formula = cell.find(f"{_MAIN}v"), cell.find(f"{_MAIN}f")
            if cell.get("t") in ("s", "str") or value is None or value.text is None:
                continue
            if formula is not None and formula.text:
                self.formulas[place] = formula.text
                self.cached[place] = float(value.text)
            else:
                self.numbers[place] = float(value.text)

    def value(self, place: Cell) -> float:
        """A cell, computed from the numbers alone."""
        if place not in self._known:
            is_formula = place in self.formulas
            self._known[place] = self._compute(place) if is_formula else self.numbers[place]
        return self._known[place]

    def _compute(self, place: Cell) -> float:
        inputs: list[float] = []

        def named(found: re.Match[str]) -> str:
            inputs.append(self.value((found[1] or place[0], found[2])))
            return f"A{len(inputs)}"

        engine = _compiled(_REFERENCE.sub(named, self.formulas[place]))
        order = [int(str(name)[1:]) - 1 for name in engine.inputs]
        return float(engine(*(inputs[at] for at in order)))


@cache
def _compiled(formula: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of the engine's own source
        import formulas

        return formulas.Parser().ast(f"={formula}")[1].compile()

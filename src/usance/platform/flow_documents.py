"""Decision flows as the configuration holds them: one that ships, or files by name.

>>> decider_of({"shipped": "consumer"}).flow.name
'consumer'
>>> checked_flow({"files": {"../flow.yaml": ""}})
Traceback (most recent call last):
...
usance.platform.errors.InvalidField: body.files: '../flow.yaml' is no name of a file of a flow. ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.platform.errors import InvalidField

if TYPE_CHECKING:
    from usance.assess.decision.decide import Decider
    from usance.base.parameters import Parameters

SHIPPED, FILES = "shipped", "files"
_PLACE = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
"""The name of a file inside the folder of a flow, and nowhere else."""
KEPT = 8
"""Versions that are ready to decide again."""


def shipped_flows() -> list[str]:
    """Names of the flows that come along."""
    from usance.assess.flow import files

    return sorted(each.name for each in files.SHIPPED.iterdir() if each.is_dir())


def checked_flow(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document whose flow can be read and decide; any other is refused with its reason."""
    files = document.get(FILES)
    if not files:
        name = document.get(SHIPPED)
        if name not in shipped_flows():
            raise InvalidField(f"{str(name)[:40]!r} is no flow that comes along", where="body.name",
                               fix=f"Give files, or one of {', '.join(shipped_flows())}"
                               )  # fmt: skip
        return {SHIPPED: name}
    for place, text in files.items():
        if not _PLACE.fullmatch(str(place)):
            raise InvalidField(f"{place[:40]!r} is no name of a file of a flow", where="body.files",
                               fix="Give names such as flow.yaml or score.json")  # fmt: skip
        if not isinstance(text, str):
            raise InvalidField(f"{place} is no text", where="body.files",
                               fix="Give each file as its text")  # fmt: skip
    made = {FILES: dict(files)}
    decider_of(made)
    return made


def decider_of(document: Mapping[str, Any], parameters: Parameters | None = None) -> Decider:
    """The flow of a document, ready to decide."""
    from usance.assess.decision.decide import Decider
    from usance.assess.flow.files import read_flow

    if SHIPPED in document:
        return Decider(read_flow(document[SHIPPED]), parameters=parameters)
    with TemporaryDirectory() as folder:
        for place, text in document[FILES].items():
            if not _PLACE.fullmatch(place):
                raise InvalidField(f"{place[:40]!r} is no file of a flow", where="body.files",
                                   fix="Put a flow in force whose files can be read")  # fmt: skip
            path = Path(folder) / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        try:
            return Decider(read_flow(folder), parameters=parameters)
        except UsanceError as error:
            told = str(error).replace(f"{folder}/", "").replace(folder, "the flow")
            raise InvalidField(f"the flow cannot be read: {told}", where="body.files",
                               fix="Mend its files") from error  # fmt: skip


@lru_cache(maxsize=KEPT)
def kept_decider(document: str) -> Decider:
    """The flow of a document's JSON, ready to decide again what was decided."""
    return decider_of(json.loads(document))

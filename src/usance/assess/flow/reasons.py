r"""Reasons in plain words: texts by code, as data.

>>> from usance.base.documents import parse_yaml
>>> text = "101: {text: The device was used by many applicants., advice: Use your own phone.}"
>>> reasons = reasons_of(parse_yaml(text), str, "reasons.yaml")
>>> reasons.texts[101]
'The device was used by many applicants.'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from usance.base.document_places import Places, document_places
from usance.base.documents import read_document, read_text
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import Fields, text

MAX_CODE = 32_767


@dataclass(frozen=True, slots=True)
class Reasons:
    """The words of each reason code to the applicant, and the advice that goes with it."""

    texts: Mapping[int, str]
    advice: Mapping[int, str]

    def with_texts(self, codes: Sequence[int]) -> list[dict[str, Any]]:
        """Codes with their texts, strongest first; 0 stands for none."""
        return [
            {"code": code, "text": self.texts[code], "advice": self.advice.get(code, "")}
            for code in codes
            if code
        ]


def read_reasons(path: Path | str) -> Reasons:
    """The texts of a file."""
    places = document_places(str(path), partial(read_text, path))
    return reasons_of(read_document(path), places, str(path))


def reasons_of(content: object, places: Places, where: str) -> Reasons:
    """The texts of a document, or everything that is wrong with it."""
    problems: list[UsanceError] = []
    plain = content if not isinstance(content, dict) else {str(k): v for k, v in content.items()}
    given = Fields(plain, places, problems)
    texts: dict[int, str] = {}
    advice: dict[int, str] = {}
    for key in given.keys:
        inner = given.inner(key)
        if not key.isdigit() or not 1 <= int(key) <= MAX_CODE:
            given.wrong(f"{key} is no reason code", f"Use 1 to {MAX_CODE}", key)
        elif inner is not None:
            texts[int(key)] = inner.need("text", text) or ""
            helps = inner.take("advice", text)
            advice |= {int(key): helps} if helps else {}
            inner.close()
    raise_all(problems, where=where)
    return Reasons(texts, advice)

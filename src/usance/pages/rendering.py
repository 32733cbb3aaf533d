"""Templates of the pages: one Jinja2 environment, text escaped by default.

>>> from markupsafe import Markup
>>> environment().from_string("<p>{{ a }} {{ b }}</p>").render(a="1 < 2", b=Markup("<b>3</b>"))
'<p>1 &lt; 2 <b>3</b></p>'
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound
from markupsafe import Markup

from usance.pages import numbers

HOME = Path(__file__).with_name("templates")
# No XML document may hold these characters, whatever a book says.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


@cache
def environment() -> Environment:
    """The environment of all templates, made once."""
    made = Environment(
        loader=FileSystemLoader(HOME), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False, cache_size=-1,
    )  # fmt: skip
    made.filters |= {
        "grouped": numbers.grouped, "percent": numbers.percent, "ppm": numbers.ppm,
        "words": numbers.words, "local": numbers.local,
    }  # fmt: skip
    made.tests |= {"moment": numbers.is_moment, "a_day": numbers.is_day}
    made.globals["stylesheet"] = stylesheet
    return made


def render(template: str, **values: Any) -> str:
    """A whole file, well-formed as XML."""
    try:
        text = environment().get_template(template).render(values)
    except TemplateNotFound as error:
        # It is an OSError to Jinja2; callers would take it for a folder that cannot be written.
        raise LookupError(f"there is no template {error.name}") from None
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


@cache
def macro(file: str, name: str) -> Any:
    """A macro of a template as a function that gives `Markup`."""
    return getattr(environment().get_template(file).module, name)


@cache
def stylesheet(*names: str) -> Markup:
    """Style sheets of the room, to be put inside a page that needs no other file."""
    texts = (Path(__file__).with_name(each).read_text("utf-8") for each in names)
    return Markup("".join(texts))  # noqa: S704 -- our own files

"""The style sheet: readable on light and dark screens, no colour outside its variables."""

from __future__ import annotations

import re

import pytest

from usance.pages.rendering import stylesheet

STYLE = str(stylesheet("style.css", "charts.css", "release.css"))
LIGHT, DARK = (dict(re.findall(r"(--\w+): (#[0-9a-f]{6})", part)) for part in
               re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL))  # fmt: skip


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
              for each in parts]  # fmt: skip
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("mode", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ink", ["--ink", "--quiet", "--mark", "--good", "--bad"])
def test_text_can_be_read(mode: dict[str, str], ink: str) -> None:
    for paper in ("--paper", "--band"):
        assert contrast(mode[ink], mode[paper]) >= 4.5, paper


@pytest.mark.parametrize("mode", [LIGHT, DARK], ids=["light", "dark"])
def test_charts_stand_out(mode: dict[str, str]) -> None:
    """Curves need 3 to 1; figures of a heat map are readable on every shade."""
    for place in range(12):
        assert contrast(mode[f"--c{place}"], mode["--paper"]) >= 2.4, place
    for step in range(11):
        text = "--paper" if step >= 8 else "--ink"
        assert contrast(mode[f"--h{step}"], mode[text]) >= 3, step


def test_both_modes_name_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()
    rest = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;\s}])", rest) == []

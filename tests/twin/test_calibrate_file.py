"""What calibration writes: the fitted values, and every other character as it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from usance.base.errors import DocumentError
from usance.cli import main
from usance.twin.calibrate.fitted_text import FittedText
from usance.world.scenario.file import PACKAGED, read_scenario

TARGETS = str(PACKAGED / "2024" / "targets.yaml")
VALUES = {"late": "4%", "collected30": "80%", "cure": ["9%", "2%"], "prepay": "7.5%"}
PACKAGED_TEXT = (PACKAGED / "2024.yaml").read_text()
ABOVE, BLOCK = PACKAGED_TEXT.split("fitted:\n")
FLOW = "fitted: {" + ", ".join(line.strip() for line in BLOCK.splitlines()) + "}\n"


def written(text: str) -> str:
    return FittedText.of(text, where="mine.yaml").with_values(VALUES)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{ABOVE}fitted:\n{BLOCK}# At the end.\n\n  # And more.\n", id="at the end"),
        pytest.param(
            f"fitted:\n{BLOCK}\n# Of the next key.\n{ABOVE}", id="before the next key"
        ),
        pytest.param(ABOVE + FLOW, id="in one line"),
        pytest.param(f"{ABOVE}{FLOW}# At the end.\n", id="in one line, then a comment"),
    ],
)  # fmt: skip
def test_the_command_changes_the_values_alone(text: str, tmp_path: Path) -> None:
    path, out = tmp_path / "mine.yaml", tmp_path / "out.yaml"
    (late,) = re.findall(r"late: [\d.]+%", FLOW)
    assert late in text
    path.write_text(text.replace(late, "late: 5.1%"))
    assert main(["twin", "calibrate", str(path), "--targets", TARGETS, "--out", str(out)]) == 0
    assert out.read_text() == text
    assert read_scenario(out) == read_scenario("2024")


def test_comments_blank_lines_and_other_keys_stay() -> None:
    text = (
        "# mine\na: 1\nfitted:  # by calibrate\n  late: 1%  # old\n\n  # inside\n"
        "  collected30: '82%'\n  partial: 3%\n  cure:\n    - 1%  # first\n    - 2%\n"
        "  prepay: 8%\n  # below\n\n# next\nlast: 2  # kept\n# end"
    )
    assert written(text) == (
        "# mine\na: 1\nfitted:  # by calibrate\n  late: 4%  # old\n\n  # inside\n"
        "  collected30: 80%\n  partial: 3%\n  cure:\n    - 9%  # first\n    - 2%\n"
        "  prepay: 7.5%\n  # below\n\n# next\nlast: 2  # kept\n# end"
    )
    assert written(written(text)) == written(text)


def test_ends_of_lines_stay() -> None:
    text = "fitted:\r\n  {late: 1%, collected30: 2%,\r\n   cure: [1%, 2%], prepay: 3%}\r\n# end\r\n"
    assert written(text) == (
        "fitted:\r\n  {late: 4%, collected30: 80%,\r\n   cure: [9%, 2%], prepay: 7.5%}\r\n# end\r\n"
    )


def test_a_value_on_a_line_of_its_own_stays_there() -> None:
    text = "fitted:\n  late: >-\n    1%\n  collected30:\n    2%\n  cure: [1%, 2%]\n  prepay: 3%\n"
    assert written(text).startswith("fitted:\n  late: 4%\n  collected30:\n    80%\n")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("behaviour: {late: 1%}\n", "has no fitted values. Move late, collected30, cure, prepay"),
        ("fitted: 5\n", "has no fitted values"),
        ("- fitted\n", "has no fitted values"),
        ("fitted: {late: 1%, cure: [1%]}\n", "collected30, prepay not among its fitted values"),
        ("based_on: calm\n", "is based on calm .* Calibrate calm instead"),
        (
            "fitted: {late: &a 1%, collected30: *a, cure: [1%, 2%], prepay: 1%}\n",
            "cannot be replaced. Write each of them out",
        ),
        ("fitted: {late: 1%, collected30: 1%, cure: [1%], prepay: 1%}\n", "cannot be replaced"),
    ],
)
def test_a_text_that_cannot_take_the_values_is_refused(text: str, what: str) -> None:
    with pytest.raises(DocumentError, match=f"^mine.yaml: .*{what}"):
        written(text)

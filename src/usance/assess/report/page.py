"""The model card: one page of HTML that says what a model is, how good, and how to recompute it.

It loads nothing and has no date of its own, so the same model always gives the same page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from usance.assess.report.charts import bars, calibration, lines
from usance.assess.scoring.model import Model
from usance.assess.scoring.scorecard import Variable

STYLE = Path(__file__).with_name("card.css")

_FIGURES = (
    ("auc", "AUC"), ("gini", "Gini"), ("ks", "KS"), ("brier", "Brier"),
    ("ece10", "calibration error"), ("slope", "slope"), ("log_loss", "log loss"), ("n", "rows"),
)  # fmt: skip


def model_card(model: Model) -> str:
    """The whole page."""
    sections = "\n".join(f"<section>{part}</section>" for part in _sections(model))
    name = escape(model.info["data"]["file"])
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Model card: {name}</title><style>\n{style}</style></head>\n<body><main>\n"
        f"<header><p>Model card</p><h1>{name}</h1></header>\n{sections}\n</main></body></html>\n"
    )


def _sections(model: Model) -> Iterator[str]:
    info = model.info
    yield _summary(model)
    yield "<h2>How good it is</h2>" + _figures(model)
    yield _pictures(model)
    if info["months"]:
        yield _months(info["months"])
    for name, rows in info["groups"].items():
        yield _fairness(name, rows)
    yield (
        "<h2>Scorecard</h2>"
        + _lead(model)
        + "".join(_variable(each) for each in model.scorecard.variables)
    )
    yield _inputs(model)
    yield _recipe(model)


def _summary(model: Model) -> str:
    data = model.info["data"]
    rate = data["bads"] / data["rows"]
    notes = "".join(f"<li>{escape(each)}</li>" for each in model.info["warnings"])
    tiles = [
        ("model", model.kind),
        ("training rows", f"{data['rows']:,}"),
        ("bad rate", f"{rate:.1%}"),
        ("inputs", str(len(model.columns))),
        ("AUC", f"{model.info['held_out'][model.kind]['auc']:.4f}"),
    ]
    shown = "".join(f"<div><b>{escape(text)}</b><span>{name}</span></div>" for name, text in tiles)
    warned = f"<h3>To be looked at</h3><ul class=notes>{notes}</ul>" if notes else ""
    return f"<div class=tiles>{shown}</div><p>{escape(model.info['why'])}</p>{warned}"


def _figures(model: Model) -> str:
    rows = []
    for name, each in model.info["held_out"].items():
        rows.append([name + (" (used)" if name == model.kind else ""), *_row(each)])
    if model.info["out_of_time"]:
        rows.append([f"{model.kind}, latest months", *_row(model.info["out_of_time"])])
    text = (
        "Rows were predicted by models that had not seen them. For the latest months the model "
        "was fitted on the months before."
    )
    return f"<p>{text}</p>" + _table(["", *(label for _, label in _FIGURES)], rows)


def _row(figures: dict[str, Any]) -> list[str]:
    full = {**figures, "gini": 2 * figures["auc"] - 1}
    return [
        "" if name not in full else str(full[name]) if name == "n" else f"{full[name]:.4f}"
        for name, _ in _FIGURES
    ]


def _pictures(model: Model) -> str:
    table = model.info["calibration"]
    past = model.info["reference"]["histogram"]
    labels = [str(edge) for edge in past["from"][:-1]]
    true = calibration([(row["said"], row["seen"]) for row in table])
    spread = bars(past["goods"], past["bads"], labels)
    rows = [[str(row["rows"]), f"{row['said']:.4f}", f"{row['seen']:.4f}"] for row in table]
    return (
        "<h2>Calibration and separation</h2><div class=charts>"
        f"<figure>{true}<figcaption>Stated (across) and observed (up) bad rate in ten equal parts"
        f"</figcaption></figure><figure>{spread}<figcaption>Scores of goods (green) and bads (red)"
        "</figcaption></figure></div>" + _table(["rows", "stated", "observed"], rows)
    )


def _months(months: Sequence[dict[str, Any]]) -> str:
    names = [row["month"] for row in months]
    drawn = lines(
        [
            ("stated", [row["stated"] for row in months]),
            ("seen", [row["bad_rate"] for row in months]),
        ],
        names,
    )
    rows = [
        [
            row["month"], f"{row['rows']:,}", f"{row['bad_rate']:.4f}", f"{row['stated']:.4f}",
            "" if row["auc"] is None else f"{row['auc']:.4f}", f"{row['psi']:.4f}",
        ]
        for row in months
    ]  # fmt: skip
    head = ["month", "rows", "bad rate", "stated", "AUC", "PSI"]
    caption = "Stated (green) and observed (red) bad rate"
    return (
        f"<h2>Stability by month</h2><figure>{drawn}<figcaption>{caption}</figcaption></figure>"
        + _table(head, rows)
    )


def _fairness(name: str, groups: Sequence[dict[str, Any]]) -> str:
    text = (
        "The column is not an input. Passes: share at or above the median score. Ratio: to the "
        "group that passes most; below 0.80 it calls for an explanation (the four-fifths rule)."
    )
    rows = [
        [
            row["group"], f"{row['rows']:,}", f"{row['bad_rate']:.4f}", f"{row['stated']:.4f}",
            f"{row['passes']:.1%}", f"{row['ratio']:.2f}",
            "" if row["auc"] is None else f"{row['auc']:.4f}",
        ]
        for row in groups
    ]  # fmt: skip
    head = ["group", "rows", "bad rate", "stated", "passes", "ratio", "AUC"]
    return f"<h2>Groups by {escape(name)}</h2><p>{text}</p>" + _table(head, rows)


def _lead(model: Model) -> str:
    scale = model.scale
    return (
        f"<p>Start with <b>{model.scorecard.base}</b> points and add the points of one bin of each "
        f"variable. {scale.score} points stand for {scale.odds} goods to one bad; {scale.pdo} more "
        "double the odds. A value belongs to the bin whose limits hold it, the lower limit "
        "included.</p>"
    )


def _variable(variable: Variable) -> str:
    rows = [
        [
            each.label, f"{each.rows:,}", f"{each.bads:,}",
            f"{each.bads / each.rows:.4f}" if each.rows else "", f"{each.woe:+.3f}",
            f"{each.points:+d}",
        ]
        for each in variable.bins
    ]  # fmt: skip
    head = ["bin", "rows", "bads", "bad rate", "weight of evidence", "points"]
    value = f"information value {variable.information:.3f}"
    title = f"<h3>{escape(variable.name)} <small>{value}</small></h3>"
    return f"<div class=variable>{title}{_table(head, rows)}</div>"


def _inputs(model: Model) -> str:
    gain = dict(zip(model.booster.feature_name(), _gains(model), strict=True))
    total = sum(gain.values()) or 1.0
    rows = []
    for at, column in enumerate(model.columns):
        codes = ", ".join(label for label, _ in column.specials)
        trend = {1: "risk rises", -1: "risk falls", 0: ""}[column.trend]
        share = f"{gain[f'c{at}'] / total:.1%}"
        rows.append([str(at + 1), column.name, column.kind, codes, trend, share])
    head = ["reason code", "input", "kind", "codes", "declared", "share of the trees' gain"]
    return "<h2>Inputs and reason codes</h2>" + _table(head, rows)


def _gains(model: Model) -> list[float]:
    return [float(each) for each in model.booster.feature_importance("gain")]


def _recipe(model: Model) -> str:
    start, card, trees = model.blend
    scale = model.scale
    steps = [
        "points = base points + the points of one bin of each variable",
        f"card = ({scale.offset!r} − points) / {scale.factor!r}",
        f"trees = {model.trees_intercept!r} + the sum of the leaves in trees.txt",
        {
            "scorecard": "log odds = card",
            "trees": "log odds = trees",
            "blend": f"log odds = {start!r} + {card!r} × card + {trees!r} × trees",
        }[model.kind],
    ]
    if model.kind == "blend" and model.beta:
        base, low, high = model.beta
        steps.append(
            f"log odds = {base!r} + {low!r} × ln p − {high!r} × ln(1 − p), "
            "p = 1 / (1 + e^−log odds)"
        )
    steps.append("pd = 1 / (1 + e^−log odds)")
    whole = f"{scale.offset!r} − {scale.factor!r} × log odds, rounded to a whole number"
    steps.append("score = points" if model.kind == "scorecard" else f"score = {whole}")
    told = "".join(f"<li><code>{escape(step)}</code></li>" for step in steps)
    facts = [[name, str(value)] for name, value in model.info["recipe"].items()]
    facts += [["data", str(model.info["data"].get("sha256", ""))], ["usance", model.info["usance"]]]
    return f"<h2>How to recompute a score</h2><ol>{told}</ol>" + _table(["argument", ""], facts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"

"""Model card: one page that says what a model is, how good, and how to recompute its scores.

It loads nothing and has no date of its own, so the same model always gives the same page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from usance.assess.scoring.model import Model
from usance.assess.scoring.scorecard import Variable
from usance.pages.charts import Figure, columns, lines, ticks
from usance.pages.components import text_table
from usance.pages.numbers import percent
from usance.pages.rendering import render

_FIGURES = (
    ("auc", "AUC"), ("gini", "Gini"), ("ks", "KS"), ("brier", "Brier"),
    ("ece10", "calibration error"), ("slope", "slope"), ("log_loss", "log loss"), ("n", "rows"),
)  # fmt: skip


def model_card(model: Model) -> str:
    """The whole page."""
    info = model.info
    months = info["months"]
    return render(
        "reports/model_card.html.j2", title=info["data"]["file"], model=model, info=info,
        tiles=_tiles(model), figures=_figures(model),
        calibration=[_calibration(info["calibration"]), _separation(info["reference"])],
        deciles=_deciles(info["calibration"]), months=_months(months) if months else "",
        stability=[_stability(months)] if months else [],
        groups=[(name, _fairness(rows)) for name, rows in info["groups"].items()],
        variables=[_variable(each) for each in model.scorecard.variables],
        inputs=_inputs(model), steps=_steps(model), arguments=_arguments(model),
    )  # fmt: skip


def _tiles(model: Model) -> list[tuple[str, str]]:
    data = model.info["data"]
    return [
        ("model", model.kind),
        ("training rows", f"{data['rows']:,}"),
        ("bad rate", f"{data['bads'] / data['rows']:.1%}"),
        ("inputs", str(len(model.columns))),
        ("AUC", f"{model.info['held_out'][model.kind]['auc']:.4f}"),
    ]


def _figures(model: Model) -> Markup:
    rows = []
    for name, each in model.info["held_out"].items():
        rows.append([name + (" (used)" if name == model.kind else ""), *_row(each)])
    if model.info["out_of_time"]:
        rows.append([f"{model.kind}, latest months", *_row(model.info["out_of_time"])])
    return text_table(["", *(label for _, label in _FIGURES)], rows)


def _row(figures: dict[str, Any]) -> list[str]:
    full = {**figures, "gini": 2 * figures["auc"] - 1}
    return [
        "" if name not in full else str(full[name]) if name == "n" else f"{full[name]:.4f}"
        for name, _ in _FIGURES
    ]


def _calibration(table: Sequence[dict[str, Any]]) -> Figure | None:
    """Stated against observed bad rates; a true model lies on the diagonal."""
    points = [(row["said"], row["seen"]) for row in table]
    high = max(0.01, *(max(pair) for pair in points))
    series = {"observed": points, "as stated": [(0.0, 0.0), (high, high)]}
    return lines(
        series, format_y=lambda y: percent(y, 1), format_x=lambda x: percent(x, 1), dots=True,
        marks=[each for each in ticks(0.0, high) if each <= high],
        caption="Stated (across) and observed (up) bad rate in ten equal parts",
    )  # fmt: skip


def _separation(reference: dict[str, Any]) -> Figure | None:
    """Scores of goods and bads, each as shares of its own."""
    past = reference["histogram"]
    series = {
        name: [count / max(1, sum(past[name])) for count in past[name]]
        for name in ("goods", "bads")
    }
    labels = [str(edge) for edge in past["from"][:-1]]
    return columns(labels, series, stacked=False, format_y=lambda y: percent(y, 1),
                   caption="Scores of goods and bads")  # fmt: skip


def _deciles(table: Sequence[dict[str, Any]]) -> Markup:
    rows = [[str(row["rows"]), f"{row['said']:.4f}", f"{row['seen']:.4f}"] for row in table]
    return text_table(["rows", "stated", "observed"], rows, numbers=0)


def _stability(months: Sequence[dict[str, Any]]) -> Figure | None:
    names = [row["month"] for row in months]
    series = {
        "stated": [(float(at), row["stated"]) for at, row in enumerate(months)],
        "observed": [(float(at), row["bad_rate"]) for at, row in enumerate(months)],
    }
    return lines(series, format_y=lambda y: percent(y, 1), format_x=lambda x: names[round(x)],
                 caption="Stated and observed bad rate")  # fmt: skip


def _months(months: Sequence[dict[str, Any]]) -> Markup:
    rows = [
        [
            row["month"], f"{row['rows']:,}", f"{row['bad_rate']:.4f}", f"{row['stated']:.4f}",
            "" if row["auc"] is None else f"{row['auc']:.4f}", f"{row['psi']:.4f}",
        ]
        for row in months
    ]  # fmt: skip
    return text_table(["month", "rows", "bad rate", "stated", "AUC", "PSI"], rows)


def _fairness(groups: Sequence[dict[str, Any]]) -> Markup:
    rows = [
        [
            row["group"], f"{row['rows']:,}", f"{row['bad_rate']:.4f}", f"{row['stated']:.4f}",
            f"{row['passes']:.1%}", f"{row['ratio']:.2f}",
            "" if row["auc"] is None else f"{row['auc']:.4f}",
        ]
        for row in groups
    ]  # fmt: skip
    return text_table(["group", "rows", "bad rate", "stated", "passes", "ratio", "AUC"], rows)


def _variable(variable: Variable) -> tuple[str, str, Markup]:
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
    return variable.name, value, text_table(head, rows)


def _inputs(model: Model) -> Markup:
    gains = [float(each) for each in model.booster.feature_importance("gain")]
    gain = dict(zip(model.booster.feature_name(), gains, strict=True))
    total = sum(gains) or 1.0
    rows = []
    for at, column in enumerate(model.columns):
        codes = ", ".join(label for label, _ in column.specials)
        trend = {1: "risk rises", -1: "risk falls", 0: ""}[column.trend]
        share = f"{gain[f'c{at}'] / total:.1%}"
        rows.append([str(at + 1), column.name, column.kind, codes, trend, share])
    head = ["reason code", "input", "kind", "codes", "declared", "share of the trees' gain"]
    return text_table(head, rows, numbers=[5])


def _steps(model: Model) -> list[str]:
    """The formulas of a score, one after another."""
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
    return steps


def _arguments(model: Model) -> Markup:
    facts = [[name, str(value)] for name, value in model.info["recipe"].items()]
    facts += [["data", str(model.info["data"].get("sha256", ""))], ["usance", model.info["usance"]]]
    return text_table(["argument", ""], facts, numbers=())

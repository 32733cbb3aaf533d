"""Logistic regression with a ridge and a floor under its coefficients.

>>> import numpy as np
>>> x = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0], [0.5]])
>>> intercept, slope = fit(x, np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0]), ridge=0.1)
>>> round(float(slope), 3)
0.811

Beta calibration, the last bend of the blend, is a logistic curve with two slopes.

>>> both_one = np.array([0.0, 1.0, 1.0])
>>> beta_calibrated(both_one, np.array([-2.0, 0.5])).round(6).tolist()
[-2.0, 0.5]
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import F64


def fit(features: F64, bad: F64, *, ridge: float, floor: float | None = None) -> F64:
    """The intercept and the coefficients, none of them below `floor`; `ridge` is per row."""
    from scipy.optimize import minimize

    rows, width = features.shape
    share = bad.mean()
    start = np.zeros(width + 1)
    start[0] = np.log(share / (1 - share))

    def loss(guess: F64) -> tuple[float, F64]:
        log_odds = guess[0] + features @ guess[1:]
        value = np.logaddexp(0.0, log_odds).sum() - bad @ log_odds
        residual = 1.0 / (1.0 + np.exp(-log_odds)) - bad
        slope = np.concatenate([[residual.sum()], features.T @ residual]) / rows
        slope[1:] += ridge * guess[1:]
        return value / rows + ridge / 2 * guess[1:] @ guess[1:], slope

    bounds = [(None, None), *[(floor, None)] * width]
    options = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x, np.float64)


def log_loss(bad: F64, log_odds: F64) -> F64:
    """The loss of each row."""
    losses: F64 = np.logaddexp(0.0, log_odds) - bad * log_odds
    return losses


def beta_features(log_odds: F64) -> F64:
    """Ln p and −ln(1 − p)."""
    return np.column_stack([-np.logaddexp(0.0, -log_odds), np.logaddexp(0.0, log_odds)])


def beta_calibrated(weights: F64, log_odds: F64) -> F64:
    """Calibrated log odds."""
    total: F64 = weights[0] + beta_features(log_odds) @ weights[1:]
    return total

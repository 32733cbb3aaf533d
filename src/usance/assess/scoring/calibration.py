"""A last bend of the blend: beta calibration, a logistic curve with two slopes.

>>> import numpy as np
>>> beta_calibrated(np.array([0.0, 1.0, 1.0]), np.array([-2.0, 0.5])).round(
...     6
... ).tolist()  # both slopes 1
[-2.0, 0.5]
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import F64


def beta_features(log_odds: F64) -> F64:
    """Ln p and −ln(1 − p)."""
    return np.column_stack([-np.logaddexp(0.0, -log_odds), np.logaddexp(0.0, log_odds)])


def beta_calibrated(weights: F64, log_odds: F64) -> F64:
    """Calibrated log odds."""
    total: F64 = weights[0] + beta_features(log_odds) @ weights[1:]
    return total

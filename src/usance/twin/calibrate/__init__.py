"""Calibration: a scenario's behaviour fitted to published figures."""

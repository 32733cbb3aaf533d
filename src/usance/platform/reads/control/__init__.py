"""Configuration, approvals, gauges and the latest events as they are answered."""

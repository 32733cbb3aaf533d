"""Twin: the whole life of a portfolio on columns, from a scenario to its release.

`run_scenario` runs one into a folder; `fit_scenario` fits its behaviour to published figures,
`compare_run` sets a run against them, and `run_pairs` answers what another scenario would change.
Names are imported when first used.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)

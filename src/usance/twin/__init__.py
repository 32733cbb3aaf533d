"""Twin: the whole life of a portfolio on columns, from a scenario to its release.

`run_scenario` runs one into a folder; `fit_scenario` fits its behaviour to published figures,
`compare_run` sets a run against them, and `run_pairs` answers what another scenario would change.
Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.twin.calibrate.search import fit_scenario
    from usance.twin.compare.comparison import compare_run
    from usance.twin.errors import DiskFull, LostManifest, OtherRun, RunError, WhatIfError
    from usance.twin.run.runner import Run, run_scenario
    from usance.twin.what_if.pairs import WhatIf, run_pairs

__all__ = [
    "DiskFull", "LostManifest", "OtherRun", "Run", "RunError", "WhatIf", "WhatIfError",
    "compare_run", "fit_scenario", "run_pairs", "run_scenario",
]  # fmt: skip

_MODULES = {
    "calibrate.search": ("fit_scenario",),
    "compare.comparison": ("compare_run",),
    "errors": ("DiskFull", "LostManifest", "OtherRun", "RunError", "WhatIfError"),
    "run.runner": ("Run", "run_scenario"),
    "what_if.pairs": ("WhatIf", "run_pairs"),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)

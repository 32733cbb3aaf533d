"""Public names of the room, each with its module."""

from usance.twin.calibrate.search import (
    fit_scenario as fit_scenario,
)
from usance.twin.compare.comparison import (
    compare_run as compare_run,
)
from usance.twin.errors import (
    DiskFull as DiskFull,
    LostManifest as LostManifest,
    OtherRun as OtherRun,
    RunError as RunError,
    WhatIfError as WhatIfError,
)
from usance.twin.run.runner import (
    Run as Run,
    run_scenario as run_scenario,
)
from usance.twin.what_if.pairs import (
    WhatIf as WhatIf,
    run_pairs as run_pairs,
)

__all__: list[str]

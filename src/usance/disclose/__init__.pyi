"""Public names of the room, each with its module."""

from usance.disclose.drill.drill import (
    Drill as Drill,
    DrillIndex as DrillIndex,
)
from usance.disclose.errors import (
    AddressError as AddressError,
    BrokenRelease as BrokenRelease,
    FactError as FactError,
    FilerError as FilerError,
    FormError as FormError,
    ProfileError as ProfileError,
    WrongSign as WrongSign,
)
from usance.disclose.facts import (
    Fact as Fact,
)
from usance.disclose.profile import (
    Profile as Profile,
    load_profile as load_profile,
)
from usance.disclose.fact_table_file import (
    read_facts as read_facts,
)
from usance.disclose.release.filer import (
    Filer as Filer,
    read_filer as read_filer,
)
from usance.disclose.release.publication import (
    publish as publish,
    publish_table as publish_table,
    release_of as release_of,
)
from usance.disclose.release.release import (
    Release as Release,
)
from usance.disclose.tie_out.checker import (
    Report as Report,
    check as check,
    check_facts as check_facts,
)
from usance.disclose.tie_out.rebuilder import (
    Rebuilt as Rebuilt,
    rebuild as rebuild,
    rebuild_facts as rebuild_facts,
)
from usance.disclose.ties import (
    TieKind as TieKind,
)

__all__: list[str]

"""The light modules stay light: a quick command must not pay for arrays and compilers."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"numpy", "pyarrow", "numba", "llvmlite", "yaml"}
LIGHT = ("errors", "codes", "money", "rates", "dates", "daycount", "calendars", "ids", "draws",
         "schemas", "tables", "compiled")  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_light_modules_import_nothing_heavy() -> None:
    loaded = loaded_by("; ".join(f"import usance.base.{name}" for name in LIGHT))
    assert {f"usance.base.{name}" for name in LIGHT} <= loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    ("module", "never"), [("documents", "numpy"), ("parameters", "numpy"), ("book", "numba")]
)
def test_heavier_modules_import_only_what_they_use(module: str, never: str) -> None:
    assert never not in loaded_by(f"import usance.base.{module}")


def test_kernels_load_no_compiler_of_fortran() -> None:
    """SciPy, which Numba asks for linear algebra, would load all that NumPy has a name for."""
    call = "from usance.base.draws_kernel import mix_kernel; mix_kernel(1)"
    loaded = loaded_by(call)
    assert {"scipy.linalg", "numpy.f2py"} <= loaded
    assert "numpy.f2py.crackfortran" not in loaded
    used = loaded_by(f"{call}; import numpy.f2py; numpy.f2py.get_include")
    assert "numpy.f2py.crackfortran" in used

"""What tests that run on Spark need of the machine."""

from __future__ import annotations

import shutil

import pytest

needs_java = pytest.mark.skipif(
    shutil.which("java") is None, reason="Spark needs Java: install openjdk-17-jre-headless"
)

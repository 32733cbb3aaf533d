"""A circuit breaker: after some failures in a row nobody is asked for a while, then one trial.

>>> breaker = CircuitBreaker(opens_after=2, opens_seconds=30)
>>> breaker.failed(0)
>>> breaker.lets_through(1)
True
>>> breaker.failed(1)
>>> breaker.lets_through(30), breaker.lets_through(31), breaker.lets_through(31)
(False, True, False)
>>> breaker.worked()
>>> breaker.lets_through(32)
True
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock


@dataclass
class CircuitBreaker:
    """Failures of a target so far; moments are seconds of a clock that only goes forward."""

    opens_after: int = 5
    opens_seconds: float = 60.0
    failures: int = 0
    _open_until: float = 0.0
    """Moment at which a trial may go out, once it is open."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def is_open(self, now: float) -> bool:
        """True while nobody is asked."""
        with self._lock:
            return self.failures >= self.opens_after and now < self._open_until

    def lets_through(self, now: float) -> bool:
        """True for a call that may go out; of an open one, a single trial once its time is up."""
        with self._lock:
            if self.failures < self.opens_after:
                return True
            if now < self._open_until:
                return False
            self._open_until = now + self.opens_seconds
            return True

    def worked(self) -> None:
        """Note an answer that could be read."""
        with self._lock:
            self.failures = 0

    def failed(self, now: float) -> None:
        """Note a call without one."""
        with self._lock:
            self.failures += 1
            self._open_until = now + self.opens_seconds

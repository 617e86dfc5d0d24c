"""Loads the library so that its threads sleep while they wait.

OpenMP's threads spin by default. Beside another busy process they then take the processor from the thread they wait for,
and two threads take many times the time of one. OpenMP reads its settings once, when it is loaded, so they are in the
environment just then, and not afterwards. A setting of the user's own is kept.
"""
import os

_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")

if any(name in os.environ for name in _WAITING):
    from . import _karma
else:
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        from . import _karma
    finally:
        del os.environ["OMP_WAIT_POLICY"]

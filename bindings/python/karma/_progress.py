"""Progress of long work."""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional

Callback = Callable[[str, int, int], Any]


class Progress:
    """verbose=1: a bar of tqdm if that is installed, else lines on standard error. A function of (stage, done, total) is
    called itself. The interval is in seconds, between two calls."""

    def __init__(self, verbose: Any):
        self.interval = 0.0 if callable(verbose) else 0.1
        self.callback: Optional[Callback] = verbose if callable(verbose) else self._show if verbose else None
        self._bar: Any = None
        self._line = ""
        self._make: Any = None
        if self.callback is not None and not callable(verbose):
            try:
                from tqdm.auto import tqdm

                self._make = tqdm
            except ImportError:
                pass

    def _show(self, stage: str, done: int, total: int) -> None:
        if self._make is None:
            line = f"{stage} {100 * done // total}%" if total else stage
            if line != self._line:
                print(line, file=sys.stderr, flush=True)
            self._line = line
            return
        if self._bar is None:
            self._bar = self._make(total=total or None)
        self._bar.set_description(stage, refresh=False)
        self._bar.total, self._bar.n = total or None, done
        self._bar.refresh()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()

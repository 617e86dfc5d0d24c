"""A model of the library, which can be copied, pickled and kept in files."""
from __future__ import annotations

import os
import warnings
from typing import Any, Optional, Sequence

import numpy as np

from . import _karma
from ._options import Pairs, default_effort, given
from ._progress import Progress


def warn(notices: Sequence[str]) -> None:
    """Notices of the library for the user."""
    for sentence in notices:
        warnings.warn(sentence, UserWarning, stacklevel=5)


class Model:
    """Owns the library's model. Any number of threads may predict with it at the same time."""

    def __init__(self, capsule: Any, is_interrupted: bool = False):
        self._capsule = capsule
        self.is_interrupted = is_interrupted
        self.info: dict[str, Any] = _karma.model_info(capsule)
        self.search: Optional[dict[str, Any]] = _karma.search_info(capsule)

    @classmethod
    def learn(cls, table: Any, fit: Pairs, search: Sequence[tuple[str, str]] = (), verbose: Any = 0) -> "Model":
        """Runs the search, or the fit if options of the kernel or the solver are given. Ctrl-C ends it early; then the model
        is the best so far, with a warning. Nothing to keep, or Ctrl-C twice: KeyboardInterrupt."""
        fixed = given(fit)
        with Progress(verbose) as progress:
            capsule, notices, interrupts = _karma.search(table, fit, default_effort(list(search), fixed), fixed,
                                                         progress.callback, progress.interval)
        warn(notices)
        if interrupts:
            warnings.warn("interrupted: the model is the best so far", UserWarning, stacklevel=4)
        return cls(capsule, bool(interrupts))

    @classmethod
    def load(cls, path: Any) -> "Model":
        return cls(_karma.model_load(os.fsdecode(path)))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Model":
        return cls(_karma.model_from_bytes(data))

    def save(self, path: Any) -> None:
        _karma.model_save(self._capsule, os.fsdecode(path))

    def to_bytes(self) -> bytes:
        return _karma.model_to_bytes(self._capsule)

    def __reduce__(self) -> tuple:
        return Model.from_bytes, (self.to_bytes(),)

    def scores(self, table: Any, threads: int = 0, verbose: Any = 0) -> np.ndarray:
        """scores[row, output]. Notices about ignored columns were shown in training, so they are shown only if verbose."""
        out = np.empty((_karma.table_n_rows(table), self.info["n_outputs"]))
        notices = _karma.predict(self._capsule, table, threads, out)
        if verbose:
            warn(notices)
        return out

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """The index of each row's class, in the model's order."""
        out = np.empty(len(scores))
        _karma.decide(self._capsule, np.ascontiguousarray(scores), out)
        return out.astype(np.intp)

    def numbers(self, scores: np.ndarray) -> np.ndarray:
        out = np.empty(len(scores))
        _karma.numbers(self._capsule, np.ascontiguousarray(scores), out)
        return out

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        out = np.empty((len(scores), len(self.info["classes"])))
        _karma.probabilities(self._capsule, np.ascontiguousarray(scores), out)
        return out

    def intervals(self, table: Any, scores: np.ndarray, level: Optional[float]) -> np.ndarray:
        ends = np.empty((2, len(scores)))
        _karma.intervals(self._capsule, table, scores, -1.0 if level is None else float(level), ends)
        return ends.T

    def sets(self, table: Any, scores: np.ndarray, level: Optional[float]) -> np.ndarray:
        """[row, class], in the model's order of classes."""
        found = _karma.sets(self._capsule, table, scores, -1.0 if level is None else float(level))
        return np.frombuffer(found, dtype=np.uint8).reshape(len(scores), -1).astype(bool)

    def is_certain(self, table: Any, scores: np.ndarray, is_accuracy: bool, value: float) -> np.ndarray:
        """True for rows whose confidence reaches the threshold that keeps a share of answers, or an accuracy."""
        found = np.empty(len(scores))
        threshold = _karma.confidence(self._capsule, table, scores, found, int(is_accuracy), float(value))
        return found >= threshold

    def coverage(self, table: Any, scores: np.ndarray, level: Optional[float]) -> Sequence[tuple]:
        """(least, most, n_rows, coverage, width) of all rows, then of groups by the number of observed columns."""
        return _karma.coverage(self._capsule, table, scores, -1.0 if level is None else float(level))

    def next_cells(self, table: Any, costs: np.ndarray, threads: int) -> Sequence[tuple]:
        """(row, attribute, gain, cost, gain per cost, change)"""
        return _karma.next_cells(self._capsule, table, costs, threads)

    def explain(self, table: Any, options: Pairs) -> tuple:
        """(is_split, start, attribute, contribution, error, bias); docs/explain.md"""
        is_split, *parts = _karma.explain(self._capsule, table, options)
        start, attribute = (np.frombuffer(part, dtype=np.uintp) for part in parts[:2])
        contribution, error, bias = (np.frombuffer(part).reshape(-1, self.info["n_outputs"]) for part in parts[2:])
        return bool(is_split), start, attribute, contribution, error, bias

    def importance(self, table: Any, options: Pairs) -> tuple[float, Sequence[tuple]]:
        return _karma.importance(self._capsule, table, options)

    def overlap(self, table: Any) -> Sequence[tuple]:
        return _karma.overlap(self._capsule, table)

    def complete(self, table: Any, with_errors: bool, threads: int) -> tuple:
        return _karma.complete(self._capsule, table, with_errors, threads)

"""Kernel values, and methods side by side."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from . import _karma
from ._data import Data
from ._options import COMPARE, FIT, SEARCH, split
from ._progress import Progress
from ._reports import frame


def karma_kernel(X: Any, Y: Any = None, *, absent: Optional[str] = None, **options: Any) -> np.ndarray:
    """Kernel values of the rows of X with those of Y, or of X with itself: k(X[i], Y[j]), float32.

    Everything that is learned from data (means, scales, ranks) is learned from Y, so that for a kernel machine Y is always
    the training rows. The keywords are the options of the kernel ("kernel", "gamma", ...).
    """
    [fit] = split(options, FIT)
    against = Data(X if Y is None else Y, absent=absent)
    rows = None
    if Y is not None:
        rows = Data(X, absent=absent, names=against.names, kinds=against.kinds)
        if rows.n_columns != against.n_columns:
            raise ValueError(f"X has {rows.n_columns} columns, Y has {against.n_columns}")
    out = np.empty(((rows or against).n_rows, against.n_rows), dtype=np.float32)
    _karma.gram((rows or against).table, against.table if rows else None, fit, out)
    return out


def compare(X: Any, y: Any, *, absent: Optional[str] = None, verbose: Any = 0, **options: Any) -> Any:
    """Methods for missing values side by side, by cross-validation on the same folds: a frame, the best first.

    The keywords are the options of the comparison (methods, folds, rounds, inner, time), of what is learned (loss, seed, ...)
    and of the search (effort, goal). frame.attrs has the goal and its value for a constant prediction. Ctrl-C ends it after
    the last fold that all methods were judged on.
    """
    fit_table = {key: option for key, option in FIT.items() if key not in COMPARE}
    search_table = {key: option for key, option in SEARCH.items() if key not in COMPARE}
    own, fit, search = split(options, COMPARE, fit_table, search_table)
    data, y = Data(X, absent=absent, min_rows=2), column_or_1d(y)
    check_consistent_length(y, np.empty((data.n_rows, 0)))
    task = options.get("task") or ("regress" if type_of_target(y).startswith("continuous") else "classify")
    if task == "regress":
        data.add_numbers(y)
    else:
        data.add_classes(y)
    fit = [pair for pair in fit if pair[0] != "task"] + [("task", task)]
    with Progress(verbose) as progress:
        found = _karma.compare(data.table, fit, search, own, progress.callback, progress.interval)
    columns = ["method", "mean", "error", "difference", "p_value", "adjusted_p", "is_worse", "is_transductive", "seconds",
               "failure", "values", "help"]
    table = frame(found.pop("methods"), columns=columns)
    table = table.sort_values("mean", ascending=bool(found["less_is_better"]), kind="stable", ignore_index=True)
    table.attrs.update({key: found[key] for key in ("goal", "less_is_better", "n_rows", "n_folds", "n_rounds", "n_done")})
    table.attrs["constant"] = float(np.mean(found["constant"]))
    return table

"""Reports on a fitted estimator and on rows: frames, figures, a summary for notebooks."""
from __future__ import annotations

import html
from typing import Any, Optional

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._options import EXPLAIN, split


def frame(*args: Any, **keywords: Any) -> Any:
    """A frame of pandas, which is only needed for reports."""
    import pandas

    return pandas.DataFrame(*args, **keywords)


def axes(ax: Any) -> Any:
    """The axes to draw on; matplotlib is only needed for figures."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots()[1]


class Reports:
    """Methods of fitted estimators. They do their work when they are called."""

    # --- the search -----------------------------------------------------------------------------------------------------

    @property
    def search_info_(self) -> Optional[dict]:
        """What the search tried, measured and chose; None if there was no search."""
        check_is_fitted(self, "model_")
        return self.model_.search

    @property
    def search_results_(self) -> Any:
        """The candidates of the search, the best first: kernel, C_factor, score, error, is_chosen."""
        info = self.search_info_
        columns = ["kernel", "C_factor", "score", "error", "is_chosen"]
        return frame(info["candidates"] if info else [], columns=columns)

    @property
    def gains_(self) -> Any:
        """The gain from each ingredient of kernels: the score with it minus the score without, and the standard error."""
        info = self.search_info_
        return frame(info["gains"] if info else [], columns=["ingredient", "gain", "error"])

    # --- rows -----------------------------------------------------------------------------------------------------------

    def _attribute_names(self) -> list[str]:
        return [name for name, _ in self.model_.info["attributes"]]

    def _output(self, output: int) -> tuple[int, float]:
        """The model's number of an output, and the sign that its scores have here."""
        return output, 1.0

    def explain(self, X: Any, output: int = 0, **options: Any) -> Any:
        """The parts of each row's score: one column per attribute and one for `bias`; missing cells have NaN.

        The parts of a row sum to its score before calibration: that of decision_function, unless the model has
        probabilities. output: which column of decision_function or predict_quantiles, if there are several.
        The keywords are those of the table "explain" (samples, seed, threads).
        """
        [pairs] = split(options, EXPLAIN)
        data = self._new_data(X)
        _, start, attribute, contribution, _, bias = self.model_.explain(data.table, pairs)
        column, sign = self._output(output)
        names = self._attribute_names()
        values = np.full((data.n_rows, len(names)), np.nan)
        rows = np.repeat(np.arange(data.n_rows), np.diff(start.astype(np.intp)))
        values[rows, attribute.astype(np.intp)] = sign * contribution[:, column]
        parts = frame(values, columns=names, index=getattr(X, "index", None))
        parts["bias"] = sign * bias[:, column]
        return parts

    def importance(self, X: Any, y: Any, **options: Any) -> Any:
        """How much worse accuracy or R2 gets when the observed cells of an attribute are shuffled; the largest first."""
        [pairs] = split(options, EXPLAIN)
        _, items = self.model_.importance(self._labelled_data(X, y).table, pairs)
        names = self._attribute_names()
        return frame([(names[attribute], mean, error) for attribute, mean, error in items],
                     columns=["attribute", "importance", "error"])

    def overlap(self, X: Any) -> Any:
        """How many training rows share the observed attributes of each row, with a warning level."""
        return frame(self.model_.overlap(self._new_data(X).table), columns=["observed", "sharing", "share", "level"],
                     index=getattr(X, "index", None))

    def _scored(self, data: Any) -> np.ndarray:
        return self.model_.scores(data.table, int(self.threads or 0), self.verbose)

    def is_certain(self, X: Any, *, share: Optional[float] = None, accuracy: Optional[float] = None) -> np.ndarray:
        """True for rows whose prediction is certain enough to be given: one of the two is to be stated.

        share: this share of rows like the training rows is answered. accuracy: as many rows as possible are answered, with at
        least this accuracy (classes only). The threshold is chosen on rows that were left out of learning.
        """
        check_is_fitted(self, "model_")
        if (share is None) == (accuracy is None):
            raise ValueError("is_certain needs either share or accuracy")
        data = self._new_data(X)
        return self.model_.is_certain(data.table, self._scored(data), share is None, accuracy if share is None else share)

    def coverage(self, X: Any, y: Any, level: Optional[float] = None) -> Any:
        """How well intervals or sets of this level cover y: all rows, then quarters by the number of observed columns.

        width is the mean width of the intervals, or the mean number of classes in the sets.
        """
        check_is_fitted(self, "model_")
        data = self._labelled_data(X, y)
        groups = self.model_.coverage(data.table, self._scored(data), level)
        return frame(groups, columns=["least_observed", "most_observed", "rows", "coverage", "width"],
                     index=["all", *range(1, len(groups))])

    def next_cells(self, X: Any, costs: Any = None) -> Any:
        """Which missing cells of each row are worth measuring: the first of a row promises most for its cost.

        costs: numbers above 0 by column name, 1 for the others. `row` counts from 0. gain is the expected fall of the
        uncertainty, of classes in bits, of numbers as a variance; change is the probability that the predicted class
        changes, or the mean absolute change of the number. The model needs kernel="union" or "subspace" and, for classes,
        probabilities.
        """
        check_is_fitted(self, "model_")
        names = self._attribute_names()
        costs = {} if costs is None else dict(costs)
        unknown = [name for name in costs if name not in names]
        if unknown:
            raise ValueError(f"costs: the model has no column {unknown[0]!r}")
        each = np.array([float(costs.get(name, 1.0)) for name in names])
        cells = self.model_.next_cells(self._new_data(X).table, each, int(self.threads or 0))
        found = frame(cells, columns=["row", "column", "gain", "cost", "gain_per_cost", "change"])
        found["column"] = [names[j] for j in found["column"]]
        return found

    # --- figures --------------------------------------------------------------------------------------------------------

    def plot_gains(self, ax: Any = None) -> Any:
        """The gain of each ingredient, with its standard error."""
        gains, ax = self.gains_, axes(ax)
        ax.barh(gains["ingredient"], gains["gain"], xerr=gains["error"].fillna(0.0))
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("gain in the cross-validated score")
        return ax

    def plot_importance(self, X: Any, y: Any, n: int = 20, ax: Any = None, **options: Any) -> Any:
        """The n most important attributes, with their standard errors."""
        items, ax = self.importance(X, y, **options).head(n).iloc[::-1], axes(ax)
        ax.barh(items["attribute"], items["importance"], xerr=items["error"])
        ax.set_xlabel("fall in the score when the column is shuffled")
        return ax

    def plot_calibration(self, X: Any, y: Any, n_bins: int = 10, ax: Any = None) -> Any:
        """Shares of classes_[1] in bins of its predicted probability."""
        from sklearn.calibration import calibration_curve

        if len(self.classes_) != 2:
            raise ValueError(f"a calibration curve needs two classes; the model has {len(self.classes_)}")
        ax = axes(ax)
        true, predicted = calibration_curve(np.asarray(y) == self.classes_[1], self.predict_proba(X)[:, 1], n_bins=n_bins,
                                            strategy="quantile")
        ax.plot([0, 1], [0, 1], color="gray", linewidth=0.8)
        ax.plot(predicted, true, marker="o")
        ax.set_xlabel(f"predicted probability of {self.classes_[1]}")
        ax.set_ylabel("share of rows")
        return ax

    # --- notebooks --------------------------------------------------------------------------------------------------------

    def _facts(self) -> list[tuple[str, str]]:
        """(what, value) of a fitted estimator."""
        info, search = self.model_.info, self.model_.search
        facts = [("rows", str(info["fit"]["n_rows"])), ("columns", str(self.n_features_in_)),
                 ("kernel", info["options"]["kernel"]), ("solver", info["fit"]["solver"]), ("loss", info["loss"]),
                 ("support rows", str(info["fit"]["n_support"])), ("end", info["fit"]["stop"])]
        if search:
            facts += [(f"cross-validated {search['goal']}", f"{search['score']:.4g} ± {search['error']:.2g}"),
                      ("constant prediction", f"{search['constant_score']:.4g}"),
                      ("candidates tried", str(search["n_tried"]))]
        return facts

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(what)}</th><td style='text-align:left'>"
                       f"{html.escape(value)}</td></tr>" for what, value in (self._facts() if hasattr(self, "model_") else []))
        return f"<pre>{html.escape(repr(self))}</pre>" + (f"<table>{rows}</table>" if rows else "")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def plot_missingness(X: Any, ax: Any = None) -> Any:
    """Which cells of X are missing: rows down, columns across, missing cells dark."""
    import pandas

    cells, ax = pandas.DataFrame(X).isna(), axes(ax)
    ax.imshow(cells.to_numpy(), aspect="auto", interpolation="nearest", cmap="Greys", vmin=0, vmax=1)
    ax.set_xticks(range(cells.shape[1]), [str(name) for name in cells.columns], rotation=90)
    ax.set_ylabel("row")
    return ax

"""Missing cells filled in by the hidden low-rank subspace that the rows lie in."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from . import _karma
from ._data import Data, default_names, is_frame
from ._estimators import AllowsMissing, check_columns
from ._model import Model
from ._options import FIT, pairs, with_options

OWN = ("subspace_rank", "space", "standardise", "seed", "threads")


@with_options({key: FIT[key] for key in OWN}, absent=None, verbose=0)
class SubspaceImputer(AllowsMissing, TransformerMixin, BaseEstimator):
    """Completes missing cells: a number becomes its conditional mean given the observed cells of its row, a category its most
    probable level. Rows are taken as points of a low-dimensional subspace with noise, which is learned from the incomplete
    rows themselves (factor analysis). Memory does not depend on the number of rows to fill in: there are no donors.

    Columns without one observed cell in training are left out, as scikit-learn's imputers do.

    Parameters
    ----------
    absent : 'zero', 'missing' or None
        What a cell that a sparse matrix does not store means. Required for sparse matrices.
    verbose : int or callable
        Show progress; a function is called with (stage, done, total).

    Attributes
    ----------
    rank_ : dimension of the subspace
    n_features_in_, feature_names_in_ : as in scikit-learn
    """

    if TYPE_CHECKING:

        def __init__(self, **options: Any) -> None:
            ...

    def fit(self, X: Any, y: Any = None) -> "SubspaceImputer":
        """Learns the subspace from the rows of X; y is ignored."""
        check_columns(self, X, reset=True)
        data = Data(X, absent=self.absent, names=getattr(self, "feature_names_in_", None), min_rows=2, estimator=self)
        self.n_features_in_ = data.n_columns
        self._kinds = data.kinds
        if data.names is not None:
            self.feature_names_in_ = np.asarray(data.names, dtype=object)
        # The subspace of this kernel is learned from the cells alone. The library only learns models with a label, so the
        # label here is a dummy, and one pass over the rows is enough.
        data.add_numbers(np.arange(data.n_rows) % 2)
        options = pairs(FIT, {**{key: getattr(self, key) for key in OWN}, "task": "regress", "kernel": "subspace", "passes": 1,
                              "solver": "online", "subspace_noise": "column"})
        self.model_ = Model.learn(data.table, options, [], self.verbose)
        self._names = [name for name, _ in self.model_.info["attributes"]]
        self.rank_ = _karma.complete(self.model_._capsule, data.table, False, int(self.threads or 0))[3]
        return self

    def _complete(self, X: Any, with_errors: bool) -> tuple:
        check_is_fitted(self, "model_")
        check_columns(self, X, reset=False)
        data = Data(X, absent=self.absent, names=getattr(self, "feature_names_in_", None), kinds=self._kinds, estimator=self)
        if data.n_columns != self.n_features_in_:
            raise ValueError(f"X has {data.n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                             "features as input.")
        return self.model_.complete(data.table, with_errors, int(self.threads or 0))

    @staticmethod
    def _cells(table: Any) -> tuple[np.ndarray, list]:
        columns = _karma.table_columns(table)
        out = np.empty((_karma.table_n_rows(table), len(columns)))
        _karma.table_cells(table, out)
        return out, columns

    def transform(self, X: Any) -> Any:
        """X without missing cells: an array of floats; a frame where X is a frame with categories."""
        cells, columns = self._cells(self._complete(X, False)[0])
        if not any(is_category for _, is_category, _ in columns):
            return cells
        values = [np.asarray(levels, dtype=object)[cells[:, j].astype(np.intp)] if is_category else cells[:, j]
                  for j, (_, is_category, levels) in enumerate(columns)]
        if is_frame(X):
            import pandas

            return pandas.DataFrame(dict(zip(self._names, values)), index=X.index)
        return np.column_stack([value.astype(object) for value in values])

    def standard_errors(self, X: Any) -> np.ndarray:
        """The standard error of each cell that transform gives: 0 for observed cells; of a completed category, 1 minus the
        share of its level."""
        return self._cells(self._complete(X, True)[1])[0]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that transform gives: those of X."""
        check_is_fitted(self, "model_")
        given = _check_feature_names_in(self, input_features)
        own = list(getattr(self, "feature_names_in_", default_names(self.n_features_in_)))
        called = dict(zip(own, given))
        return np.asarray([called.get(name, name) for name in self._names], dtype=object)

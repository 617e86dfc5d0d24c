"""The classifier and the regressor."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from ._data import DATE, DATE_PARTS, Data, default_names, is_arrow, is_frame, missing_cells
from ._model import Model
from ._options import FIT, SEARCH, class_text, default_effort, given, pairs, with_options
from ._reports import Reports

LEAST_PROBABILITY = 1e-15  # in decision_function

# Why scikit-learn's checks of row weights do not apply unchanged.
ROW_ORDER = ("The check compares scores after the rows were put in another order. Solvers stop at a relative duality gap of "
             "1e-3 (option tolerance), so that another order gives scores that differ by about that.")


def classes_of(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels as an array, and the distinct labels in order. Anything that is not a set of classes is refused."""
    if not isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype):  # pandas' own types
        y = np.array(y.tolist())
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O" and missing_cells(y).any():
        raise ValueError("Input y contains missing values; leave these rows out.")
    check_classification_targets(y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity.")
    classes = np.unique(y)
    if "" in classes.tolist():
        raise ValueError("Input y contains an empty text, which is a missing label; give this class a name.")
    if len(classes) < 2:
        raise ValueError(f"Only one class in y ({classes[0]!r}): a classifier needs at least two.")
    return y, classes


def check_columns(estimator: Any, X: Any, reset: bool) -> None:
    """Names and number of columns, as scikit-learn checks them. Arrow data are checked when the table is made."""
    if is_arrow(X):
        return
    if hasattr(estimator, "_check_feature_names"):
        estimator._check_feature_names(X, reset=reset)
    else:
        from sklearn.utils import validation  # scikit-learn 1.6 and later

        validation._check_feature_names(estimator, X, reset=reset)


class AllowsMissing:
    """Tells scikit-learn that missing cells are allowed. It comes before BaseEstimator among the base classes."""

    def _more_tags(self) -> dict:
        return {"allow_nan": True}

    def __sklearn_tags__(self) -> Any:  # scikit-learn 1.6 and later
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags


class KarmaEstimator(AllowsMissing, Reports, BaseEstimator):
    """The parts that the classifier and the regressor share: table, model, files."""

    _task = ""
    _is_loaded = False

    if TYPE_CHECKING:

        def __init__(self, **options: Any) -> None:
            ...

    # --- data ---------------------------------------------------------------------------------------------------------

    def _learning_data(self, X: Any) -> Data:
        check_columns(self, X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        data = Data(X, absent=self.absent, names=names, min_rows=2, estimator=self)
        self._remember(data)
        return data

    def _remember(self, data: Data) -> None:
        self.n_features_in_ = data.n_columns
        self._kinds = data.kinds
        if data.names is not None:
            self.feature_names_in_ = np.asarray(data.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _new_data(self, X: Any) -> Data:
        """A table of new rows, for the model."""
        check_is_fitted(self, "model_")
        if not (self._is_loaded and is_frame(X)):
            check_columns(self, X, reset=False)
        if self._is_loaded and is_frame(X):
            return self._data_by_name(X)
        names = getattr(self, "feature_names_in_", None)
        width = getattr(X, "shape", (0, self.n_features_in_))
        if len(width) == 2 and width[1] != self.n_features_in_:
            raise ValueError(f"X has {width[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                             "features as input.")
        data = Data(X, absent=self.absent, names=names, kinds=self._kinds, estimator=self)
        if data.n_columns != self.n_features_in_:
            raise ValueError(f"X has {data.n_columns} features, but {type(self).__name__} is expecting "
                             f"{self.n_features_in_} features as input.")
        return data

    def _data_by_name(self, X: Any) -> Data:
        """The columns of a frame that a model from a file uses; the frame may have others. A model knows a column of dates by
        the names of its parts."""
        kinds: dict[str, Any] = {}
        for name, is_category in self.model_.info["attributes"]:
            stem, _, part = name.rpartition(".")
            if name not in X.columns and stem in X.columns and part in DATE_PARTS:
                kinds[stem] = DATE
            elif name in X.columns:
                kinds[name] = self._kind(self.model_, name, is_category)
            else:
                raise ValueError(f"the model was learned from a column '{name}', which X does not have")
        names = list(kinds)
        return Data(X[names], absent=self.absent, names=names, kinds=list(kinds.values()), estimator=self)

    @staticmethod
    def _kind(model: Model, name: str, is_category: int) -> Any:
        order = model.info["orders"].get(name)
        return tuple(order) if order else bool(is_category)

    def _labelled_data(self, X: Any, y: Any) -> Data:
        data = self._new_data(X)
        check_consistent_length(y, np.empty((data.n_rows, 0)))
        self._add_labels(data, np.asarray(y))
        return data

    def _options(self) -> tuple[list, list]:
        values = {**self.get_params(deep=False), "task": self._task}
        return pairs(FIT, values), pairs(SEARCH, values)

    # --- learning -----------------------------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> "KarmaEstimator":
        if np.ma.is_masked(y):
            raise ValueError("Input y contains missing values; leave these rows out.")
        if sample_weight is not None:
            X, y, sample_weight = self._weighted_rows(X, y, sample_weight)
        data = self._learning_data(X)
        y = self._check_labels(y)
        check_consistent_length(y, np.empty((data.n_rows, 0)))
        self._add_labels(data, y)
        if sample_weight is not None:
            data.set_weights(sample_weight)
        fit, search = self._options()
        self.model_ = Model.learn(data.table, fit, search, self.verbose)
        if self.model_.info["fit"]["rounds"]:
            self.n_iter_ = max(1, -(-self.model_.info["fit"]["rounds"] // self.model_.info["fit"]["n_rows"]))
        return self

    def _weighted_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple:
        """Rows of weight 0 are left out; equal weights count as none, unless they may be those of rows in parts."""
        from sklearn.utils import _safe_indexing, check_array

        if is_arrow(X):  # the library counts the rows and leaves those of weight 0 without influence
            return X, y, np.ascontiguousarray(sample_weight, dtype=np.float64)
        if not hasattr(X, "shape"):
            X = check_array(X, dtype=None, force_all_finite=False)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, only_non_negative=True)
        keep = np.flatnonzero(weights > 0)
        if len(keep) < len(weights):
            X, y, weights = _safe_indexing(X, keep), _safe_indexing(np.asarray(y), keep), weights[keep]
        is_needed = len(weights) and (np.ptp(weights) > 0 or weights[0] < 1)
        return X, y, (np.ascontiguousarray(weights) if is_needed else None)

    def _scores(self, X: Any) -> np.ndarray:
        return self.model_.scores(self._new_data(X).table, int(self.threads or 0), self.verbose)

    # --- files ----------------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Writes the model file that the tool `karma` reads."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def _adopt(self, model: Model) -> "KarmaEstimator":
        """Becomes the estimator of a model from a file."""
        self.model_, self._is_loaded = model, True
        kinds = {name: self._kind(model, name, is_category) for name, is_category in model.info["attributes"]}
        places = default_names(model.info["fit"]["n_columns"])
        if set(kinds) <= set(places):  # learned from an array; columns that were never observed are not in the model
            self._kinds = [kinds.get(name) for name in places]
        else:
            self._kinds = list(kinds.values())
            self.feature_names_in_ = np.asarray(list(kinds), dtype=object)
        self.n_features_in_ = len(self._kinds)
        return self

    def _more_tags(self) -> dict:
        return {**super()._more_tags(), "_xfail_checks": {"check_sample_weights_invariance": ROW_ORDER}}


def _has_probabilities(estimator: Any) -> bool:
    """Whether a fitted model has calibrated probabilities; before fitting, whether the options ask for them."""
    if hasattr(estimator, "model_"):
        has = bool(estimator.model_.info["has_probabilities"])
    elif estimator.probabilities in (None, "auto"):
        has = _keeps_left_out(estimator) and estimator.certainty != "on" or estimator.sets is not None
    else:
        has = estimator.probabilities != "off"
    if not has:
        raise AttributeError("predict_proba needs a search, or probabilities='sigmoid' or 'isotonic', when the model is learned")
    return True


def _keeps_left_out(estimator: Any) -> bool:
    """Whether the options make the model keep results of left-out rows."""
    if estimator.certainty in ("on", "off"):
        return estimator.certainty == "on"
    fit, search = estimator._options()
    return ("effort", "off") not in default_effort(search, given(fit))


def _has_level(option: str) -> Any:
    """Whether there are intervals or sets: in the fitted model; before fitting, whether the options ask for them."""

    def check(estimator: Any) -> bool:
        if hasattr(estimator, "model_"):
            has = estimator.model_.info["n_left_out"] > 0
        else:
            has = getattr(estimator, option) is not None or _keeps_left_out(estimator)
        if not has:
            raise AttributeError(f"predict_{option} needs a search, {option}=0.9 or certainty='on' when the model is learned")
        return True

    return check


def _has_quantiles(estimator: Any) -> bool:
    if not (estimator.loss == "pinball" or estimator.quantile is not None or
            (hasattr(estimator, "model_") and estimator.model_.info["quantiles"])):
        raise AttributeError("predict_quantiles needs quantile=[...] when the model is learned")
    return True


@with_options(FIT, SEARCH, leave_out=["task", "tube", "huber", "quantile", "intervals"], absent=None, verbose=0)
class KarmaClassifier(ClassifierMixin, KarmaEstimator):
    """A classifier for tables with missing cells, which are never filled in.

    Without options, kernels and settings are chosen by cross-validation on the training rows, as `karma train` does.
    Options of the kernel or the solver say what to learn; then there is no search, unless `effort` is given.

    Parameters
    ----------
    absent : 'zero', 'missing' or None
        What a cell that a sparse matrix does not store means. Required for sparse matrices.
    verbose : int or callable
        Show progress; a function is called with (stage, done, total).

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    model_ : the library's model
    search_results_ : frame of the candidates that the search tried, the best first
    """

    _task = "classify"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KarmaClassifier":
        """Learns from rows X and their classes y. Ctrl-C ends the search early and keeps the best model so far."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        self._learn(X, y, sample_weight)
        self._match_classes()
        return self

    def _check_labels(self, y: Any) -> np.ndarray:
        y, self.classes_ = classes_of(y)
        return y

    def _add_labels(self, data: Data, y: np.ndarray) -> None:
        data.add_classes(y)

    def _match_classes(self) -> None:
        """The model's number of each of the classes."""
        place = {text: k for k, (text, _) in enumerate(self.model_.info["classes"])}
        self._order = np.array([place[class_text(label)] for label in self.classes_.tolist()])
        self._labels = np.empty_like(self._order)
        self._labels[self._order] = np.arange(len(self._order))

    def _output(self, output: int) -> tuple[int, float]:
        if len(self.classes_) == 2:
            return 0, 1.0 if self._order[0] == 0 else -1.0
        return int(self._order[output]), 1.0

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        check_is_fitted(self, "model_")
        return self.classes_[self._labels[self.model_.decide(self._scores(X))]]

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: one per row for two classes, positive for classes_[1]; else one per class.

        With calibrated probabilities these are log-odds (two classes) or log-probabilities, so that they agree with predict;
        they are finite, since a probability of 0 counts as 1e-15.
        """
        check_is_fitted(self, "model_")
        if self.model_.info["has_probabilities"]:
            logs = np.log(np.maximum(self.predict_proba(X), LEAST_PROBABILITY))
            return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return scores[:, 0] if self._order[0] == 0 else -scores[:, 0]
        return scores[:, self._order]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities of classes_, with the option probabilities='sigmoid' or 'isotonic'."""
        check_is_fitted(self, "model_")
        return self.model_.probabilities(self._scores(X))[:, self._order]

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of predict_proba; minus infinity for a probability of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_has_level("sets"))
    def predict_sets(self, X: Any, level: Optional[float] = None) -> np.ndarray:
        """Classes that are possible: one row per row of X, one column for each of classes_, True if it is in the set.

        The class of a new row is in its set with a probability of at least `level` (None: the option sets, or 0.9). Sets are
        never empty.
        """
        check_is_fitted(self, "model_")
        data = self._new_data(X)
        return self.model_.sets(data.table, self._scored(data), level)[:, self._order]

    def _adopt(self, model: Model) -> "KarmaClassifier":
        super()._adopt(model)
        texts = [text for text, _ in model.info["classes"]]
        try:
            labels = np.array([float(text) for text in texts])
            if (labels == np.round(labels)).all():
                labels = labels.astype(np.int64)
            if [class_text(label) for label in labels.tolist()] != texts:
                raise ValueError
        except ValueError:
            labels = np.array(texts)
        self.classes_ = np.unique(labels)
        self._match_classes()
        return self


@with_options(FIT, SEARCH, leave_out=["task", "class_weight", "probabilities", "sets"], absent=None, verbose=0)
class KarmaRegressor(RegressorMixin, KarmaEstimator):
    """A regressor for tables with missing cells, which are never filled in.

    Without options, kernels and settings are chosen by cross-validation on the training rows, as `karma train` does.
    Options of the kernel or the solver say what to learn; then there is no search, unless `effort` is given.

    Parameters
    ----------
    absent : 'zero', 'missing' or None
        What a cell that a sparse matrix does not store means. Required for sparse matrices.
    verbose : int or callable
        Show progress; a function is called with (stage, done, total).

    Attributes
    ----------
    n_features_in_, feature_names_in_ : as in scikit-learn
    quantiles_ : those that predict_quantiles gives
    model_ : the library's model
    search_results_ : frame of the candidates that the search tried, the best first
    """

    _task = "regress"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KarmaRegressor":
        """Learns from rows X and their numbers y. Ctrl-C ends the search early and keeps the best model so far."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        self._learn(X, y, sample_weight)
        self.quantiles_ = np.array(self.model_.info["quantiles"])
        return self

    def _check_labels(self, y: Any) -> np.ndarray:
        y = column_or_1d(y, warn=True).astype(np.float64)
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        return y

    def _add_labels(self, data: Data, y: np.ndarray) -> None:
        data.add_numbers(y)

    def predict(self, X: Any) -> np.ndarray:
        """The number of each row; with quantiles, the one nearest to the median."""
        check_is_fitted(self, "model_")
        return self.model_.numbers(self._scores(X))

    @available_if(_has_quantiles)
    def predict_quantiles(self, X: Any) -> np.ndarray:
        """One column for each of quantiles_."""
        check_is_fitted(self, "model_")
        return self._scores(X)

    @available_if(_has_level("intervals"))
    def predict_intervals(self, X: Any, level: Optional[float] = None) -> np.ndarray:
        """Two columns: the ends of an interval in which the number of a new row lies with a probability of at least `level`.

        level None: the option intervals, the share between the outer quantiles, or 0.9. Ends are infinite where the rows
        that were left out of learning are too few for the level.
        """
        check_is_fitted(self, "model_")
        data = self._new_data(X)
        return self.model_.intervals(data.table, self._scored(data), level)

    def _adopt(self, model: Model) -> "KarmaRegressor":
        super()._adopt(model)
        self.quantiles_ = np.array(model.info["quantiles"])
        return self


def save(estimator: KarmaEstimator, path: Any) -> None:
    """Writes the model of a fitted estimator to a file, which the tool `karma` and load() read."""
    estimator.save(path)


def load(path: Any) -> KarmaEstimator:
    """The estimator of a model file, written by save() or by the tool. A frame's columns are found by their names."""
    model = Model.load(path)
    if model.info["n_targets"] != 1:
        raise ValueError(f"{os.fspath(path)}: the model has {model.info['n_targets']} targets; estimators have one")
    if model.info["is_precomputed"]:
        raise ValueError(f"{os.fspath(path)}: the model's kernel is precomputed; it has no columns")
    estimator = KarmaClassifier() if model.info["task"] == "classify" else KarmaRegressor()
    return estimator._adopt(model)

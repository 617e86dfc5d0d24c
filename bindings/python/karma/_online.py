"""Algorithm 1 of the paper, row by row.

With steps η_t = C/t the iterate before round t is v_t = (C/(t-1)) Σ_{i<t} g_i φ(x_i), g_i = y_i where the hinge loss
max(0, 1 - y_i v_i·φ(x_i)) of round i was positive and 0 elsewhere. So a row that was answered with a margin leaves no trace,
and the coefficient of a kept row in the mean of v_1, ..., v_T is C g_i (H(T-1) - H(i-1)) / T, H(n) = 1 + 1/2 + ... + 1/n.
"""
from __future__ import annotations

from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from ._estimators import AllowsMissing, KarmaClassifier, check_columns, classes_of
from ._kernel import karma_kernel
from ._reports import frame

BLOCK = 1000  # rows whose kernel values are held at once
DEFAULT_STRENGTH = 1000.0  # the default C in units of 1 / k(x, x)


class OnlineKarma(AllowsMissing, ClassifierMixin, BaseEstimator):
    """A classifier that learns from a stream, row by row (Algorithm 1 of the paper), and keeps account of its losses.

    Each row is predicted before it is learned from. Rows are numbers with missing cells and are taken as they are, so scale
    them beforehand if their units differ. Memory and time per row grow with the number of rows that were not predicted with
    a margin. Several classes are learned one against the rest.

    Parameters
    ----------
    gamma : int
        Longest index sequence of the embedding; 1 is 0-imputation.
    C : float or None
        Step sizes are C/t. None: 1000 / mean of k(x, x) in the first batch.
    scale : float or None
        Overlap that weighs 1 for every sequence length. None: the mean number of observed cells in the first batch.
    bias : float
        Value of an attribute that is always observed.
    average : bool
        Predict with the mean of all iterates; else with the last one.
    threads : int or None
        None: as many as there are processors.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    rounds_ : rows seen
    C_, scale_ : as used
    account_ : frame with one row per call of partial_fit
    """

    def __init__(self, *, gamma: int = 2, C: Optional[float] = None, scale: Optional[float] = None, bias: float = 1.0,
                 average: bool = True, threads: Optional[int] = None):
        self.gamma = gamma
        self.C = C
        self.scale = scale
        self.bias = bias
        self.average = average
        self.threads = threads

    def _kernel(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return karma_kernel(X, Y, kernel="linear", gamma=self.gamma, scale=self.scale_, bias=self.bias, standardise=False,
                            threads=self.threads).astype(np.float64)

    def _check(self, X: Any, reset: bool) -> np.ndarray:
        check_columns(self, X, reset=reset)
        X = check_array(X, dtype=np.float64, force_all_finite="allow-nan", estimator=self)
        if reset:
            self.n_features_in_ = X.shape[1]
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                             "features as input.")
        return X

    def _start(self, X: np.ndarray, classes: np.ndarray) -> None:
        self.classes_ = classes
        n_outputs = 1 if len(classes) == 2 else len(classes)
        self.scale_ = float(self.scale) if self.scale is not None else max(1.0, float((~np.isnan(X)).sum(axis=1).mean()))
        self.rounds_, self._loss, self._mistakes = 0, 0.0, 0
        self._counts = np.zeros(len(classes))
        self._rows = np.empty((0, X.shape[1]))
        self._signs = np.empty((0, n_outputs))  # g of the kept rows
        self._times = np.empty(0)  # their rounds
        self._lines: list[tuple] = []
        if self.C is not None:
            self.C_ = float(self.C)
        else:
            first = X[:BLOCK]
            self.C_ = DEFAULT_STRENGTH / max(float(np.diag(self._kernel(first, first)).mean()), 1e-12)

    def fit(self, X: Any, y: Any) -> "OnlineKarma":
        """One pass over the rows, from the beginning."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        X = self._check(X, reset=True)
        y, classes = classes_of(y)
        check_consistent_length(X, y)
        self._start(X, classes)
        return self._learn(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "OnlineKarma":
        """Goes on with these rows. classes: all there will ever be, in the first call."""
        is_first = not hasattr(self, "rounds_")
        X = self._check(X, reset=is_first)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        check_consistent_length(X, y)
        if is_first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._start(X, np.unique(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} is not what the first call to partial_fit had: {self.classes_!r}")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the class {unknown[0]!r}, which is not among those of the first call")
        return self._learn(X, y)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """±1, one column per output."""
        place = np.searchsorted(self.classes_, y)
        if len(self.classes_) == 2:
            return np.where(place == 1, 1.0, -1.0)[:, None]
        return np.where(place[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)

    def _learn(self, X: np.ndarray, y: np.ndarray) -> "OnlineKarma":
        for first in range(0, len(X), BLOCK):
            self._learn_block(X[first:first + BLOCK], y[first:first + BLOCK])
        share = self._counts.max() / self._counts.sum() if self.rounds_ else np.nan
        self._lines.append((self.rounds_, self._loss, self._loss / max(self.rounds_, 1), self._mistakes,
                            self._mistakes / max(self.rounds_, 1), 1.0 - share, len(self._rows)))
        return self

    def _learn_block(self, X: np.ndarray, y: np.ndarray) -> None:
        targets, place = self._targets(y), np.searchsorted(self.classes_, y)
        before = self._kernel(X, self._rows) @ self._signs if len(self._rows) else np.zeros(targets.shape)
        own, signs = self._kernel(X, X), np.zeros(targets.shape)
        for i in range(len(X)):
            scores = self.C_ / self.rounds_ * (before[i] + own[i, :i] @ signs[:i]) if self.rounds_ else np.zeros(len(targets[0]))
            losses = np.maximum(0.0, 1.0 - targets[i] * scores)
            signs[i] = np.where(losses > 0, targets[i], 0.0)
            self._loss += losses.sum()
            self._mistakes += int(self._decide(scores[None])[0] != place[i])
            self._counts[place[i]] += 1
            self.rounds_ += 1
        kept = (signs != 0).any(axis=1)
        self._rows = np.vstack([self._rows, X[kept]])
        self._signs = np.vstack([self._signs, signs[kept]])
        self._times = np.concatenate([self._times, self.rounds_ - len(X) + 1.0 + np.flatnonzero(kept)])

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def _coefficients(self) -> np.ndarray:
        if not self.average:
            return self.C_ / self.rounds_ * self._signs
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, self.rounds_ + 1))])
        times = self._times.astype(np.intp)
        return self.C_ / self.rounds_ * (harmonic[self.rounds_ - 1] - harmonic[times - 1])[:, None] * self._signs

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "rounds_")
        X = self._check(X, reset=False)
        coefficients = self._coefficients()
        if not len(self._rows):
            return np.zeros((len(X), coefficients.shape[1]))
        return np.vstack([self._kernel(X[first:first + BLOCK], self._rows) @ coefficients for first in range(0, len(X), BLOCK)])

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: one per row for two classes, positive for classes_[1]; else one per class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        places = self._decide(self._scores(X))
        return self.classes_[places]

    @property
    def account_(self) -> Any:
        """After each call: rounds, cumulative hinge loss, its mean, mistakes and their rate before each update, the error rate
        of always giving the commonest class so far, and the rows kept."""
        check_is_fitted(self, "rounds_")
        return frame(self._lines, columns=["rounds", "loss", "mean_loss", "mistakes", "error_rate", "majority_error", "n_kept"])

    def regret(self, X: Any, y: Any) -> dict[str, float]:
        """The learner's cumulative hinge loss beside that of the best machine in hindsight.

        X, y: the whole stream so far. The best machine minimises |v|²/2 + (C/T) Σ losses over all T rows, with the kernel and
        the C of the stream; the batch solver finds it.
        """
        X, y = self._check(X, reset=False), column_or_1d(y)
        check_is_fitted(self, "rounds_")
        if len(X) != self.rounds_:
            raise ValueError(f"the stream had {self.rounds_} rows, X has {len(X)}")
        best = KarmaClassifier(kernel="linear", gamma=self.gamma, scale=self.scale_, bias=self.bias, standardise=False,
                               C=self.C_, loss="hinge", solver="batch", threads=self.threads).fit(X, y)
        scores = best.decision_function(X).reshape(len(X), -1)
        loss = float(np.maximum(0.0, 1.0 - self._targets(y) * scores).sum())
        return {"rounds": float(self.rounds_), "learner": self._loss, "best": loss, "regret": self._loss - loss,
                "regret_per_round": (self._loss - loss) / self.rounds_}

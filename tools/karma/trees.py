"""Gradient-boosted trees of scikit-learn or xgboost for `karma compare --with-trees`.

The tool starts it as `python -c SCRIPT probe` to learn which libraries there are, and as `python -c SCRIPT LIBRARY` to
learn. Then requests come on standard input and answers go to standard output: a line of JSON, followed by doubles in the
machine's order. A request has training rows, labels, weights, the inner fold of each training row, and test rows; NaN is
missing, categories are numbers from 0. The answer has the scores of the test rows in karma's meaning: numbers, quantiles,
the log-odds of the second of two classes, or of every class of more.
"""
import itertools
import json
import os
import signal
import sys
import time
import warnings

import numpy as np

MOST_LEVELS = 255  # that scikit-learn takes as a category
LEAST = 1e-12      # probability
GRIDS = {"sklearn": {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]},
         "xgboost": {"learning_rate": [0.05, 0.15], "max_depth": [2, 4, 6]}}


def versions():
    found = {}
    for name in ("sklearn", "xgboost"):
        try:
            found[name] = __import__(name).__version__
        except Exception:  # absent or broken
            pass
    return found


# --- learners ---

def make_sklearn(task, settings, quantile, categories):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    common = dict(settings, random_state=task["seed"] % 2**32, categorical_features=categories)
    if task["classes"]:
        return HistGradientBoostingClassifier(early_stopping=False, **common)
    if quantile is not None:
        return HistGradientBoostingRegressor(loss="quantile", quantile=quantile, **common)
    loss = "absolute_error" if task["goal"] == "mae" else "squared_error"
    return HistGradientBoostingRegressor(loss=loss, **common)


def make_xgboost(task, settings, quantile, _):
    import xgboost
    common = dict(settings, n_estimators=150, random_state=task["seed"] % 2**31, n_jobs=task["threads"] or None, verbosity=0)
    if task["classes"]:
        return xgboost.XGBClassifier(**common)
    if quantile is None:
        return xgboost.XGBRegressor(**common)
    if int(xgboost.__version__.split(".")[0]) < 2:
        raise RuntimeError(f"xgboost {xgboost.__version__} has no quantiles; version 2 has")
    return xgboost.XGBRegressor(objective="reg:quantileerror", quantile_alpha=quantile, **common)


class Fitted:
    """Learned with one setting: a model, or one for each quantile; classes that the rows lack are improbable."""

    def __init__(self, library, task, settings, X, y, weights):
        self.task = task
        self.columns = np.flatnonzero(~np.all(np.isnan(X), axis=0))
        self.models, self.present = [], None
        make = make_sklearn if library == "sklearn" else make_xgboost
        levels = np.array(task["levels"], dtype=int)[self.columns]
        categories = (levels > 0) & (levels <= MOST_LEVELS)
        if task["classes"]:
            self.present, y = np.unique(y.astype(int), return_inverse=True)
            if len(self.present) == 1 or len(self.columns) == 0:
                self.share = np.bincount(self.present[y], weights=weights, minlength=task["classes"])
                return
        elif len(self.columns) == 0:
            self.share = [float(np.quantile(y, q)) for q in task["quantiles"]] or [float(np.average(y, weights=weights))]
            return
        for quantile in task["quantiles"] or [None]:
            model = make(task, settings, quantile, categories if categories.any() else None)
            self.models.append(model.fit(X[:, self.columns], y, sample_weight=weights))

    def predict(self, X):
        """Probabilities of all classes, or one column per quantile or number."""
        X, n = X[:, self.columns], len(X)
        if not self.task["classes"]:
            if not self.models:
                return np.tile(np.array(self.share, dtype=float), (n, 1))
            return np.sort(np.column_stack([model.predict(X) for model in self.models]).astype(float), axis=1)
        if not self.models:
            return np.tile(self.share / self.share.sum(), (n, 1))
        p = np.zeros((n, self.task["classes"]))
        p[:, self.present] = self.models[0].predict_proba(X)
        return p


# --- choosing ---

def goodness(goal, task, y, answer, weights):
    """The goal of answers to rows that were left out, more is better."""
    if goal == "pinball":
        q = np.array(task["quantiles"] or [0.5])
        gap = y[:, None] - answer
        return -np.average(np.maximum(q * gap, (q - 1) * gap).mean(axis=1), weights=weights)
    if not task["classes"]:
        gap = y - answer[:, 0]
        return -np.average(np.abs(gap) if goal == "mae" else gap**2, weights=weights)
    y, guess = y.astype(int), answer.argmax(axis=1)
    if goal == "log-loss":
        return np.average(np.log(np.maximum(answer[np.arange(len(y)), y], LEAST)), weights=weights)
    if goal == "auc":
        areas = [area(answer[:, k], y == k, weights) for k in np.unique(y)]
        return float(np.mean(areas))
    if goal == "accuracy":
        return np.average(guess == y, weights=weights)
    shares = []
    for k in np.unique(y):
        hit = weights[(y == k) & (guess == k)].sum()
        recall = hit / max(weights[y == k].sum(), LEAST)
        precision = hit / max(weights[guess == k].sum(), LEAST)
        shares.append(recall if goal == "balanced-accuracy" else 2 * recall * precision / max(recall + precision, LEAST))
    return float(np.mean(shares))


def area(scores, positive, weights):
    """The chance that a positive row has the higher score, ties counted half."""
    up, down = weights[positive].sum(), weights[~positive].sum()
    if not up * down:
        return 0.5
    order = np.argsort(scores, kind="stable")
    values, start = np.unique(scores[order], return_index=True)
    ups = np.add.reduceat((weights * positive)[order], start)
    downs = np.add.reduceat((weights * ~positive)[order], start)
    below = np.cumsum(downs) - downs
    return float((ups * (below + downs / 2)).sum() / (up * down))


def choose(library, task, X, y, weights, inner):
    """The settings of the grid with the best mean over the inner folds, the first of equals."""
    grid = GRIDS[library]
    best, found = -np.inf, None
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values))
        scores = []
        for fold in range(task["inner"]):
            out = inner == fold
            if not out.any() or out.all():
                continue
            model = Fitted(library, task, settings, X[~out], y[~out], weights[~out])
            scores.append(goodness(task["goal"], task, y[out], model.predict(X[out]), weights[out]))
        if found is None or np.mean(scores) > best + 1e-12:
            best, found = np.mean(scores), settings
    return found


def scores_of(task, answer):
    if not task["classes"]:
        return answer
    p = np.clip(answer, LEAST, 1 - LEAST)
    odds = np.log(p) - np.log1p(-p)
    return odds[:, 1:] if task["classes"] == 2 else odds


def learn(library, task, X, y, weights, inner, test):
    began = time.perf_counter()
    settings = choose(library, task, X, y, weights, inner)
    tuned = time.perf_counter()
    model = Fitted(library, task, settings, X, y, weights)
    fitted = time.perf_counter()
    scores = scores_of(task, model.predict(test))
    ended = time.perf_counter()
    choice = ", ".join(f"{name} {value}" for name, value in settings.items())
    return {"choice": choice, "tune": tuned - began, "fit": fitted - tuned, "predict": ended - fitted}, scores


# --- requests ---

def read_doubles(stream, *shape):
    count = int(np.prod(shape))
    data = stream.read(8 * count)
    if len(data) != 8 * count:
        raise SystemExit(0)  # the tool has ended
    return np.frombuffer(data, dtype=float).reshape(shape)


def serve(library):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tool ends this process
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    warnings.simplefilter("ignore")
    for line in iter(requests.readline, b""):
        task = json.loads(line)
        n, d, n_test = task["rows"], task["columns"], task["test"]
        X, y, weights = read_doubles(requests, n, d), read_doubles(requests, n), read_doubles(requests, n)
        inner, test = read_doubles(requests, n), read_doubles(requests, n_test, d)
        try:
            answer, scores = learn(library, task, X, y, weights, inner.astype(int), test)
            if scores.shape != (n_test, task["outputs"]) or not np.isfinite(scores).all():
                raise RuntimeError("its scores are not finite")
            data = np.ascontiguousarray(scores, dtype=float).tobytes()
        except Exception as error:
            answer, data = {"error": (str(error).splitlines() or [type(error).__name__])[0]}, b""
        answers.write(json.dumps(answer).encode() + b"\n" + data)
        answers.flush()


if __name__ == "__main__":
    if sys.argv[1:] == ["probe"]:
        print(json.dumps(versions()))
    else:
        serve(sys.argv[1])

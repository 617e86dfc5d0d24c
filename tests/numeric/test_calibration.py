#!/usr/bin/python3
"""Calibration and its measures against scikit-learn.

The functions are inside the library; calibration_probe (CALIBRATION_PROBE is the binary) calls them. Needs numpy and
scikit-learn; without them it prints one skipped test. Prints TAP.
"""
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cli")]

try:
    import numpy
    from scipy.optimize import minimize
    from scipy.special import logsumexp
    from sklearn.calibration import _SigmoidCalibration
    from sklearn.isotonic import IsotonicRegression
    from sklearn.metrics import brier_score_loss, mean_pinball_loss
except ImportError as absent:
    print(f"1..1\nok 1 # SKIP {absent}")
    sys.exit(0)

import tap
from case import HUNG

PROBE = os.environ["CALIBRATION_PROBE"]
PROBLEMS = 40


def probe(task, sizes, *parts):
    """The numbers that the probe prints. Every part is an array whose rows are written one after the other."""
    words = [task, *map(str, sizes)] + [repr(float(x)) for part in parts for x in numpy.asarray(part).ravel()]
    done = subprocess.run([PROBE], input=" ".join(words), capture_output=True, text=True, timeout=HUNG)
    if done.returncode:
        raise AssertionError(done.stderr)
    return numpy.array(done.stdout.split(), dtype=float)


def calibrated(kind, scores, classes, weights, n_classes, queries):
    rows = numpy.column_stack([classes, weights, scores])
    told = probe(kind, (len(rows), n_classes, len(queries)), rows, queries)
    return told.reshape(len(queries), n_classes)


def draw(seed, n_classes=2):
    """Scores (one column per output), classes and weights; some problems are small, tied, weighted, one-sided or reversed."""
    rng = numpy.random.default_rng(seed)
    n = int(rng.choice([5, 20, 100, 1000]))
    classes = (rng.random((n,)) ** rng.choice([0.3, 1, 3]) * n_classes).astype(int)
    own = classes[:, None] == (numpy.arange(n_classes) if n_classes > 2 else numpy.array([1]))
    scores = rng.normal(size=own.shape) + rng.choice([0, 1, 4]) * (own - 0.5) * rng.choice([1, 1, 1, -1])
    if seed % 3 == 0:
        scores = numpy.round(scores, 1)
    weights = [numpy.ones(n), rng.integers(1, 5, n), rng.uniform(0.1, 3, n)][seed % 3]
    return scores * rng.choice([0.01, 1, 50]), classes, weights


def platt_targets(positive, weights):
    plus, minus = weights[positive].sum(), weights[~positive].sum()
    return numpy.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))


def cut_off(scores, weights):
    """The scores as the sigmoid sees them: nearly all rows have scores from `low` to `high`; no score counts as further
    away from that range than its own width."""
    cut = scores.astype(float).copy()
    for column in cut.T:
        trimmed = max(1, 0.005 * weights.sum())
        values = numpy.unique(column)
        mass = numpy.array([weights[column == v].sum() for v in values])
        low = values[min(numpy.searchsorted(numpy.cumsum(mass), trimmed, side="right"), len(values) - 1)]
        high = values[::-1][min(numpy.searchsorted(numpy.cumsum(mass[::-1]), trimmed, side="right"), len(values) - 1)]
        if high > low:
            column[:] = numpy.clip(column, low - (high - low), high + (high - low))
    return cut


def cross_entropy(p, targets, weights):
    return -(weights * (targets * numpy.log(p) + (1 - targets) * numpy.log1p(-p))).sum()


def isotonic(scores, positive, weights):
    """scikit-learn's function, with its ends moved off 0 and 1 by the documented rule."""
    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, positive.astype(float), weights)
    at, values = fitted.X_thresholds_, fitted.y_thresholds_.copy()
    blocks = fitted.predict(scores)
    inner = values[(values > 1e-12) & (values < 1 - 1e-12)]
    for end, laplace, pick in ((0, lambda n: 1 / (n + 2), min), (1, lambda n: (n + 1) / (n + 2), max)):
        pure, mine = numpy.abs(blocks - end) < 1e-12, numpy.abs(values - end) < 1e-12
        if pure.any():
            values[mine] = pick([laplace(weights[pure].sum()), *inner])
    return lambda z: numpy.interp(z, at, values)


class Calibration(unittest.TestCase):
    def test_sigmoid(self):
        """The minimum of Platt's loss over slopes that keep the order, wherever scikit-learn finds it or comes near."""
        cut = 0
        for seed in range(PROBLEMS):
            with self.subTest(seed=seed):
                scores, classes, weights = draw(seed)
                positive = classes == 1
                ours = calibrated("sigmoid", scores, classes, weights, 2, scores)[:, 1]
                scores = cut_off(scores, weights)
                targets = platt_targets(positive, weights)
                theirs = _SigmoidCalibration().fit(scores[:, 0], classes, weights)
                if theirs.a_ > 0 or not 0 < positive.sum() < len(classes):  # p = 1/(1 + exp(a z + b)): a > 0 descends
                    cut += 1
                    numpy.testing.assert_allclose(ours, (weights * targets).sum() / weights.sum(), rtol=1e-12)
                    continue
                gradient = weights * (ours - targets)
                scale = weights.sum() * max(1, numpy.abs(scores).max())
                self.assertLess(abs(gradient.sum()), 1e-11 * scale)
                self.assertLess(abs(gradient @ scores[:, 0]), 1e-11 * scale)
                predicted = theirs.predict(scores[:, 0])
                self.assertLessEqual(cross_entropy(ours, targets, weights),
                                     cross_entropy(predicted, targets, weights) * (1 + 1e-12))
                numpy.testing.assert_allclose(ours, predicted, atol=2e-3)
        self.assertTrue(2 < cut < PROBLEMS - 10, f"{cut} of {PROBLEMS} problems have no slope: bad draws")

    def test_isotonic(self):
        for seed in range(PROBLEMS):
            with self.subTest(seed=seed):
                scores, classes, weights = draw(seed)
                wide = 3 * numpy.abs(scores).max()
                queries = numpy.concatenate([scores[:, 0], numpy.linspace(-wide, wide, 301)])
                wanted = isotonic(scores[:, 0], classes == 1, weights)(queries)
                ours = calibrated("isotonic", scores, classes, weights, 2, queries)
                numpy.testing.assert_allclose(ours[:, 1], wanted, rtol=1e-9)
                numpy.testing.assert_allclose(ours.sum(axis=1), 1, rtol=1e-14)

    def test_isotonic_of_several_classes(self):
        for seed in range(PROBLEMS):
            with self.subTest(seed=seed):
                n_classes = 3 + seed % 3
                scores, classes, weights = draw(seed, n_classes)
                functions = [isotonic(scores[:, k], classes == k, weights) for k in range(n_classes)]
                wanted = numpy.column_stack([f(scores[:, k]) for k, f in enumerate(functions)])
                wanted /= wanted.sum(axis=1, keepdims=True)
                ours = calibrated("isotonic", scores, classes, weights, n_classes, scores)
                numpy.testing.assert_allclose(ours, wanted, rtol=1e-9)

    def test_sigmoid_of_several_classes(self):
        """The minimum of the penalised cross-entropy, found a second time by scipy from its definition."""
        for seed in range(0, PROBLEMS, 2):
            with self.subTest(seed=seed):
                K = 3 + seed % 3
                scores, classes, weights = draw(seed, K)
                known = numpy.bincount(classes, weights, K)
                rest = 1 / (known[classes] + 2)
                targets = numpy.where(classes[:, None] == numpy.arange(K), 1 - rest[:, None], rest[:, None] / (K - 1))
                z = cut_off(scores, weights)
                z -= numpy.average(z, axis=0, weights=weights)
                z /= numpy.sqrt(numpy.average(z ** 2, axis=0, weights=weights))

                def log_shares(numbers):
                    s = z @ numbers[:K * K].reshape(K, K).T + numbers[K * K:]
                    return s - logsumexp(s, axis=1, keepdims=True)

                def objective(numbers):
                    slope = numbers[:K * K].reshape(K, K)
                    away = slope - numpy.trace(slope) / K * numpy.eye(K)
                    error = weights[:, None] * (numpy.exp(log_shares(numbers)) - targets)
                    return (-(weights[:, None] * targets * log_shares(numbers)).sum() + (away ** 2).sum() / 2,
                            numpy.concatenate([(error.T @ z + away).ravel(), error.sum(axis=0)]))

                found = minimize(objective, numpy.zeros(K * K + K), jac=True, method="L-BFGS-B",
                                 options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9})
                ours = calibrated("sigmoid", scores, classes, weights, K, scores)
                numpy.testing.assert_allclose(ours, numpy.exp(log_shares(found.x)), atol=2e-4)

    def test_brier_and_calibration_error(self):
        for seed in range(PROBLEMS):
            with self.subTest(seed=seed):
                rng = numpy.random.default_rng(seed)
                n, n_classes = 200, 2 + seed % 4
                p = rng.dirichlet(numpy.full(n_classes, 0.5), n)
                classes, weights = rng.integers(0, n_classes, n), rng.uniform(0, 2, n)
                brier, error = probe("classes", (n, n_classes), numpy.column_stack([classes, weights, p]))
                if n_classes == 2:
                    wanted = brier_score_loss(classes, p[:, 1], sample_weight=weights)
                else:
                    wanted = sum(brier_score_loss(classes == k, p[:, k], sample_weight=weights)
                                 for k in range(n_classes))
                self.assertAlmostEqual(brier, wanted, places=12)
                top = p.max(axis=1)
                bins = numpy.minimum(numpy.digitize(top, numpy.linspace(0, 1, 11)), 10)
                gaps = weights * ((p.argmax(axis=1) == classes) - top)
                wanted = sum(abs(gaps[bins == b].sum()) for b in range(1, 11)) / weights.sum()
                self.assertAlmostEqual(error, wanted, places=12)

    def test_quantiles_and_intervals(self):
        for seed in range(PROBLEMS):
            with self.subTest(seed=seed):
                rng = numpy.random.default_rng(seed)
                n, tau = 100, rng.uniform(0.05, 0.95)
                truth, weights = rng.normal(size=n), rng.uniform(0, 2, n)
                low, high = rng.normal(-1, 0.1, n), rng.normal(1, 0.1, n)
                loss, covered = probe("quantile", (n, tau), numpy.column_stack([high, truth, weights]))
                self.assertAlmostEqual(loss, mean_pinball_loss(truth, high, sample_weight=weights, alpha=tau), places=12)
                self.assertAlmostEqual(covered, numpy.average(truth <= high, weights=weights), places=12)
                inside, = probe("interval", (n,), numpy.column_stack([low, high, truth, weights]))
                self.assertAlmostEqual(inside, numpy.average((low <= truth) & (truth <= high), weights=weights),
                                       places=12)


if __name__ == "__main__":
    sys.exit(tap.main("test_calibration"))

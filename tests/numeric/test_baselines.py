#!/usr/bin/python3
"""Baselines against scikit-learn, or against the conditions of an optimum checked with numpy.

The functions are inside the library; baseline_probe (BASELINE_PROBE is the binary) calls them. Needs numpy and scikit-learn;
without them it prints one skipped test. Prints TAP.

karma has no intercept but an attribute that is always 1; scikit-learn's SVC has one, made 0 by mirroring as test_sklearn.py
explains. Columns are standardised by the mean and the population deviation of the observed training cells.
"""
import csv
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cli")]

try:
    import numpy
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (the next import needs it)
    from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
except ImportError as absent:
    print(f"1..1\nok 1 # SKIP {absent}")
    sys.exit(0)

import tap
from case import HUNG

warnings.filterwarnings("ignore", message=".*Early stopping criterion not reached.*")
PROBE = os.environ["BASELINE_PROBE"]
nan = numpy.nan


def low_rank(seed, n=60, d=6, rank=2, missing=0.3, noise=0.3):
    """Rows of a low-rank matrix with noise and holes, of different scales, and a label that is linear in them."""
    rng = numpy.random.default_rng(seed)
    basis = rng.normal(size=(rank, d))
    whole = rng.normal(size=(n, rank)) @ basis + noise * rng.normal(size=(n, d))
    y = numpy.where(whole @ basis[0] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    X = whole * rng.choice([0.1, 1, 30], d) + rng.normal(size=d) * 5
    X[rng.random(X.shape) < missing] = nan
    for j in range(d):  # a column that nobody has would be left out
        X[rng.integers(n // 2), j] = rng.normal()
    return X, y


def standardiser(X):
    return StandardScaler().fit(X)


def mirrored(K):
    return numpy.block([[K, -K], [-K, K]])


def machine_scores(train, y, test, C=None, weights=None):
    """Scores of the support vector machine ½|w|² + (C/m) Σ weight · hinge on rows that have their bias as a column."""
    m = len(y)
    if C is None:
        C = m / numpy.mean((train**2).sum(1))
    weights = numpy.ones(m) if weights is None else weights / weights.mean()
    machine = SVC(kernel="precomputed", C=0.5 * C / m, tol=1e-8)
    machine.fit(mirrored(train @ train.T), numpy.concatenate([y, -y]), sample_weight=numpy.tile(weights, 2))
    beta = numpy.zeros(2 * m)
    beta[machine.support_] = machine.dual_coef_[0]
    beta = (beta[:m] - beta[m:]) * (1 if machine.classes_[1] == 1 else -1)
    return test @ (train.T @ beta), train.T @ beta


def with_bias(X):
    return numpy.column_stack([X, numpy.ones(len(X))])


def zeros(X, scaler):
    return with_bias(numpy.nan_to_num(scaler.transform(X)))


class Baselines(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, name, X, y=None, weight=None):
        """Numbers, or texts with None for a hole."""
        with open(self.path(name), "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow([f"x{j}" for j in range(len(X[0]))] + (["target"] if y is not None else [])
                         + (["weight"] if weight is not None else []))
            for i, row in enumerate(X):
                cells = ["" if c is None or (not isinstance(c, str) and numpy.isnan(c)) else
                         c if isinstance(c, str) else repr(float(c)) for c in row]
                out.writerow(cells + ([y[i]] if y is not None else [])
                             + ([repr(float(weight[i]))] if weight is not None else []))
        return self.path(name)

    def probe(self, *words, text="", threads=None, fails=False):
        environment = dict(os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {}))
        done = subprocess.run([PROBE, *words], input=text, capture_output=True, text=True, timeout=HUNG, env=environment)
        self.assertEqual(bool(done.returncode), fails, done.stderr)
        return done.stderr if fails else done.stdout

    def texts(self, kind, train, test, *settings):
        told = self.probe("impute", kind, self.write("train.csv", train), self.write("test.csv", test), *settings)
        records = list(csv.reader(told.splitlines()))
        return records[0], records[1:]

    def imputed(self, kind, train, test, *settings):
        return numpy.array(self.texts(kind, train, test, *settings)[1], dtype=float)

    def scores(self, baseline, train, y, test, *options, weight=None):
        told = self.probe("run", baseline, self.write("train.csv", train, y, weight), self.write("test.csv", test),
                          "tolerance=1e-8", "passes=100000", *options)
        return numpy.array([[float(x) for x in line.split()] for line in told.splitlines()])

    def against(self, kind, oracle, *settings, tolerance=1e-9, seeds=8):
        """An imputer beside one of scikit-learn's that sees standardised columns, on training rows and on new ones."""
        for seed in range(seeds):
            with self.subTest(seed=seed):
                X, _ = low_rank(seed, n=50 + 30 * (seed % 3), d=4 + seed % 4, missing=[0.1, 0.3, 0.5][seed % 3])
                train, test = X[:40], X[40:]
                scaler = standardiser(train)
                learned = oracle()
                for rows, filled in ((train, learned.fit_transform(scaler.transform(train))),
                                     (test, learned.transform(scaler.transform(test)))):
                    told = self.imputed(kind, train, rows, *settings)
                    numpy.testing.assert_allclose(scaler.transform(told), filled, atol=tolerance)
                    numpy.testing.assert_array_equal(told[~numpy.isnan(rows)], rows[~numpy.isnan(rows)])

    # --- imputers ----------------------------------------------------------------------------------------

    def test_mean(self):
        self.against("mean", SimpleImputer)

    def test_indicators(self):
        X, _ = low_rank(3, missing=0.2)
        train, test = X[:40], X[40:].copy()
        train[:, 2] = 1.5  # no holes in training: no indicator, wherever new rows have holes
        test[0, 2] = nan
        oracle = SimpleImputer(add_indicator=True).fit(train)
        header, _ = self.texts("mean-indicator", train, test)
        self.assertEqual(header, [f"x{j}" for j in range(6)] + [f"x{j} is missing" for j in (0, 1, 3, 4, 5)])
        numpy.testing.assert_allclose(self.imputed("mean-indicator", train, test), oracle.transform(test), atol=1e-12)

    def test_commonest_level(self):
        train = [["a", "1.5"], ["b", None], ["b", "2"], [None, "4"], ["c", "0"]]
        test = [[None, None], ["c", "7"], ["new", "1"]]
        header, rows = self.texts("mean", train, test)
        self.assertEqual(header, ["x0", "x1"])
        self.assertEqual(rows, [["b", "1.875"], ["c", "7"], ["b", "1"]])  # what training does not know is a hole

    def test_column_that_training_lacks(self):
        header, rows = self.texts("mean", [[1.0, nan], [3.0, nan]], [[nan, 5.0]])
        self.assertEqual((header, rows), (["x0"], [["2"]]))

    def test_knn(self):
        for k in (1, 3, 5):
            self.against("knn", lambda: KNNImputer(n_neighbors=k), f"neighbours={k}")

    def test_knn_without_enough_donors(self):
        """By hand. A donor must share a column with the row (scikit-learn before 1.4 uses others if it has to)."""
        train = numpy.array([[0, 1, nan], [1, nan, 4], [nan, nan, 7], [2, 3, nan]])
        test = numpy.array([[1, nan, nan],     # row 3 is as near as row 0; of the third column only row 1 shares
                            [nan, 2, nan],     # nobody has the second column and the third: the mean
                            [nan, nan, 5],
                            [nan, nan, nan]])  # all means
        numpy.testing.assert_allclose(self.imputed("knn", train, test),
                                      [[1, 2, 4], [1, 2, 5.5], [1, 2, 5], [1, 2, 5.5]], atol=1e-12)

    def test_neighbours_vote(self):
        train = [["a", 0.0], ["a", 0.1], ["b", 0.2], ["b", 9.0], ["b", 9.1]]
        self.assertEqual(self.texts("knn", train, [[None, 0.05]], "neighbours=3")[1], [["a", "0.05"]])
        self.assertEqual(self.texts("knn", train, [[None, 0.05]], "neighbours=5")[1], [["b", "0.05"]])
        self.assertEqual(self.texts("hot-deck-nearest", train, [[None, 8.0]])[1], [["b", "8"]])

    def test_nearest_donor(self):
        self.against("hot-deck-nearest", lambda: KNNImputer(n_neighbors=1))

    def test_random_donor(self):
        train = numpy.array([[1.0, nan], [2.0, 10.0], [nan, 20.0], [2.0, 30.0]])
        told = self.imputed("hot-deck-random", train, numpy.full((3000, 2), nan))
        values, counts = numpy.unique(told[:, 0].round(9), return_counts=True)
        numpy.testing.assert_array_equal(values, [1, 2])
        self.assertLess(abs(counts[1] / 3000 - 2 / 3), 0.04)  # 4.6 standard errors
        values, counts = numpy.unique(told[:, 1].round(9), return_counts=True)
        numpy.testing.assert_array_equal(values, [10, 20, 30])
        self.assertLess(numpy.abs(counts / 3000 - 1 / 3).max(), 0.04)
        numpy.testing.assert_array_equal(told, self.imputed("hot-deck-random", train, numpy.full((3000, 2), nan)))
        other = self.imputed("hot-deck-random", train, numpy.full((3000, 2), nan), "seed=1")
        self.assertGreater((told != other).mean(), 0.3)

    def chained(self, alpha, rounds):
        return lambda: IterativeImputer(estimator=Ridge(alpha=alpha), max_iter=rounds, tol=0, imputation_order="ascending")

    def test_regression(self):
        self.against("regression", self.chained(1.0, 10))
        self.against("regression", self.chained(0.1, 3), "ridge=0.1", "rounds=3")

    def test_regression_with_few_rows(self):
        X, _ = low_rank(5, n=30, d=25, missing=0.3)
        train, test = X[:18], X[18:]
        train[0] = numpy.nan_to_num(train[0])  # every column is somewhere
        scaler = standardiser(train)
        learned = self.chained(1.0, 4)().fit(scaler.transform(train))
        numpy.testing.assert_allclose(scaler.transform(self.imputed("regression", train, test, "rounds=4")),
                                      learned.transform(scaler.transform(test)), atol=1e-8)

    def test_regression_of_a_category(self):
        rng = numpy.random.default_rng(1)
        x = rng.normal(size=200)
        train = [[["low", "mid", "high"][int(v > -0.5) + int(v > 0.5)] if i % 4 else None, float(v)] for i, v in enumerate(x)]
        _, rows = self.texts("regression", train, [[None, -2.0], [None, 2.0]])
        self.assertEqual([row[0] for row in rows], ["low", "high"])

    # --- soft-impute -------------------------------------------------------------------------------------

    @staticmethod
    def soft_impute(X, share, steps=20000):
        """Another way to the same minimum: accelerated, from 0, by whole singular value decompositions."""
        seen = ~numpy.isnan(X)
        X = numpy.nan_to_num(X)
        penalty = share * numpy.linalg.norm(X, 2)
        Z = W = numpy.zeros_like(X)
        for k in range(steps):
            U, s, V = numpy.linalg.svd(numpy.where(seen, X, W), full_matrices=False)
            new = (U * numpy.maximum(s - penalty, 0)) @ V
            W = new + k / (k + 3) * (new - Z)
            if numpy.abs(new - Z).max() < 1e-12:
                break
            Z = new
        return Z, penalty

    def test_soft_impute(self):
        for seed, share in enumerate([0.5, 0.2, 0.1, 0.05]):
            with self.subTest(seed=seed):
                X, _ = low_rank(seed, n=60 if seed < 2 else 20, d=8 if seed < 2 else 30, missing=0.4)
                train, test = X[:-10], X[-10:]
                train[0] = numpy.nan_to_num(train[0])
                scaler = standardiser(train)
                Z, penalty = self.soft_impute(scaler.transform(train), share)
                told = scaler.transform(self.imputed("soft-impute", train, train, f"threshold={share}", "tolerance=1e-9"))
                holes = numpy.isnan(train)
                numpy.testing.assert_allclose(told[holes], Z[holes], atol=2e-5)  # also: training rows get their own Z
                # new rows: the basis is held fixed, z = argmin ½|x_o - z_o|² + λ/2 zᵀ(V D Vᵀ)⁺z within its span
                _, s, V = numpy.linalg.svd(Z, full_matrices=False)
                kept = s > 1e-6 * s[0]
                B = V[kept].T * numpy.sqrt(s[kept])
                told = scaler.transform(self.imputed("soft-impute", train, test, f"threshold={share}", "tolerance=1e-9"))
                for row, x in zip(told, scaler.transform(test)):
                    o = ~numpy.isnan(x)
                    z = B @ numpy.linalg.solve(B[o].T @ B[o] + penalty * numpy.eye(B.shape[1]), B[o].T @ x[o])
                    numpy.testing.assert_allclose(row[~o], z[~o], atol=1e-4)

    def test_soft_impute_chooses_its_threshold(self):
        """On a low-rank matrix the holes are filled far better than by the mean, and better than by most fixed choices."""
        rng = numpy.random.default_rng(0)
        whole = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 15)) + 0.1 * rng.normal(size=(150, 15))
        X = numpy.where(rng.random(whole.shape) < 0.4, nan, whole)
        holes = numpy.isnan(X[100:])

        def error(*settings):
            return numpy.sqrt(((self.imputed("soft-impute", X[:100], X[100:], *settings) - whole[100:])[holes] ** 2).mean())

        chosen = error()
        mean = numpy.sqrt(((self.imputed("mean", X[:100], X[100:]) - whole[100:])[holes] ** 2).mean())
        fixed = [error(f"threshold={2.0 ** -k}") for k in range(1, 9)]
        self.assertLess(chosen, 0.5 * mean)
        self.assertLess(chosen, 1.3 * min(fixed))
        self.assertLess(chosen, numpy.median(fixed))

    # --- learners ----------------------------------------------------------------------------------------

    def test_zero(self):
        for seed, strength in enumerate([1, 0.1, 10]):
            X, y = low_rank(seed, n=90)
            train, test = X[:60], X[60:]
            scaler = standardiser(train)
            rows = zeros(train, scaler)
            C = strength * len(rows) / numpy.mean((rows**2).sum(1))
            wanted, _ = machine_scores(rows, y[:60], zeros(test, scaler), C)
            told = self.scores("zero", train, y[:60], test, f"strength={strength}")
            numpy.testing.assert_allclose(told[:, 0], wanted, atol=2e-3)

    def test_polar(self):
        """u and 1 - u within the range of the training cells, u cut to [0, 1], nothing centred, 0 and 0 in a hole."""
        differs = 0
        for seed in range(4):
            with self.subTest(seed=seed):
                X, y = low_rank(seed, n=90)
                train, test = X[:60], X[60:]
                low, high = numpy.nanmin(train, 0), numpy.nanmax(train, 0)

                def encoded(rows, least=0, most=1):
                    u = numpy.clip((rows - low) / (high - low), least, most)
                    return with_bias(numpy.nan_to_num(numpy.hstack([u, 1 - u])))
                wanted, w = machine_scores(encoded(train), y[:60], encoded(test))
                told = self.scores("polar", train, y[:60], test)[:, 0]
                numpy.testing.assert_allclose(told, wanted, atol=2e-3)
                differs += numpy.abs(encoded(test, -numpy.inf, numpy.inf) @ w - wanted).max() > 0.02
        self.assertGreaterEqual(differs, 2)  # or it would not matter that u is cut

    def test_filled_rows_are_learned_from(self):
        """An imputer is learned on training rows, and what it fills is standardised again before a machine learns."""
        X, y = low_rank(4, n=90)
        train, test = X[:60], X[60:]
        scaler = standardiser(train)
        imputer = KNNImputer(n_neighbors=5).fit(scaler.transform(train))
        filled = imputer.transform(scaler.transform(train))
        again = standardiser(filled)
        wanted, _ = machine_scores(with_bias(again.transform(filled)), y[:60],
                                   with_bias(again.transform(imputer.transform(scaler.transform(test)))))
        numpy.testing.assert_allclose(self.scores("knn", train, y[:60], test)[:, 0], wanted, atol=2e-3)

    def test_complete_case(self):
        X, y = low_rank(2, n=150, missing=0.15)
        train, test = X[:100], X[100:]
        complete = ~numpy.isnan(train).any(1)
        self.assertGreater(complete.sum(), 20)
        scaler = standardiser(train[complete])
        wanted, _ = machine_scores(zeros(train[complete], scaler), y[:100][complete], zeros(test, scaler))
        numpy.testing.assert_allclose(self.scores("complete-case", train, y[:100], test)[:, 0], wanted, atol=2e-3)

    def test_no_row_is_complete(self):
        train = self.write("train.csv", [[1.0, nan], [nan, 2.0]], [1, -1])
        for baseline in ("complete-case", "horvitz-thompson"):
            self.assertIn("complete", self.probe("run", baseline, train, train, fails=True))

    def test_horvitz_thompson(self):
        rng = numpy.random.default_rng(7)
        X, y = low_rank(7, n=200, missing=0)
        # the more of column 0, and the second class, the more holes
        chance = 1 / (1 + numpy.exp(-standardiser(X).transform(X)[:, 0] - 0.7 * y))
        X[(rng.random(200) < chance), 3] = nan
        train, test, y = X[:150], X[150:], y[:150]
        complete = ~numpy.isnan(train).any(1)
        features = numpy.column_stack([train[:, [0, 1, 2, 4, 5]], y])
        features = with_bias(standardiser(features).transform(features))
        C = 1 / numpy.mean((features**2).sum(1))  # that of karma_fit, over the number of rows
        logistic = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10000).fit(features, complete)
        weights = 1 / logistic.predict_proba(features)[:, 1]
        self.assertGreater(weights[complete].max() / weights[complete].min(), 3)
        scaler = standardiser(train[complete])
        rows = zeros(train[complete], scaler)
        wanted, _ = machine_scores(rows, y[complete], zeros(test, scaler), weights=weights[complete])
        plain, _ = machine_scores(rows, y[complete], zeros(test, scaler))
        told = self.scores("horvitz-thompson", train, y, test)[:, 0]
        numpy.testing.assert_allclose(told, wanted, atol=5e-3)
        self.assertGreater(numpy.abs(wanted - plain).max(), 0.05)  # or weights would not matter here

    # --- geom --------------------------------------------------------------------------------------------

    @staticmethod
    def geom(train, y, rounds=20):
        """The alternation with scikit-learn's machine; gives the weights of the least objective, and of the start."""
        seen = ~numpy.isnan(train)
        rows = zeros(train, standardiser(train))
        m, s = len(y), numpy.ones(len(y))
        C = m / numpy.mean((rows**2).sum(1))
        least, best, first = numpy.inf, None, None
        for _ in range(rounds):
            scaled = rows / s[:, None]
            _, w = machine_scores(scaled, y, scaled, C)
            new = numpy.maximum(numpy.sqrt(seen @ (w[:-1] ** 2) / (w[:-1] ** 2).sum()), 1e-3)
            value = 0.5 * w @ w + C / m * numpy.maximum(0, 1 - y * (rows @ w) / new).sum()
            first = w if first is None else first
            if value < least:
                least, best = value, w
            change, s = numpy.abs(new - s).max(), new
            if change < 1e-3:
                break
        return best, first

    def test_geom(self):
        differs = 0
        for seed in range(4):
            with self.subTest(seed=seed):
                X, y = low_rank(seed, n=80, missing=0.4, noise=0.6)
                train, test = X[:60], X[60:]
                train = numpy.where(numpy.isnan(train).all(1)[:, None], 0.0, train)
                w, first = self.geom(train, y[:60])
                told = self.scores("geom", train, y[:60], test)[:, 0]
                rows = zeros(test, standardiser(train))
                numpy.testing.assert_allclose(told, rows @ w, atol=2e-2)
                differs += numpy.abs(rows @ (w - first)).max() > 0.1
        self.assertGreaterEqual(differs, 2)  # it is not 0-imputation

    def test_geom_of_complete_rows_is_the_machine(self):
        X, y = low_rank(9, n=90, missing=0)
        scaler = standardiser(X[:60])
        wanted, _ = machine_scores(zeros(X[:60], scaler), y[:60], zeros(X[60:], scaler))
        numpy.testing.assert_allclose(self.scores("geom", X[:60], y[:60], X[60:])[:, 0], wanted, atol=5e-3)

    # --- joint completion --------------------------------------------------------------------------------

    def joint(self, has_ones, X, Y, mu, tolerance=1e-9):
        n, d, t = len(X), X.shape[1], Y.shape[1]
        text = " ".join([str(n), str(t), str(d), *(repr(float(v)) for v in numpy.hstack([Y, X]).ravel())])
        told = numpy.array(self.probe("joint", str(int(has_ones)), str(mu), str(tolerance), text=text).split(), dtype=float)
        return told[0], told[1:1 + t], told[1 + t:].reshape(n, -1)

    @staticmethod
    def joint_gradient(Z, b, X, Y):
        t = Y.shape[1]
        G = numpy.zeros_like(Z)
        with numpy.errstate(invalid="ignore"):
            G[:, :t] = numpy.where(numpy.isnan(Y), 0, -Y / (1 + numpy.exp(Y * (Z[:, :t] + b)))) / (~numpy.isnan(Y)).sum()
        G[:, t:t + X.shape[1]] = numpy.where(numpy.isnan(X), 0, Z[:, t:t + X.shape[1]] - X) / (~numpy.isnan(X)).sum()
        return numpy.nan_to_num(G)

    def joint_data(self, seed, t):
        X, y = low_rank(seed, n=40, d=6, missing=0.3)
        X = standardiser(X).transform(X)
        Y = numpy.column_stack([y] + [numpy.sign(numpy.nan_to_num(X[:, 0]) + 0.1)] * (t - 1)).astype(float)
        Y[28:] = nan
        return X, Y

    def test_mc_b_is_optimal(self):
        """-∂f/∂Z = μ(UVᵀ + W), W of norm at most 1 and orthogonal to both; ∂f/∂b = 0."""
        for seed, (t, share) in enumerate([(1, 0.3), (1, 0.1), (2, 0.1), (2, 0.03)]):
            with self.subTest(seed=seed):
                X, Y = self.joint_data(seed, t)
                mu, b, Z = self.joint(False, X, Y, share, 1e-10)
                G = self.joint_gradient(Z, b, X, Y)
                U, s, V = numpy.linalg.svd(Z, full_matrices=False)
                kept = s > 1e-6 * s[0]
                self.assertGreater(kept.sum(), 0)
                self.assertAlmostEqual(mu, share * numpy.linalg.norm(self.joint_gradient(0 * Z, 0 * b, X, Y), 2), delta=1e-9)
                U, V = U[:, kept], V[kept]
                numpy.testing.assert_allclose(-G @ V.T, mu * U, atol=1e-4 * mu)
                numpy.testing.assert_allclose(-U.T @ G, mu * V, atol=1e-4 * mu)
                self.assertLess(numpy.linalg.norm(G, 2), mu * (1 + 1e-4))
                numpy.testing.assert_allclose(G[:, :t].sum(0), 0, atol=1e-6)

    def test_mc_1_is_a_fixed_point(self):
        for seed, (t, share) in enumerate([(1, 0.3), (2, 0.1), (1, 0.03)]):
            with self.subTest(seed=seed):
                X, Y = self.joint_data(seed, t)
                mu, b, Z = self.joint(True, X, Y, share)
                numpy.testing.assert_array_equal(b, 0)
                numpy.testing.assert_array_equal(Z[:, -1], 1)
                step = min(3.8 * (~numpy.isnan(Y)).sum(), (~numpy.isnan(X)).sum())
                U, s, V = numpy.linalg.svd(Z - step * self.joint_gradient(Z, 0, X, Y), full_matrices=False)
                again = (U * numpy.maximum(s - step * mu, 0)) @ V
                self.assertGreater((s > step * mu).sum(), 0)
                numpy.testing.assert_allclose(again[:, :-1], Z[:, :-1], atol=1e-5)

    def test_joint_completions_classify(self):
        X, y = low_rank(11, n=200, d=10, missing=0.3, noise=0.1)
        for baseline in ("mc-1", "mc-b"):
            told = self.scores(baseline, X[:140], y[:140], X[140:])[:, 0]
            self.assertGreater((numpy.sign(told) == y[140:]).mean(), 0.85, baseline)

    def test_joint_completion_is_transductive(self):
        """The same rows in other company have other scores; an inductive baseline does not care."""
        X, y = low_rank(12, n=80)
        for baseline, same in (("mc-b", False), ("mc-1", False), ("soft-impute", True), ("geom", True)):
            alone, among = self.scores(baseline, X[:40], y[:40], X[40:50]), self.scores(baseline, X[:40], y[:40], X[40:])[:10]
            self.assertEqual(numpy.array_equal(alone, among), same, baseline)
        transductive = [line.split()[0] for line in self.probe("list").splitlines() if line.endswith(" transductive")]
        self.assertEqual(transductive, ["mc-1", "mc-b"])

    # --- all ---------------------------------------------------------------------------------------------

    def baselines(self):
        return [line.split()[0] for line in self.probe("list").splitlines()]

    @staticmethod
    def mixed(seed, n=90):
        """Numbers and a category with holes, three classes; the first rows are complete."""
        rng = numpy.random.default_rng(seed)
        z = rng.normal(size=(n, 2))
        kinds = [["a", "b", "c"][int(v > -0.4) + int(v > 0.4)] for v in z[:, 0]]
        rows = [[float(z[i, 0]), float(z[i, 1]), float(z[i].sum()), kinds[i]] for i in range(n)]
        for i in range(n // 3, n):
            rows[i] = [None if rng.random() < 0.3 else c for c in rows[i]]
        order = rng.permutation(n)
        return [rows[i] for i in order], [["p", "q", "r"][int(z[i, 0] > 0) + int(z[i].sum() > 0)] for i in order], z.sum(1)[order]

    def test_three_classes_and_categories(self):
        rows, classes, _ = self.mixed(1)
        for baseline in self.baselines():
            with self.subTest(baseline=baseline):
                told = self.scores(baseline, rows[:60], classes[:60], rows[60:])
                self.assertEqual(told.shape, (30, 3))
                right = numpy.array(["p", "q", "r"])[told.argmax(1)] == numpy.array(classes[60:])
                self.assertGreater(right.mean(), 0.55)  # one class: at most 0.4

    def test_numbers(self):
        rows, _, y = self.mixed(2)
        for baseline in self.baselines():
            with self.subTest(baseline=baseline):
                if baseline in ("geom", "mc-1", "mc-b"):
                    train = self.write("train.csv", rows[:60], y[:60])
                    self.assertIn("numbers", self.probe("run", baseline, train, train, fails=True))
                    continue
                told = self.scores(baseline, rows[:60], y[:60], rows[60:])[:, 0]
                self.assertLess(((told - y[60:]) ** 2).mean(), 0.6 * y.var())

    def test_threads_do_not_matter(self):
        rows, classes, _ = self.mixed(3)
        train, test = self.write("train.csv", rows[:60], classes[:60]), self.write("test.csv", rows[60:])
        for baseline in self.baselines():
            one, two = (self.probe("run", baseline, train, test, threads=n) for n in (1, 2))
            self.assertEqual(one, two, baseline)

    def test_rows_without_a_label_are_left_out(self):
        X, y = low_rank(6, n=80)
        y = [str(v) for v in y]
        for baseline in ("zero", "soft-impute", "geom", "mc-b"):
            wanted = self.scores(baseline, X[:40], y[:40], X[60:])
            some = self.scores(baseline, X[:60], y[:40] + [""] * 20, X[60:])
            numpy.testing.assert_array_equal(wanted, some)

    def test_a_class_that_training_lacks(self):
        """Scores keep their places, and what training never saw is not said."""
        rows, classes, _ = self.mixed(4)
        known = [i for i in range(90) if classes[i] != "q"]
        whole = self.write("whole.csv", rows, classes)
        for baseline in self.baselines():
            with self.subTest(baseline=baseline):
                told = self.scores(baseline, [rows[i] for i in known], [classes[i] for i in known], rows, f"task={whole}")
                self.assertEqual(told.shape, (90, 3))
                self.assertLess((told.argmax(1) == 1).mean(), 0.1)
                said = told[known].argmax(1) == [2 * (classes[i] == "r") for i in known]
                self.assertGreater(said.mean(), 0.7)

if __name__ == "__main__":
    sys.exit(tap.main("test_baselines"))

"""The imputer, kernel values, comparisons and the online learner, against what can be computed otherwise."""
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.svm import SVC

import karma
import pydata
from karma import KarmaClassifier, OnlineKarma, SubspaceImputer, karma_kernel


def low_rank(n=200, d=8, seed=0):
    """Rows of a plane, with little noise, whole and with holes."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.01 * rng.normal(size=(n, d))
    return whole, np.where(rng.random(whole.shape) < 0.3, np.nan, whole)


class Waiting(unittest.TestCase):
    def test_threads_sleep_and_the_environment_stays(self):
        code = "import os, karma; assert 'OMP_WAIT_POLICY' not in os.environ"
        environment = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        shown = [re.search(r"GOMP_SPINCOUNT = '(\d+)'", subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env=dict(environment, OMP_DISPLAY_ENV="verbose", PYTHONPATH=os.pathsep.join(sys.path), **own)).stderr)
                 for own in ({}, {"GOMP_SPINCOUNT": "77"})]
        if not all(shown):
            self.skipTest("another OpenMP than GNU's")
        self.assertEqual([s.group(1) for s in shown], ["0", "77"])


class Imputer(unittest.TestCase):
    def test_a_plane_is_found(self):
        whole, X = low_rank()
        imputer = SubspaceImputer(subspace_rank=2)
        filled = imputer.fit_transform(X)
        self.assertEqual(imputer.rank_, 2)
        missing = np.isnan(X)
        np.testing.assert_array_equal(filled[~missing], X[~missing])
        wrong = np.abs(filled - whole)[missing]
        by_mean = np.abs(SimpleImputer().fit_transform(X) - whole)[missing]
        self.assertLess(np.median(wrong), 0.05 * np.median(by_mean))

    def test_errors_are_zero_where_observed_and_large_where_little_is_known(self):
        _, X = low_rank()
        errors = SubspaceImputer(subspace_rank=2).fit(X).standard_errors(X)
        missing = np.isnan(X)
        self.assertTrue((errors[~missing] == 0).all() and (errors[missing] > 0).all())
        blind = np.full((1, X.shape[1]), np.nan)
        self.assertGreater(SubspaceImputer(subspace_rank=2).fit(X).standard_errors(blind).min(), np.median(errors[missing]))

    def test_ranks(self):
        whole, X = low_rank()
        X, whole = np.exp(3 * X), np.exp(3 * whole)
        missing = np.isnan(X)
        values, ranks = (SubspaceImputer(subspace_rank=2, space=space).fit_transform(X) for space in ("values", "ranks"))
        np.testing.assert_array_equal(ranks[~missing], X[~missing])
        worse, wrong = (np.median(np.abs(np.log(np.maximum(x, 1e-9)) - np.log(whole))[missing]) for x in (values, ranks))
        self.assertLess(wrong, 0.5 * worse)

    def test_rows_that_were_not_in_training(self):
        whole, X = low_rank(400)
        imputer = SubspaceImputer().fit(X[:200])
        missing = np.isnan(X[200:])
        self.assertLess(np.median(np.abs(imputer.transform(X[200:]) - whole[200:])[missing]), 0.1)

    def test_frames_with_categories(self):
        f, _ = pydata.frame()
        f["never"] = np.nan
        imputer = SubspaceImputer().fit(f)
        filled = imputer.transform(f)
        self.assertEqual(list(filled.columns), [name for name in f.columns if name != "never"])
        self.assertEqual(list(imputer.get_feature_names_out()), list(filled.columns))
        self.assertFalse(filled.isna().any().any())
        seen = f["word"].notna()
        np.testing.assert_array_equal(filled["word"][seen], f["word"][seen])
        self.assertLessEqual(set(filled["word"]), {"x", "y", "z"})

    def test_ordered_categories_stay_texts(self):
        X, _ = pydata.numbers(200, 4)
        frame = pd.DataFrame(X, columns=list("abcd"))
        frame["size"] = pd.cut(frame["a"], [-9, -0.5, 0.5, 9], labels=["small", "medium", "large"])
        frame.loc[:20, "size"] = None
        done = SubspaceImputer().fit(frame).transform(frame)
        observed = frame["size"].notna()
        self.assertEqual(done["size"][observed].tolist(), frame["size"][observed].tolist())
        self.assertLessEqual(set(done["size"]), {"small", "medium", "large"})

    def test_the_same_as_the_tool(self):
        _, X = low_rank(60, 5)
        frame = pd.DataFrame(X, columns=list("abcde"))
        imputer = SubspaceImputer(subspace_rank=2).fit(frame)
        with tempfile.TemporaryDirectory() as directory:
            imputer.model_.save(directory + "/m.karma")
            frame.to_csv(directory + "/data.csv", index=False)
            subprocess.run([pydata.KARMA, "complete", directory + "/m.karma", directory + "/data.csv", "-o",
                            directory + "/out.csv"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            by_tool = pd.read_csv(directory + "/out.csv", float_precision="round_trip")[list("abcde")]
        np.testing.assert_array_equal(imputer.transform(frame), by_tool.to_numpy())

    def test_pandas_output(self):
        _, X = low_rank()
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)])
        out = SubspaceImputer().set_output(transform="pandas").fit_transform(frame)
        self.assertEqual(list(out.columns), list(frame.columns))


def formula(X, Y, gamma, scale, bias):
    """w(c) times the product over the columns that both observe, the bias always being one of them."""
    def parts(Z):
        seen = np.hstack([~np.isnan(Z), np.full((len(Z), 1), bias != 0)]).astype(float)
        return np.hstack([np.nan_to_num(Z), np.full((len(Z), 1), bias)]) * seen, seen
    (x, mx), (y, my) = parts(X), parts(Y)
    share = mx @ my.T / scale
    return (x @ y.T) * sum(share**p for p in range(gamma))


class Kernel(unittest.TestCase):
    def test_values_are_those_of_the_formula(self):
        X, _ = pydata.numbers(30)
        Y, _ = pydata.numbers(20, seed=1)
        for gamma in (1, 2, 4):
            K = karma_kernel(X, Y, gamma=gamma, scale=3.0, bias=0.5, standardise=False)
            np.testing.assert_allclose(K, formula(X, Y, gamma, 3.0, 0.5), rtol=1e-5, atol=1e-5)

    def test_one_argument_is_against_itself(self):
        X, _ = pydata.numbers(30)
        K = karma_kernel(X, gamma=2)
        np.testing.assert_allclose(K, karma_kernel(X, X, gamma=2), rtol=1e-6)
        self.assertGreater(np.linalg.eigvalsh(K.astype(float)).min(), -1e-4)

    def test_in_a_machine_of_scikit_learn(self):
        X, y = pydata.classes(200)
        machine = SVC(kernel="precomputed").fit(karma_kernel(X[:100]), y[:100])
        self.assertGreater(machine.score(karma_kernel(X[100:], X[:100]), y[100:]), 0.65)

    def test_refusals(self):
        X, _ = pydata.numbers(10)
        with self.assertRaisesRegex(TypeError, "did you mean 'gamma'"):
            karma_kernel(X, gamm=2)
        with self.assertRaisesRegex(ValueError, "columns"):
            karma_kernel(X[:, :3], X)


class Compare(unittest.TestCase):
    def test_a_frame_of_methods(self):
        X, y = pydata.classes(60, 3)
        methods = ["mean", "zero"]
        found = karma.compare(X, y, methods=methods, folds=2, inner=2, seed=1)
        self.assertEqual(set(found["method"]), set(methods))
        self.assertTrue((found["mean"].diff().dropna() <= 0).all())
        self.assertTrue(0 < found.attrs["constant"] < 1)
        for values, mean in zip(found["values"], found["mean"]):
            self.assertAlmostEqual(np.mean(values), mean)

    def test_numbers(self):
        X, y = pydata.numbers(60, 3)
        found = karma.compare(X, y, methods="mean", folds=2, inner=2)
        self.assertEqual(found.attrs["goal"], "R2")

    def test_an_interrupt_with_nothing_to_keep(self):
        def stop(*_):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            karma.compare(*pydata.classes(60, 3), folds=2, inner=2, verbose=stop)


class Online(unittest.TestCase):
    def reference(self, X, y, C, gamma, scale):
        """Algorithm 1 as it is written, v as a list of coefficients."""
        K, a, mean, losses = formula(X, X, gamma, scale, 1.0), np.zeros(len(X)), np.zeros(len(X)), []
        for t in range(1, len(X) + 1):
            i, step = t - 1, C / t
            score = a @ K[:, i]
            mean += a / len(X)
            losses.append(max(0.0, 1.0 - y[i] * score))
            a *= 1.0 - step / C
            if losses[-1] > 0:
                a[i] += step * y[i]
        return a, mean, sum(losses)

    def test_it_is_algorithm_1(self):
        X, y = pydata.classes(80)
        signs = 2 * y - 1
        last, mean, loss = self.reference(X, signs, 5.0, 2, 3.0)
        new, _ = pydata.classes(30, seed=5)
        for average, weights in ((True, mean), (False, last)):
            learner = OnlineKarma(C=5.0, scale=3.0, average=average)
            for first in range(0, 80, 30):
                learner.partial_fit(X[first:first + 30], y[first:first + 30], classes=[0, 1])
            np.testing.assert_allclose(learner.decision_function(new), formula(new, X, 2, 3.0, 1.0) @ weights, rtol=1e-4, atol=1e-4)
            self.assertAlmostEqual(learner.account_["loss"].iloc[-1] / loss, 1.0, places=4)

    def test_it_is_the_online_solver_of_the_library(self):
        X, y = pydata.classes(150)
        learner = OnlineKarma(C=5.0, scale=3.0).fit(X, y)
        solver = KarmaClassifier(kernel="linear", gamma=2, C=5.0, scale=3.0, standardise=False, solver="online", passes=1,
                                 shuffle=False, loss="hinge").fit(X, y)
        np.testing.assert_allclose(learner.decision_function(X), solver.decision_function(X), rtol=1e-3, atol=1e-3)

    def test_batches_do_not_matter(self):
        X, y = pydata.classes(90, n_classes=3)
        one = OnlineKarma(C=5.0, scale=3.0).fit(X, y)
        many = OnlineKarma(C=5.0, scale=3.0)
        for i in range(90):
            many.partial_fit(X[i:i + 1], y[i:i + 1], classes=[0, 1, 2])
        np.testing.assert_allclose(many.decision_function(X), one.decision_function(X), rtol=1e-4, atol=1e-5)
        self.assertEqual(many.account_["mistakes"].iloc[-1], one.account_["mistakes"].iloc[-1])
        self.assertEqual(len(many.account_), 90)

    def test_regret_falls(self):
        X, y = pydata.classes(600)
        learner = OnlineKarma()
        early = learner.partial_fit(X[:60], y[:60], classes=[0, 1]).regret(X[:60], y[:60])
        late = learner.partial_fit(X[60:], y[60:]).regret(X, y)
        self.assertGreater(early["regret_per_round"], late["regret_per_round"])
        self.assertEqual(late["rounds"], 600)
        account = learner.account_
        self.assertLess(account["error_rate"].iloc[-1], account["majority_error"].iloc[-1])
        with self.assertRaisesRegex(ValueError, "600"):
            learner.regret(X[:5], y[:5])

    def test_pickles_go_on(self):
        X, y = pydata.classes(90)
        learner = OnlineKarma(C=5.0, scale=3.0).partial_fit(X[:50], y[:50], classes=[0, 1])
        copy = pickle.loads(pickle.dumps(learner))
        learner.partial_fit(X[50:], y[50:])
        copy.partial_fit(X[50:], y[50:])
        np.testing.assert_array_equal(copy.decision_function(X), learner.decision_function(X))

    def test_refusals(self):
        X, y = pydata.classes(30)
        with self.assertRaisesRegex(ValueError, "first call"):
            OnlineKarma().partial_fit(X, y)
        learner = OnlineKarma().partial_fit(X, y, classes=[0, 1])
        with self.assertRaisesRegex(ValueError, "class 7"):
            learner.partial_fit(X, np.full(30, 7))

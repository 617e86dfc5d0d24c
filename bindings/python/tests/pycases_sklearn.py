"""The estimators within scikit-learn: pipelines, searches, calibration, weights, pickles."""
import io
import pickle
import unittest

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import karma
import pydata
from karma import KarmaClassifier, KarmaRegressor


class Tools(unittest.TestCase):
    def setUp(self):
        self.X, self.y = pydata.classes()

    def test_cross_val_score_is_above_chance(self):
        self.assertGreater(cross_val_score(KarmaClassifier(gamma=2), self.X, self.y, cv=3).mean(), 0.7)

    def test_grid_search(self):
        search = GridSearchCV(KarmaClassifier(), {"gamma": [1, 3], "C": [0.1, 10.0]}, cv=3).fit(self.X, self.y)
        self.assertIn(search.best_params_["gamma"], (1, 3))
        self.assertEqual(len(set(search.cv_results_["params"][i]["C"] for i in range(4))), 2)
        self.assertGreater(search.score(self.X, self.y), 0.7)

    def test_grid_search_in_processes(self):
        search = GridSearchCV(KarmaClassifier(threads=1), {"gamma": [1, 2]}, cv=2, n_jobs=2).fit(self.X, self.y)
        alone = GridSearchCV(KarmaClassifier(threads=1), {"gamma": [1, 2]}, cv=2).fit(self.X, self.y)
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])

    def test_pipeline_and_column_transformer(self):
        frame, y = pydata.frame()
        scale = ColumnTransformer([("numbers", StandardScaler(), ["a", "b", "c"])], remainder="passthrough")
        scale.set_output(transform="pandas")
        pipeline = make_pipeline(scale, KarmaClassifier(gamma=2)).fit(frame, y)
        self.assertGreater(pipeline.score(frame, y), 0.8)
        self.assertIn("remainder__word", pipeline[-1].feature_names_in_)

    def test_calibration(self):
        calibrated = CalibratedClassifierCV(KarmaClassifier(gamma=2), cv=3).fit(self.X, self.y)
        np.testing.assert_allclose(calibrated.predict_proba(self.X).sum(axis=1), 1.0)

    def test_permutation_importance(self):
        model = KarmaClassifier(gamma=2).fit(self.X, self.y)
        found = permutation_importance(model, self.X, self.y, n_repeats=3, random_state=0).importances_mean
        self.assertGreater(found[0], found[2])

    def test_cross_val_predict_of_probabilities(self):
        p = cross_val_predict(KarmaClassifier(gamma=2, probabilities="sigmoid"), self.X, self.y, method="predict_proba", cv=3)
        self.assertGreater(((p[:, 1] > 0.5) == self.y).mean(), 0.7)


class Settings(unittest.TestCase):
    def test_clone_and_parameters(self):
        model = KarmaClassifier(gamma=3, class_weight={"a": 2.0})
        copy = clone(model)
        self.assertEqual(copy.get_params(), model.get_params())
        copy.set_params(gamma=1, effort="quick")
        self.assertEqual((copy.gamma, copy.effort, model.gamma), (1, "quick", 3))

    def test_every_option_is_a_keyword(self):
        keys = set(KarmaClassifier().get_params()) | set(KarmaRegressor().get_params())
        wanted = set(karma.options("fit")) | set(karma.options("search"))
        self.assertEqual(wanted - keys, {"task"})
        for key in ("gamma", "rank_form", "effort"):
            self.assertIn(f"    {key} : ", KarmaClassifier.__doc__)

    def test_slips_are_named(self):
        with self.assertRaisesRegex(TypeError, "did you mean 'gamma'"):
            KarmaClassifier(gama=2)
        with self.assertRaisesRegex(TypeError, "did you mean 'seed'"):
            KarmaClassifier(random_state=2)
        with self.assertRaisesRegex(ValueError, "gamma"):
            KarmaClassifier(gamma=0).fit(*pydata.classes())
        with self.assertRaisesRegex(TypeError, "gamma"):
            KarmaClassifier(gamma=object()).fit(*pydata.classes())

    def test_numbers_of_other_types(self):
        X, y = pydata.classes()
        wanted = KarmaClassifier(gamma=2, threads=1).fit(X, y).predict(X)
        for one, two in ((np.int64(1), np.int8(2)), (1.0, 2.0), ("1", "2")):
            np.testing.assert_array_equal(KarmaClassifier(gamma=two, threads=one).fit(X, y).predict(X), wanted)

    def test_before_fit(self):
        model = pickle.loads(pickle.dumps(KarmaClassifier(gamma=2)))
        self.assertEqual(model.gamma, 2)
        for use in (lambda: model.predict([[1.0]]), lambda: model.search_results_, lambda: karma.save(model, "never")):
            with self.assertRaises(NotFittedError):
                use()

    def test_pickle_and_joblib(self):
        X, y = pydata.classes(n_classes=3)
        model = KarmaClassifier(gamma=2).fit(X, y)
        file = io.BytesIO()
        joblib.dump(model, file)
        file.seek(0)
        for copy in (pickle.loads(pickle.dumps(model)), joblib.load(file)):
            np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
            np.testing.assert_array_equal(copy.classes_, model.classes_)

    def test_threads_do_not_change_a_bit(self):
        X, y = pydata.numbers()
        one, two = (KarmaRegressor(gamma=2, threads=n).fit(X, y).predict(X) for n in (1, 2))
        np.testing.assert_array_equal(one, two)


class Labels(unittest.TestCase):
    def test_classes_of_many_types(self):
        X, y = pydata.classes(n_classes=3)
        for labels in ([10, 9, -1], [1.0, 2.0, -3.0], ["b", "a", "ä"], [2**60, 2**60 + 512, 5]):
            with self.subTest(labels=labels):
                own = np.array(labels)[y]
                model = KarmaClassifier(gamma=2).fit(X, own)
                np.testing.assert_array_equal(model.classes_, np.unique(own))
                self.assertGreater(model.score(X, own), 0.5)  # by chance a third
                scores = model.decision_function(X)
                np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))

    def test_two_classes_have_one_score(self):
        X, y = pydata.classes()
        for labels in ([9, 10], [False, True], ["no", "yes"]):
            own = np.array(labels)[y]
            model = KarmaClassifier(gamma=2, probabilities="sigmoid").fit(X, own)
            scores, p = model.decision_function(X), model.predict_proba(X)
            self.assertEqual(scores.shape, (len(X),))
            self.assertGreater(np.corrcoef(scores, y)[0, 1], 0.5)
            np.testing.assert_allclose(p.sum(axis=1), 1.0)
            np.testing.assert_array_equal(model.predict(X), model.classes_[(p[:, 1] > p[:, 0]).astype(int)])

    def test_texts_in_another_order_than_numbers(self):
        """Whole numbers beyond 2^53 are texts to the library: 9 comes after 10 there."""
        X, y = pydata.classes()
        own = np.array([900, 1000], dtype=np.int64)[y] * 10**15
        scores = KarmaClassifier(gamma=2).fit(X, own).decision_function(X)
        np.testing.assert_allclose(scores, KarmaClassifier(gamma=2).fit(X, y).decision_function(X), atol=0.05)

    def test_scores_agree_with_isotonic_probabilities(self):
        """Isotonic probabilities are 0 and 1 at the ends; scores stay finite."""
        for n_classes in (2, 3):
            X, y = pydata.classes(n_classes=n_classes)
            model = KarmaClassifier(gamma=2, probabilities="isotonic").fit(X, y)
            scores = model.decision_function(X)
            self.assertTrue(np.isfinite(scores).all())
            places = (scores > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
            self.assertGreater((model.classes_[places] == model.predict(X)).mean(), 0.9)  # ties may go either way

    def test_probabilities_are_off_by_default(self):
        model = KarmaClassifier(gamma=2).fit(*pydata.classes())
        with self.assertRaises(AttributeError):
            model.predict_proba
        self.assertFalse(hasattr(model, "predict_proba"))

    def test_labels_of_pandas(self):
        X, y = pydata.classes()
        names = np.array(["no", "yes"])[y]
        for labels, wanted in ((pd.Series(y, dtype="Int64"), [0, 1]), (pd.Series(y == 1, dtype="boolean"), [False, True]),
                               (pd.Series(names, dtype="string"), ["no", "yes"]), (pd.Categorical(names), ["no", "yes"])):
            model = KarmaClassifier(gamma=2).fit(X, labels)
            self.assertEqual(model.classes_.tolist(), wanted)
            self.assertEqual(model.predict(X).dtype, model.classes_.dtype)

    def test_missing_labels_are_refused(self):
        X, y = pydata.classes(3)
        for labels in ([None, "a", "b"], [np.nan, 1.0, 0.0], pd.Series([1, None, 0], dtype="Int64"), ["", "a", "b"]):
            with self.subTest(labels=labels), self.assertRaisesRegex(ValueError, "Input y contains"):
                KarmaClassifier(gamma=2).fit(X, np.array(labels, dtype=object) if isinstance(labels, list) else labels)

    def test_one_class_is_refused(self):
        with self.assertRaisesRegex(ValueError, "class"):
            KarmaClassifier(gamma=2).fit(pydata.classes()[0], ["a"] * 120)

    def test_quantiles(self):
        X, y = pydata.numbers(300)
        model = KarmaRegressor(quantile=[0.1, 0.5, 0.9], gamma=2).fit(X, y)
        q = model.predict_quantiles(X)
        np.testing.assert_array_equal(model.quantiles_, [0.1, 0.5, 0.9])
        self.assertTrue((np.diff(q, axis=1) >= 0).all())
        np.testing.assert_array_equal(model.predict(X), q[:, 1])
        self.assertLess(abs((y <= q[:, 2]).mean() - 0.9), 0.1)
        self.assertFalse(hasattr(KarmaRegressor(gamma=2).fit(X, y), "predict_quantiles"))


class Certainty(unittest.TestCase):
    def test_sets(self):
        X, y = pydata.classes(400, n_classes=3)
        own = np.array(["b", "c", "a"])[y]
        model = KarmaClassifier(gamma=2, sets=0.8).fit(X[:200], own[:200])
        wide, narrow = model.predict_sets(X[200:], 0.95), model.predict_sets(X[200:])
        column = np.searchsorted(model.classes_, own[200:])
        self.assertTrue((narrow <= wide).all() and narrow.any(axis=1).all())
        self.assertTrue(narrow[np.arange(200), np.searchsorted(model.classes_, model.predict(X[200:]))].all())
        self.assertGreater(narrow[np.arange(200), column].mean(), 0.7)
        self.assertGreater(wide[np.arange(200), column].mean(), 0.87)
        self.assertLess(narrow.sum(axis=1).mean(), wide.sum(axis=1).mean())

    def test_intervals(self):
        X, y = pydata.numbers(400)
        model = KarmaRegressor(gamma=2, intervals=0.8).fit(X[:200], y[:200])
        low, high = model.predict_intervals(X[200:]).T
        self.assertTrue((low < high).all())
        self.assertGreater(((low <= y[200:]) & (y[200:] <= high)).mean(), 0.7)
        far = model.predict_intervals(X[200:], 0.99)
        self.assertTrue((far[:, 0] < low).all() and (far[:, 1] > high).all())
        self.assertTrue(np.isinf(model.predict_intervals(X[200:], 0.9999)).all())
        with self.assertRaisesRegex(ValueError, "level"):
            model.predict_intervals(X, 1.5)

    def test_where_there_are_none(self):
        X, y = pydata.classes()
        for model in (KarmaClassifier(gamma=2), KarmaClassifier(gamma=2).fit(X, y), KarmaRegressor(gamma=2).fit(X, y),
                      KarmaClassifier(certainty="off")):
            self.assertFalse(hasattr(model, "predict_sets") or hasattr(model, "predict_intervals"))
        searched = KarmaClassifier(effort="quick")
        self.assertTrue(hasattr(searched, "predict_sets") and hasattr(searched, "predict_proba"))
        searched.fit(X, y)
        self.assertTrue(hasattr(searched, "predict_sets") and hasattr(searched, "predict_proba"))
        self.assertEqual(searched.predict_sets(X).shape, (120, 2))


class Weights(unittest.TestCase):
    def setUp(self):
        self.X, self.y = pydata.classes()
        self.model = KarmaClassifier(kernel="linear", gamma=2, tolerance=1e-9, scale=3, C=10.0, standardise=False)

    def scores(self, *args, **keywords):
        return clone(self.model).fit(*args, **keywords).decision_function(self.X)

    def test_ones_are_no_weights(self):
        np.testing.assert_array_equal(self.scores(self.X, self.y, sample_weight=np.ones(120)), self.scores(self.X, self.y))

    def test_zero_leaves_a_row_out(self):
        weights = np.ones(120)
        weights[:20] = 0
        np.testing.assert_array_equal(self.scores(self.X, self.y, sample_weight=weights),
                                      self.scores(self.X[20:], self.y[20:]))

    def test_two_is_twice_the_row(self):
        weights = np.ones(120)
        weights[:30] = 2
        X, y = np.vstack([self.X, self.X[:30]]), np.concatenate([self.y, self.y[:30]])
        np.testing.assert_allclose(self.scores(self.X, self.y, sample_weight=weights), self.scores(X, y), atol=1e-4)

    def test_two_halves_are_the_row(self):
        """Trees count rows: two halves of a row, or all rows four times, are the rows."""
        for part, weights in ((0.5, None), (1 / 4, np.arange(120) % 3 + 1)):
            m = round(1 / part)
            own = np.ones(120) if weights is None else weights.astype(float)
            one, two = (clone(self.model).set_params(kernel="boost").fit(X, y, sample_weight=w).decision_function(self.X) for X, y, w in
                        ((self.X, self.y, weights), (np.repeat(self.X, m, axis=0), np.repeat(self.y, m), np.repeat(own * part, m))))
            np.testing.assert_allclose(two, one, rtol=1e-6)

    def test_order_of_rows_matters_by_the_tolerance_only(self):
        """What scikit-learn's check of weights asks for, at a tolerance that matches it."""
        order = np.random.default_rng(0).permutation(120)
        np.testing.assert_allclose(self.scores(self.X[order], self.y[order]), self.scores(self.X, self.y), atol=1e-4)

    def test_class_weight(self):
        rare = np.where(np.arange(120) % 10 == 0, self.y, 0)
        plain = clone(self.model).fit(self.X, rare).predict(self.X)
        heavy = clone(self.model).set_params(class_weight={1: 50.0}).fit(self.X, rare).predict(self.X)
        balanced = clone(self.model).set_params(class_weight="balanced").fit(self.X, rare).predict(self.X)
        with self.assertRaisesRegex(ValueError, "sample_weight"):
            clone(self.model).set_params(class_weight={"a,b": 50.0}).fit(self.X, rare)
        self.assertGreater(heavy.sum(), plain.sum())
        self.assertGreater(balanced.sum(), plain.sum())

    def test_bad_weights_are_refused(self):
        for weights in (-np.ones(120), np.ones(5), np.full(120, np.nan)):
            with self.assertRaises(ValueError):
                self.scores(self.X, self.y, sample_weight=weights)

"""Explanations as frames, figures, and what notebooks show."""
import subprocess
import sys
import unittest

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("Agg")

import karma
import pydata
from karma import KarmaClassifier, KarmaRegressor


class Frames(unittest.TestCase):
    def test_parts_sum_to_the_score(self):
        frame, y = pydata.frame()
        for options in ({"kernel": "linear", "gamma": 2}, {"kernel": "rank", "outer": "rbf"}):
            model = KarmaClassifier(**options).fit(frame, y)
            parts = model.explain(frame.head(20), samples=20)
            np.testing.assert_allclose(parts.sum(axis=1), model.decision_function(frame.head(20)), atol=1e-4)
            np.testing.assert_array_equal(parts[frame.columns].isna(), frame.head(20).isna())

    def test_parts_of_several_classes(self):
        X, y = pydata.classes(n_classes=3)
        model = KarmaClassifier(gamma=2).fit(X, y)
        for output in range(3):
            np.testing.assert_allclose(model.explain(X[:9], output=output).sum(axis=1), model.decision_function(X[:9])[:, output],
                                       atol=1e-4)

    def test_parts_of_classes_in_another_order(self):
        """Whole numbers beyond 2^53 are texts to the library, and ordered as such: 1000... comes before 900..."""
        X, y = pydata.classes(n_classes=3)
        for labels in ([900, 1000, 2000], [900, 1000, 900]):
            own = np.array(labels, dtype=np.int64)[y] * 10**15
            model = KarmaClassifier(gamma=2).fit(X, own)
            scores = model.decision_function(X[:9]).reshape(9, -1)
            for output in range(scores.shape[1]):
                np.testing.assert_allclose(model.explain(X[:9], output=output).sum(axis=1), scores[:, output], atol=1e-4)

    def test_importance_finds_the_column(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 4))
        y = np.array(["low", "high"])[(X[:, 2] > 0).astype(int)]
        model = KarmaClassifier(gamma=2).fit(X[:200], y[:200])
        found = model.importance(X[200:], y[200:], repeats=3)
        self.assertEqual(found["attribute"][0], "c3")
        self.assertGreater(found["importance"][0], 0.2)
        regressor = KarmaRegressor(gamma=2).fit(X[:200], X[:200, 1])
        self.assertEqual(regressor.importance(X[200:], X[200:, 1])["attribute"][0], "c2")

    def test_overlap_warns(self):
        X, y = pydata.classes()
        model = KarmaClassifier(gamma=2).fit(X, y)
        rows = np.vstack([X[:1], np.full((1, 5), np.nan)])
        self.assertEqual(list(model.overlap(rows)["level"])[1], "nothing")

    def test_options_of_explanations_are_checked(self):
        X, y = pydata.classes()
        with self.assertRaisesRegex(TypeError, "did you mean 'samples'"):
            KarmaClassifier(gamma=2).fit(X, y).explain(X, sample=3)


class Figures(unittest.TestCase):
    def setUp(self):
        from matplotlib import pyplot

        self.addCleanup(pyplot.close, "all")

    def test_all_of_them(self):
        X, y = pydata.classes()
        model = KarmaClassifier(effort="quick", probabilities="sigmoid").fit(X, y)
        self.assertEqual(len(model.plot_gains().patches), len(model.gains_))
        self.assertEqual(len(model.plot_importance(X, y, n=3, repeats=2).patches), 3)
        self.assertEqual(len(model.plot_calibration(X, y, n_bins=4).lines), 2)
        drawn = karma.plot_missingness(pd.DataFrame(X, columns=list("abcde"))).images[0].get_array()
        np.testing.assert_array_equal(np.asarray(drawn, dtype=bool), np.isnan(X))

    def test_axes_that_are_given_are_used(self):
        from matplotlib import pyplot

        X, y = pydata.classes()
        ax = pyplot.subplots()[1]
        self.assertIs(karma.plot_missingness(X, ax=ax), ax)
        with self.assertRaisesRegex(ValueError, "two classes"):
            KarmaClassifier(gamma=2).fit(*pydata.classes(n_classes=3)).plot_calibration(X, y)

    def test_nothing_is_imported_before_it_is_needed(self):
        code = "import sys, karma; sys.exit(' '.join(m for m in ('matplotlib', 'pandas', 'tqdm') if m in sys.modules) or None)"
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
        self.assertNotIn("matplotlib", done.stderr)
        self.assertNotIn("tqdm", done.stderr)


class Notebooks(unittest.TestCase):
    def test_html(self):
        X, y = pydata.classes()
        model = KarmaClassifier(effort="quick", kernel="linear", class_weight={0: 1.0, 1: 2.0})
        self.assertNotIn("<table>", model._repr_html_())
        text = model.fit(X, y)._repr_html_()
        self.assertIn("cross-validated", text)
        self.assertIn("<table>", text)
        self.assertIn("text/html", model._repr_mimebundle_())

    def test_progress_without_tqdm(self):
        import io
        import sys
        from contextlib import redirect_stderr
        from unittest import mock

        shown = io.StringIO()
        with mock.patch.dict(sys.modules, {"tqdm.auto": None}), redirect_stderr(shown):
            KarmaClassifier(effort="quick", verbose=1).fit(*pydata.classes(300, 10))
        self.assertIn("fold", shown.getvalue())

    def test_progress_of_tqdm(self):
        import io
        from contextlib import redirect_stderr

        X, y = pydata.classes(300, 10)
        shown = io.StringIO()
        with redirect_stderr(shown):
            KarmaClassifier(effort="quick", verbose=1).fit(X, y)
        self.assertGreater(len(shown.getvalue()), 10)

"""scikit-learn's own checks of every estimator, with and without a search."""
import unittest
import warnings

from sklearn.utils.estimator_checks import check_estimator

import karma

# Checks that the tag _xfail_checks leaves out, for the reasons that stand there.
LEFT_OUT = {"check_sample_weights_invariance"}


def run_checks(test, estimator):
    n_run, left_out = 0, set()
    for instance, check in check_estimator(estimator, generate_only=True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(instance)
            n_run += 1
        except unittest.SkipTest as reason:
            left_out.add(str(reason).split()[1])
    test.assertGreater(n_run, 25)
    test.assertLessEqual({name for name in left_out if name.startswith("check_")}, LEFT_OUT)


class Checks(unittest.TestCase):
    def test_classifier(self):
        run_checks(self, karma.KarmaClassifier(effort="off"))

    def test_classifier_with_probabilities(self):
        run_checks(self, karma.KarmaClassifier(effort="off", probabilities="sigmoid", folds=2))

    def test_regressor(self):
        run_checks(self, karma.KarmaRegressor(effort="off"))

    def test_imputer(self):
        run_checks(self, karma.SubspaceImputer())

    def test_online(self):
        run_checks(self, karma.OnlineKarma())

    def test_classifier_with_a_search(self):
        run_checks(self, karma.KarmaClassifier(effort="quick"))

    def test_regressor_with_a_search(self):
        run_checks(self, karma.KarmaRegressor(effort="quick"))

#!/usr/bin/python3
"""The batch solver's optimum against scikit-learn's, as a user would compare them: karma synth, karma gram, karma train.

Needs numpy and scikit-learn; without them it prints one skipped test. KARMA is the binary. Prints TAP.

karma minimises ½|v|² + (C/m) Σ loss and has no intercept (its bias is an attribute), so c = C/m is what scikit-learn
calls C. Its SVC and SVR always have an intercept b. It is made 0 by mirroring: every row φ with target y gets a twin -φ
with target -y, which turns the kernel K into [[K, -K], [-K, K]]. What (v, b) pays for a row, (v, -b) pays for its twin,
so with (v, b) also (v, -b) is optimal and, the objective being convex, (v, 0). There the twin costs what the row costs:
with half the C each, the mirrored objective is the original one, and v = Σ (β_i - β_twin) φ_i.
"""
import os
import random
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cli")]

try:
    import numpy
    from sklearn.svm import SVC, SVR
except ImportError as absent:
    print(f"1..1\nok 1 # SKIP {absent}")
    sys.exit(0)

import csv

import tap
from case import Case

PROBLEMS = 20
AGREEMENT = 1e-4


def mirrored(K):
    return numpy.block([[K, -K], [-K, K]])


def hinge(z, y):
    return numpy.maximum(0, 1 - y * z)


def tube_of(width):
    return lambda z, y: numpy.maximum(0, numpy.abs(z - y) - width)


def squared(z, y):
    return 0.5 * (z - y) ** 2


def primal(K, beta, y, c, loss):
    z = K @ beta
    return 0.5 * beta @ z + c * loss(z, y).sum()


class Sklearn(Case):
    def problem(self, number, task):
        """Draws a table; gives K, the target as karma sees it, C, and the options that say so."""
        draw = random.Random(1000 * number + len(task))
        rows, gamma = draw.choice([20, 45, 80, 150]), draw.choice([1, 2, 3, 4])
        C = draw.choice([0.5, 5, 50, 400])
        kernel = ["--kernel", draw.choice(["linear", "rank"]), "--gamma", str(gamma), "--bias", draw.choice(["0", "1"])]
        made = self.run_karma("synth", "--rows", str(rows), "--dim", str(draw.choice([3, 8, 20])), "--noise", "0.2",
                              "--missing", str(draw.choice([0.2, 0.5])), "--task", task, "--seed", str(number),
                              "-o", "data.csv")
        self.assertEqual(made.code, 0, str(made))
        done = self.run_karma("gram", "data.csv", "--target", "target", *kernel, "-o", "gram.csv", "--quiet")
        self.assertEqual(done.code, 0, str(done))
        K = numpy.loadtxt(self.path("gram.csv"), delimiter=",", ndmin=2)
        self.assertEqual(K.shape, (rows, rows))
        numpy.testing.assert_array_equal(K, K.T)
        with open(self.path("data.csv"), newline="", encoding="utf-8") as file:
            y = numpy.array([float(record["target"]) for record in csv.DictReader(file)])
        if task == "regress":
            y = (y - y.mean()) / y.std()  # population sd: --standardise is on
        return K, y, C, [*kernel, "--C", str(C)]

    def train(self, options, *loss):
        done = self.run_karma("train", "data.csv", "--target", "target", *options, *loss, "--solver", "batch",
                              "--tolerance", "1e-6", "--passes", "100000", "--json", "-o", "model.karma")
        self.assertEqual(done.code, 0, str(done))
        told = done.json()
        self.assertEqual(told["stop"], "converged", str(done))
        self.assertLessEqual(told["gap"], 1e-6)
        return told

    def agree(self, told, K, beta, y, C, loss):
        best = primal(K, beta, y, C / len(y), loss)
        self.assertLessEqual(abs(told["primal"] - best), AGREEMENT * best)
        self.assertLessEqual(told["dual"], best * (1 + 1e-6))  # the dual is below everyone's primal
        self.assertGreater(best, 0)

    @staticmethod
    def unmirror(machine, n):
        beta = numpy.zeros(2 * n)
        beta[machine.support_] = machine.dual_coef_[0]
        return beta[:n] - beta[n:]

    def test_hinge(self):
        for number in range(PROBLEMS):
            with self.subTest(number=number):
                K, y, C, options = self.problem(number, "classify")
                told = self.train(options, "--loss", "hinge")
                machine = SVC(kernel="precomputed", C=0.5 * C / len(y), tol=1e-8)
                machine.fit(mirrored(K), numpy.concatenate([y, -y]))
                beta = self.unmirror(machine, len(y)) * (1 if machine.classes_[1] == 1 else -1)
                self.agree(told, K, beta, y, C, hinge)

    def regression(self, width, *loss):
        for number in range(PROBLEMS):
            with self.subTest(number=number):
                K, y, C, options = self.problem(number, "regress")
                told = self.train(options, *loss)
                machine = SVR(kernel="precomputed", C=0.5 * C / len(y), epsilon=width, tol=1e-8)
                machine.fit(mirrored(K), numpy.concatenate([y, -y]))
                self.agree(told, K, self.unmirror(machine, len(y)), y, C, tube_of(width))

    def test_epsilon_insensitive(self):
        self.regression(0.25, "--loss", "epsilon-insensitive", "--tube", "0.25")

    def test_absolute(self):
        self.regression(0.0, "--loss", "absolute")

    def test_squared(self):
        """(K + (m/C) I) β = y"""
        for number in range(PROBLEMS):
            with self.subTest(number=number):
                K, y, C, options = self.problem(number, "regress")
                told = self.train(options, "--loss", "squared")
                beta = numpy.linalg.solve(K + len(y) / C * numpy.eye(len(y)), y)
                self.agree(told, K, beta, y, C, squared)
                self.assertLessEqual(abs(told["primal"] / primal(K, beta, y, C / len(y), squared) - 1), 1e-5)


if __name__ == "__main__":
    sys.exit(tap.main("test_sklearn"))

"""Real tables: cross_val_score gives the scores of the tool on the same folds, to the last bit of every prediction.

Looks for CSV files with a column `target` in ../shared/data beside the source tree (KARMA_DATA names another place).
"""
import os
import subprocess
import tempfile
import unittest

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

import pydata
from karma import KarmaClassifier, KarmaRegressor

DATA = os.environ.get("KARMA_DATA") or os.path.join(pydata.SOURCE, "..", "shared", "data")
TABLES = {"hepatitis": KarmaClassifier, "penguins": KarmaClassifier, "titanic": KarmaClassifier, "airquality_ny": KarmaRegressor}
MAX_ROWS = 250


def by_tool(X, y, train, test, directory):
    X.iloc[train].assign(target=y.iloc[train]).to_csv(f"{directory}/train.csv", index=False)
    X.iloc[test].to_csv(f"{directory}/test.csv", index=False)
    for words in (["train", "train.csv", "--target", "target", "-o", "m.karma", "--effort", "quick"],
                  ["predict", "m.karma", "test.csv", "-o", "p.csv"]):
        subprocess.run([os.path.abspath(pydata.KARMA), *words], cwd=directory, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return pd.read_csv(f"{directory}/p.csv", float_precision="round_trip")["prediction"].to_numpy()


class Scores(unittest.TestCase):
    def check(self, name):
        path = os.path.join(DATA, name + ".csv")
        if not os.path.exists(path):
            self.skipTest(f"no {name}.csv in {DATA}")
        frame = pd.read_csv(path)
        frame = frame[frame["target"].notna()].head(MAX_ROWS).reset_index(drop=True)
        y = frame.pop("target")
        frame = frame.loc[:, frame.notna().any()]
        is_regression = TABLES[name] is KarmaRegressor
        splits = list((KFold if is_regression else StratifiedKFold)(2, shuffle=True, random_state=7).split(frame, y))
        own = cross_val_score(TABLES[name](effort="quick"), frame, y, cv=splits)
        score = r2_score if is_regression else accuracy_score
        with tempfile.TemporaryDirectory() as directory:
            tool = [score(y.iloc[test], by_tool(frame, y, train, test, directory)) for train, test in splits]
        np.testing.assert_array_equal(own, tool)


def add(name):
    setattr(Scores, f"test_{name}", lambda self: self.check(name))


for table in TABLES:
    add(table)

"""An imputer pipeline, and the same in three lines; and an imputer without donors.

The pipeline has to name the columns of each kind, to encode the categories and to choose imputers. KNNImputer compares every
row with every donor, which takes memory that grows with the square of the rows (scikit-learn issue 15604); SubspaceImputer
keeps a few directions.
"""
import subprocess
import sys

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rng = np.random.default_rng(0)
n = 400
hidden = rng.normal(size=(n, 2))
X = pd.DataFrame(hidden @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(n, 6)), columns=[f"test{j}" for j in range(6)])
X["ward"] = pd.Categorical(np.array(["a", "b", "c"])[np.digitize(hidden[:, 0], [-0.5, 0.5])])
y = np.where(hidden[:, 0] + hidden[:, 1] + 0.3 * rng.normal(size=n) > 0, "well", "ill")
complete = X.copy()
X = X.mask(rng.random(X.shape) < 0.3)

pipeline = make_pipeline(
    make_column_transformer(
        (make_pipeline(StandardScaler(), KNNImputer()), make_column_selector(dtype_include="number")),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), make_column_selector(dtype_include="category"))),
    LogisticRegression())
print(f"imputers and encoders: {cross_val_score(pipeline, X, y, cv=5).mean():.3f}")

from karma import KarmaClassifier  # noqa: E402

scores = cross_val_score(KarmaClassifier(effort="quick"), X, y, cv=5)
print(f"KarmaClassifier:       {scores.mean():.3f}")

from karma import SubspaceImputer  # noqa: E402

numbers = [name for name in X if name != "ward"]
missing = X[numbers].isna().to_numpy()
for name, imputer in (("KNNImputer", KNNImputer()), ("SubspaceImputer", SubspaceImputer())):
    filled = np.asarray(imputer.fit_transform(X[numbers]))
    error = np.sqrt(np.mean((filled - complete[numbers].to_numpy())[missing] ** 2))
    print(f"{name:16s} root mean squared error of the completed cells {error:.3f}")

# Megabytes that completing rows takes beyond loading the libraries, each in a process of its own.
MEASURE = """
import resource, sys
import numpy as np
from sklearn.impute import KNNImputer
from karma import SubspaceImputer
rng = np.random.default_rng(0)
rows = rng.normal(size=(2000, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(2000, 6))
rows[rng.random(rows.shape) < 0.3] = np.nan
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{"KNNImputer": KNNImputer, "SubspaceImputer": SubspaceImputer}[sys.argv[1]]().fit_transform(rows)
print(f"{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.0f}")
"""
for name in ("KNNImputer", "SubspaceImputer"):
    done = subprocess.run([sys.executable, "-c", MEASURE, name], stdout=subprocess.PIPE, text=True, check=True)
    print(f"{name:16s} 2000 rows take {done.stdout.strip()} MB")

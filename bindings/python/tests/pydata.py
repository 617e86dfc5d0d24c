"""Tables for the tests."""
import os

import numpy as np
import pandas as pd

SOURCE = os.environ.get("KARMA_SOURCE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
KARMA = os.environ.get("KARMA") or os.path.join(SOURCE, "build", "karma")


def numbers(n=120, d=5, seed=0, missing=0.2):
    """X with missing cells and the numbers y that they explain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ np.linspace(1.0, -1.0, d) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def classes(n=120, d=5, seed=0, missing=0.2, n_classes=2):
    X, y = numbers(n, d, seed, missing)
    return X, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def frame(n=120, seed=0):
    """Numbers, a category, texts, nullable integers and booleans, all with missing cells but the last."""
    X, y = classes(n, 3, seed)
    rng = np.random.default_rng(seed + 1)
    f = pd.DataFrame(X, columns=["a", "b", "c"])
    noisy = np.where(rng.random(n) < 0.8, y, 1 - y)
    f["colour"] = pd.Series(np.array(["red", "blue"])[noisy]).where(rng.random(n) > 0.2).astype("category")
    f["word"] = pd.Series(np.array(["x", "y", "z"])[rng.integers(0, 3, n)]).where(rng.random(n) > 0.2, None)
    f["count"] = pd.Series(rng.integers(0, 9, n)).where(rng.random(n) > 0.2).astype("Int64")
    f["flag"] = rng.random(n) > 0.5
    return f, np.array(["no", "yes"])[y]

"""Ratings: most cells are missing, and a missing rating is not a rating of 0.

For a sparse matrix, choose what an absent cell is: absent="missing" or absent="zero". The kernel compares two users on the
items that both rated. Shows a kernel machine with native missing values (scikit-learn issue 9854): our own, and scikit-learn's
with our kernel.
"""
import numpy as np
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from karma import KarmaClassifier, karma_kernel

rng = np.random.default_rng(0)
users, items, tastes = 300, 80, 3
taste, appeal = rng.normal(size=(users, tastes)), rng.normal(size=(tastes, items))
rating = np.clip(np.round(3 + taste @ appeal + 0.5 * rng.normal(size=(users, items))), 1, 5)
is_rated = rng.random(rating.shape) < 0.15
ratings = sparse.csr_matrix(np.where(is_rated, rating, 0.0))
likes = np.where(taste @ rng.normal(size=tastes) > 0, "likes", "does not")  # an item that is not among the columns
print(f"{users} users, {items} items, {ratings.nnz / rating.size:.0%} of the ratings known")

for absent in ("missing", "zero"):
    model = KarmaClassifier(absent=absent, kernel="linear", gamma=2)
    print(f"absent cells are {absent:8s} accuracy {cross_val_score(model, ratings, likes, cv=5).mean():.3f}")

cells = np.where(is_rated, rating, np.nan)
values = karma_kernel(cells, kernel="linear", gamma=2)  # any kernel machine takes these; NaN is missing, not filled in
print(f"SVC with this kernel           accuracy {cross_val_score(SVC(kernel='precomputed'), values, likes, cv=5).mean():.3f}")

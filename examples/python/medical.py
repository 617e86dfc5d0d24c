"""A medical table: a third of the cells are missing, some columns are categories, and new patients have other holes.

Shows two things that scikit-learn's users ask for: categories without an imputer or an encoder (scikit-learn issue 31219),
and columns that are complete in training and missing at prediction (issue 13773).
"""
import os

import pandas as pd
from sklearn.model_selection import cross_val_score

from karma import KarmaClassifier

HERE = os.path.dirname(os.path.abspath(__file__))
clinic = pd.read_csv(os.path.join(HERE, "..", "clinic.csv")).drop(columns="patient")
X, y = clinic.drop(columns="outcome"), clinic["outcome"]
print(f"{len(X)} patients, {X.shape[1]} columns, {X.isna().to_numpy().mean():.0%} of the cells missing")

model = KarmaClassifier(effort="quick", probabilities="sigmoid", seed=1)
scores = cross_val_score(model, X, y, cv=5)
print(f"cross-validated accuracy {scores.mean():.3f}, always the most common class {y.value_counts(normalize=True).max():.3f}")

model.fit(X, y)
print("the search tried", model.search_info_["n_tried"], "candidates; the best:")
print(model.search_results_.head(3).to_string(index=False))

new = pd.read_csv(os.path.join(HERE, "..", "clinic-new.csv"))
rows, truth = new[X.columns].copy(), new.get("outcome")
print("probabilities of three new patients:", model.predict_proba(rows.head(3))[:, 1].round(2))

# The laboratory is closed: a column that training had is missing in every new row.
without = rows.copy()
without["troponin"] = None
changed = (model.predict(without) != model.predict(rows)).mean()
print(f"without troponin {changed:.0%} of the predictions change; none fails")

print("what one prediction is made of:")
print(model.explain(rows.head(1)).T.dropna().sort_values(0, key=abs, ascending=False).head(5).round(3).to_string(header=False))

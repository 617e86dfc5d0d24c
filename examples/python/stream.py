"""A stream: predicted first, then learned from, with an account of what was lost on the way."""
import numpy as np

from karma import OnlineKarma

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 2)) @ rng.normal(size=(2, 10))
y = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
X[rng.random(X.shape) < 0.3] = np.nan

learner = OnlineKarma(gamma=2)
for first in range(0, len(X), 250):  # a day of the stream
    learner.partial_fit(X[first:first + 250], y[first:first + 250], classes=["down", "up"])
print(learner.account_[["rounds", "mean_loss", "error_rate", "majority_error", "n_kept"]].round(3).to_string(index=False))

regret = learner.regret(X, y)
print(f"hinge loss {regret['learner']:.0f}, that of the best machine in hindsight {regret['best']:.0f}: "
      f"regret {regret['regret_per_round']:.3f} per row")

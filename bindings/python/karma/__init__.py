"""karma: learning classifiers and regressors from tables with missing cells.

Estimators for scikit-learn on top of the library libkarma. A missing cell is NaN, None or pandas.NA; it is never filled in.

>>> from karma import KarmaClassifier
>>> classifier = KarmaClassifier().fit(X, y)          # chooses kernel and settings by cross-validation
>>> classifier.predict(X_new)
"""
from . import _karma
from ._estimators import KarmaClassifier, KarmaRegressor, load, save
from ._options import options

__version__ = _karma.version()
__all__ = ["KarmaClassifier", "KarmaRegressor", "load", "options", "save"]

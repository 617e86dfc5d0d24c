"""karma: learning classifiers and regressors from tables with missing cells.

Estimators for scikit-learn on top of the library libkarma. A missing cell is NaN, None or pandas.NA; it is never filled in.

>>> from karma import KarmaClassifier
>>> classifier = KarmaClassifier().fit(X, y)          # chooses kernel and settings by cross-validation
>>> classifier.predict(X_new)
"""
from . import _load  # must be first: it determines how the threads of the library wait
from . import _karma
from ._estimators import KarmaClassifier, KarmaRegressor, load, save
from ._imputer import SubspaceImputer
from ._kernel import compare, karma_kernel
from ._online import OnlineKarma
from ._options import options
from ._reports import plot_missingness

__version__ = _karma.version()
__all__ = ["KarmaClassifier", "KarmaRegressor", "OnlineKarma", "SubspaceImputer", "compare", "karma_kernel", "load", "options",
           "plot_missingness", "save"]

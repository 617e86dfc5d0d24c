"""Arrays, frames, sparse matrices and Arrow data as tables of the library."""
from __future__ import annotations

import datetime
import decimal
import numbers
import sys
from typing import Any, Optional, Sequence

import numpy as np
from sklearn.utils import check_array

from . import _karma
from ._options import class_text, number_text

# One column as the library takes it: (name, numbers), (name, codes, levels) or (name, codes, levels, True) if it is ordered.
Column = tuple
NATIVE = frozenset("bBhHiIlLqQfd?")
DATE = "date"  # the kind of a column that becomes the numbers below
DATE_PARTS = ("year", "month", "weekday", "hour", "days")
EXACT = 2.0**53  # whole numbers below this are themselves as doubles


def without_mask(X: Any) -> Any:
    """Cells that a masked array of NumPy hides are missing."""
    if not np.ma.isMaskedArray(X):
        return X
    if X.dtype.kind not in "OUSMm":
        return X.astype(np.float64).filled(np.nan)
    cells = np.asarray(X, dtype=object).copy()
    cells[np.ma.getmaskarray(X)] = None
    return cells


def is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def is_frame(X: Any) -> bool:
    """A frame of pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def is_arrow(X: Any) -> bool:
    return hasattr(X, "__arrow_c_stream__") and not is_frame(X)


def default_names(n: int) -> list[str]:
    """What the library calls columns that have no names."""
    return [f"c{j + 1}" for j in range(n)]


class Data:
    """X as a table: the capsule, and what is known of the columns.

    names: of the columns as the caller knows them, or None. kinds: for each of the columns True (categories), False
    (numbers), DATE, a tuple of levels (an ordered category) or None (nothing observed). A new table for a model is made with the names and the kinds of the old one.
    """

    def __init__(self, X: Any, *, absent: Optional[str] = None, names: Optional[Sequence[str]] = None,
                 kinds: Optional[Sequence[Optional[bool]]] = None, min_rows: int = 1, estimator: Any = None):
        self.names: Optional[list[str]] = list(names) if names is not None else None
        self.kinds: list[Optional[bool]] = list(kinds) if kinds is not None else []
        self._is_new = kinds is None
        if is_sparse(X):
            self._from_sparse(X, absent, min_rows, estimator)
        elif is_arrow(X):
            self._from_arrow(X)
        elif is_frame(X):
            self._from_frame(X, min_rows)
        else:
            self._from_array(without_mask(X), min_rows, estimator)
        self.n_rows: int = _karma.table_n_rows(self.table)

    @property
    def target_name(self) -> str:
        """A name that no column has, so that names in files are unique."""
        name = "target"
        while self.names is not None and name in self.names:
            name += "_"
        return name

    def add_numbers(self, y: np.ndarray) -> None:
        """The target of a regression."""
        _karma.table_add_numbers(self.table, self.target_name, np.ascontiguousarray(y, dtype=np.float64))

    def add_classes(self, y: np.ndarray) -> None:
        """Numbers are classes in their own order, as in a file of the tool. Other classes are texts."""
        if y.dtype.kind in "iuf" and (len(y) == 0 or np.abs(y.astype(np.float64)).max() < EXACT):
            self.add_numbers(y)
        else:
            texts = {label: class_text(label) for label in set(y.tolist())}
            _karma.table_add_classes(self.table, self.target_name, [texts[label] for label in y.tolist()])

    def set_weights(self, weights: np.ndarray) -> None:
        _karma.table_set_weights(self.table, weights)

    def _from_sparse(self, X: Any, absent: Optional[str], min_rows: int, estimator: Any) -> None:
        if absent not in ("zero", "missing"):
            raise TypeError("sparse input: say what a cell that is not stored means, with absent='zero' or absent='missing'")
        X = check_array(X, accept_sparse="csr", dtype=np.float64, force_all_finite="allow-nan", accept_large_sparse=True,
                        ensure_min_samples=min_rows, estimator=estimator)
        X.check_format(full_check=True)  # indices out of range would end the process in SciPy's sort
        if not X.has_sorted_indices or not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.n_columns = X.shape[1]
        self._number_kinds()
        self.table = _karma.table_from_csr(X.data, X.indices.astype(np.int64, copy=False),
                                           X.indptr.astype(np.int64, copy=False), X.shape[1], absent == "zero", self.names)

    def _number_kinds(self) -> None:
        if self._is_new:
            self.kinds = [False] * self.n_columns

    def _from_arrow(self, X: Any) -> None:
        self.table = _karma.table_from_arrow(X.__arrow_c_stream__())
        columns = _karma.table_columns(self.table)
        self.n_columns = len(columns)
        if self._is_new:
            self.names = [name for name, _, _ in columns]
            self.kinds = [is_category for _, is_category, _ in columns]
        elif self.names is not None and {name for name, _, _ in columns} != set(self.names):
            raise ValueError("The feature names should match those that were passed during fit.")

    def _from_frame(self, X: Any, min_rows: int) -> None:
        if X.shape[0] < min_rows:
            raise ValueError(f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {min_rows} is "
                             "required.")
        if X.shape[1] == 0:
            raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        if self._is_new and self.names is None and all(isinstance(name, str) for name in X.columns):
            self.names = list(X.columns)
        self._from_columns([X.iloc[:, j] for j in range(X.shape[1])], X.shape[0])

    def _from_array(self, X: Any, min_rows: int, estimator: Any) -> None:
        X = check_array(X, dtype=None, force_all_finite=False, ensure_min_samples=min_rows, estimator=estimator)
        if X.dtype.kind in "OUSMm":
            self._from_columns([X[:, j] for j in range(X.shape[1])], X.shape[0])
            return
        if X.dtype.kind not in "biuf":
            raise TypeError(f"an array of type {X.dtype}: the argument must be a string or a number")
        if X.dtype.char not in NATIVE or not X.dtype.isnative:
            X = X.astype(np.float64)
        if X.dtype.kind == "f" and np.isinf(X).any():
            raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
        self.n_columns = X.shape[1]
        if any(self.kinds):  # the model learned categories or dates
            self._from_columns([X[:, j] for j in range(X.shape[1])], X.shape[0])
            return
        self._number_kinds()
        self.table = _karma.table_from_array(X, self.names)

    def _from_columns(self, columns: Sequence[Any], n_rows: int) -> None:
        self.n_columns = len(columns)
        names = self.names if self.names is not None else default_names(self.n_columns)
        wanted = self.kinds if not self._is_new else [None] * self.n_columns
        specs: list[Column] = []
        kinds: list[Optional[bool]] = []
        for name, column, kind in zip(names, columns, wanted):
            parts, found = convert(name, column, kind, self._is_new)
            specs += parts
            kinds.append(found)
        if self._is_new:
            self.kinds = kinds
        self.table = _karma.table_from_columns(n_rows, specs)


# --- columns ---------------------------------------------------------------------------------------------------------


def convert(name: str, values: Any, kind: Optional[bool], is_new: bool) -> tuple[list[Column], Optional[bool]]:
    """The columns that are learned from one column, and its kind. kind: that which the model learned; None: any."""
    dtype = values.dtype
    if isinstance(kind, tuple):
        return _ordered(name, values, kind), kind
    if hasattr(values, "cat") and kind is not DATE:
        return _categories(name, values, kind)
    moments = _moments(values)
    if moments is not None and kind in (None, DATE):
        return _dates(name, moments, is_new), DATE
    if moments is not None or kind is DATE:
        return _not_dates(name, values, kind), kind
    if dtype.kind == "m":
        days = np.asarray(values, dtype="timedelta64[ns]").astype(np.float64) / 86400e9
        days[np.isnat(np.asarray(values, dtype="timedelta64[ns]"))] = np.nan
        return [(name, days)], False
    if dtype.kind in "iufb" and not isinstance(dtype, np.dtype):  # nullable numbers
        numbers_ = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return _numbers(name, numbers_, kind, is_bool=dtype.kind == "b")
    if dtype.kind in "iufb":
        is_bool = dtype.kind == "b" and hasattr(values, "iloc")  # of a frame: False and True are categories
        return _numbers(name, np.asarray(values), kind, is_bool)
    return _objects(name, np.asarray(values, dtype=object), kind)


def _numbers(name: str, values: np.ndarray, kind: Optional[bool], is_bool: bool) -> tuple[list[Column], Optional[bool]]:
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(f"Input X contains infinity or a value too large for dtype('float64') in column '{name}'.")
    if kind is True or (is_bool and kind is not False):
        return [_coded(name, values.astype(bool) if is_bool and values.dtype.kind == "b" else values, is_bool)], True
    if values.dtype.char not in NATIVE or not values.dtype.isnative or values.dtype.kind == "b":
        values = values.astype(np.float64)
    return [(name, values)], False


def _coded(name: str, values: np.ndarray, is_bool: bool) -> Column:
    """Numbers as categories: their texts are the levels."""
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    found, codes = np.unique(values[~missing], return_inverse=True)
    all_codes = np.full(len(values), -1, dtype=np.int32)
    all_codes[~missing] = codes
    return name, all_codes, [str(bool(value)) if is_bool else number_text(value) for value in found]


def _categories(name: str, values: Any, kind: Optional[bool]) -> tuple[list[Column], Optional[bool]]:
    if kind is False:
        return _objects(name, np.asarray(values, dtype=object), kind)
    if kind is None and values.cat.ordered and len(values.cat.categories) > 1 and values.notna().any():
        order = tuple(_category_text(name, level) for level in values.cat.categories)
        return _ordered(name, values, order), order
    codes = np.ascontiguousarray(values.cat.codes, dtype=np.int32)
    levels = [_category_text(name, level) for level in values.cat.categories]
    return [(name, codes, levels)], True if (codes >= 0).any() else kind


def _category_text(name: str, level: Any) -> str:
    """Categories may also be intervals, periods and the like."""
    return _level(name, level) if isinstance(level, str) or _is_number(level) else str(level)


def _ordered(name: str, values: Any, order: tuple[str, ...]) -> list[Column]:
    """Levels that are not in the order are missing."""
    place = {level: k for k, level in enumerate(order)}
    if hasattr(values, "cat"):  # by their codes: as an array, intervals of integers would become those of floats
        places = [place.get(_category_text(name, level), -1) for level in values.cat.categories]
        codes = np.array([*places, -1], dtype=np.int32)[np.asarray(values.cat.codes)]  # -1, missing, is the last
        return [(name, codes, list(order), True)]
    values = np.asarray(values, dtype=object)
    observed = ~missing_cells(values)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[observed] = [place.get(_category_text(name, value), -1) for value in values[observed]]
    return [(name, codes, list(order), True)]


def _moments(values: Any) -> Any:
    """A column of dates or times as a series of moments; None for other columns."""
    kind = values.dtype.kind
    if kind == "M":
        import pandas

        return values if hasattr(values, "dt") else pandas.Series(values)
    if str(values.dtype).startswith("period"):
        return values.dt.to_timestamp()
    if kind != "O" or not isinstance(values.dtype, np.dtype):
        return None
    observed = np.asarray(values)[~missing_cells(np.asarray(values))]
    if len(observed) == 0 or not all(isinstance(value, datetime.date) for value in observed):
        return None
    import pandas

    return pandas.to_datetime(pandas.Series(values))


def _not_dates(name: str, values: Any, kind: Any) -> list[Column]:
    """A column that is dates only now, or was only in training. If nothing is observed there is no contradiction."""
    if not missing_cells(np.asarray(values, dtype=object)).all():
        raise ValueError(f"column '{name}' holds {'other values' if kind is DATE else 'dates'}, but the model learned it as "
                         f"{'dates' if kind is DATE else 'categories' if kind else 'numbers'}")
    return [(name, np.full(len(values), np.nan))]


def _dates(name: str, values: Any, is_new: bool) -> list[Column]:
    """The numbers that the tool learns from a column of dates in a file."""
    moments = values.dt
    hours = moments.hour + moments.minute / 60.0 + (moments.second + moments.microsecond / 1e6) / 3600.0
    midnight = moments.tz_localize(None).dt.normalize() if moments.tz is not None else moments.normalize()
    days = (midnight - midnight.dtype.type("1970-01-01")).dt.days
    parts = dict(zip(DATE_PARTS, (moments.year, moments.month, moments.weekday + 1, hours, days + hours / 24.0)))
    if is_new and not (hours.fillna(0.0) > 0).any():
        del parts["hour"]
    return [(f"{name}.{part}", np.ascontiguousarray(column, dtype=np.float64)) for part, column in parts.items()]


def missing_cells(values: np.ndarray) -> np.ndarray:
    """The places of None, NaN, pandas.NA and NaT in an array of objects."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return np.asarray(pandas.isna(values), dtype=bool)
    return np.array([value is None or value != value for value in values], dtype=bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Real, decimal.Decimal, np.bool_))


def _level(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if _is_number(value):
        return number_text(value)
    raise TypeError(f"column '{name}': the argument must be a string or a number, not {type(value).__name__}")


def _objects(name: str, values: np.ndarray, kind: Optional[bool]) -> tuple[list[Column], Optional[bool]]:
    missing = missing_cells(values)
    observed = values[~missing]
    texts = [_level(name, value) for value in observed]
    is_bool = len(observed) > 0 and all(isinstance(value, (bool, np.bool_)) for value in observed)
    if kind is None and len(observed) and not all(_is_number(value) for value in observed):
        kind = True
    if kind is None and is_bool:
        kind = True
    if kind is True:
        codes = np.full(len(values), -1, dtype=np.int32)
        levels, own = np.unique(np.asarray(texts, dtype=object), return_inverse=True) if texts else ([], [])
        codes[~missing] = own
        return [(name, codes, list(levels))], True
    for value in observed:
        if not _is_number(value):
            raise ValueError(f"column '{name}' holds {value!r}, but the model learned it as numbers")
    numbers_ = np.full(len(values), np.nan)
    try:
        numbers_[~missing] = observed.astype(np.float64)
    except OverflowError:
        raise ValueError(f"column '{name}' holds a number that is too large for dtype('float64')") from None
    columns, _ = _numbers(name, numbers_, False, False)
    return columns, False if len(observed) else kind

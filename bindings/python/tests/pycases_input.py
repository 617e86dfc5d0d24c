"""What X may be: arrays, frames, sparse matrices, Arrow data; and what is refused."""
import ctypes
import datetime
import decimal
import unittest
import unittest.mock
import warnings

import numpy as np
import pandas as pd
from scipy import sparse

import pydata
from karma import KarmaClassifier, KarmaRegressor, _karma
from karma._data import Data


def cells(data):
    out = np.empty((data.n_rows, len(_karma.table_columns(data.table))))
    _karma.table_cells(data.table, out)
    return out


class Arrays(unittest.TestCase):
    def test_types_and_layouts_are_the_same_table(self):
        X = np.arange(24.0).reshape(6, 4)
        wanted = cells(Data(X))
        np.testing.assert_array_equal(wanted, X)
        others = [X.astype(t) for t in ("f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "longdouble", ">f8", object)]
        others += [np.asfortranarray(X), X[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2], X.tolist()]
        for other in others:
            np.testing.assert_array_equal(cells(Data(other)), X)

    def test_missing_cells(self):
        X = np.array([[1.0, None, np.nan], [pd.NA, 2.0, float("nan")], [3.0, 4.0, 5.0]], dtype=object)
        np.testing.assert_array_equal(cells(Data(X)), [[1, np.nan, np.nan], [np.nan, 2, np.nan], [3, 4, 5]])

    def test_texts_in_arrays_are_categories(self):
        data = Data(np.array([["a", 1.0], ["b", None], [None, 2.0]], dtype=object))
        self.assertEqual(data.kinds, [True, False])
        self.assertEqual(_karma.table_columns(data.table)[0], ("c1", True, ["a", "b"]))

    def test_floats_are_not_copied(self):
        """The library reads the caller's own memory."""
        X, _ = pydata.classes()
        seen, make = [], _karma.table_from_array

        def watch(array, names):
            seen.append(array)
            return make(array, names)

        with unittest.mock.patch.object(_karma, "table_from_array", watch):
            for other in (X, np.asfortranarray(X), X.astype(np.float32), X[::2, ::-1]):
                Data(other)
                self.assertTrue(np.shares_memory(seen[-1], other))

    def test_dates_and_spans(self):
        days = np.array([["2024-02-29"], ["NaT"]], dtype="M8[D]")
        np.testing.assert_array_equal(cells(Data(days)), [[2024, 2, 4, 19782], [np.nan] * 4])
        np.testing.assert_array_equal(cells(Data(np.array([[36], ["NaT"]], dtype="m8[h]"))), [[1.5], [np.nan]])

    def test_masked_cells_are_missing(self):
        X, y = pydata.classes()
        holes = np.where(X > 1, np.nan, X)
        self.assertGreater(np.isnan(holes).sum(), np.isnan(X).sum())
        np.testing.assert_array_equal(cells(Data(np.ma.masked_array(X, X > 1))), holes)
        texts = np.ma.masked_array([["u"], ["v"], ["w"]], [[0], [1], [0]])
        self.assertEqual(Data(texts).n_rows, 3)
        self.assertEqual(list(_karma.table_columns(Data(texts).table)[0][2]), ["u", "w"])
        with self.assertRaisesRegex(ValueError, "missing values"):
            KarmaClassifier(gamma=2).fit(X, np.ma.masked_array(y, y == y[0]))

    def test_refusals(self):
        X, y = pydata.classes()
        model = KarmaClassifier(gamma=2).fit(X, y)
        for bad, says in ((X[0], "2D"), (X[:, :2], "features"), (X[:0], "0 sample"), (X + 1j, "omplex"),
                          (np.where(np.isnan(X), np.inf, X), "infinity"), (sparse.csr_matrix(X), "absent")):
            with self.subTest(says=says), self.assertRaisesRegex((ValueError, TypeError), says):
                model.predict(bad)
        with self.assertRaisesRegex(ValueError, "inconsistent"):
            KarmaClassifier(gamma=2).fit(X, y[:-1])
        with self.assertRaisesRegex(TypeError, "string or a number"):
            KarmaClassifier(gamma=2).fit(np.array([[{}], [1.0], [2.0]], dtype=object), [0, 1, 0])


class Frames(unittest.TestCase):
    def test_columns_become_what_they_are(self):
        f, y = pydata.frame()
        data = Data(f)
        self.assertEqual(data.kinds, [False, False, False, True, True, False, True])
        columns = {name: levels for name, _, levels in _karma.table_columns(data.table)}
        self.assertEqual(columns["colour"], ["blue", "red"])
        self.assertEqual(columns["flag"], ["False", "True"])
        got = cells(data)
        np.testing.assert_array_equal(np.isnan(got), f.isna().to_numpy())
        np.testing.assert_array_equal(got[:, 5], f["count"].to_numpy(dtype=float, na_value=np.nan))
        words = np.array(columns["word"])
        observed = f["word"].notna()
        np.testing.assert_array_equal(words[got[observed, 4].astype(int)], f["word"][observed])

    def test_dates_become_the_numbers_that_the_tool_makes(self):
        when = pd.to_datetime(pd.Series(["2024-02-29 18:30", None, "1969-12-31 00:00"]))
        data = Data(pd.DataFrame({"visit": when}))
        names = [name for name, _, _ in _karma.table_columns(data.table)]
        self.assertEqual(names, ["visit.year", "visit.month", "visit.weekday", "visit.hour", "visit.days"])
        nan = np.nan
        np.testing.assert_allclose(cells(data), [[2024, 2, 4, 18.5, 19782 + 18.5 / 24], [nan] * 5, [1969, 12, 3, 0, -1]])

    def test_objects_that_mean_dates_and_numbers(self):
        day, nothing = datetime.date(2024, 2, 29), None
        data = Data(pd.DataFrame({"day": [day, nothing], "money": [decimal.Decimal("1.5"), nothing],
                                  "month": pd.PeriodIndex(["2024-03", None], freq="M"),
                                  "range": pd.cut(pd.Series([1.0, np.nan]), [0, 2, 4])}))
        columns = _karma.table_columns(data.table)
        self.assertEqual([name for name, _, _ in columns][:5], ["day.year", "day.month", "day.weekday", "day.days", "money"])
        self.assertEqual(columns[-1][1:], (False, ["(0, 2]", "(2, 4]"]))
        np.testing.assert_array_equal(cells(data)[0], [2024, 2, 4, 19782, 1.5, 2024, 3, 5, 19783, 1])
        self.assertTrue(np.isnan(cells(data)[1]).all())

    def test_dates_and_numbers_are_not_mixed_up(self):
        X, y = pydata.classes()
        numbers = pd.DataFrame(X, columns=list("abcde"))
        dates = numbers.assign(a=pd.date_range("2024", periods=len(X)))
        by_numbers, by_dates = KarmaClassifier(gamma=2).fit(numbers, y), KarmaClassifier(gamma=2).fit(dates, y)
        for model, frame, says in ((by_numbers, dates, "learned it as numbers"), (by_dates, numbers, "learned it as dates"),
                                   (by_dates, numbers.assign(a=pd.Categorical(["x"] * len(X))), "learned it as dates")):
            with self.assertRaisesRegex(ValueError, f"column 'a' .* {says}"):
                model.predict(frame)
        wanted = by_dates.decision_function(dates.assign(a=pd.NaT))
        for nothing in (None, np.nan):
            np.testing.assert_array_equal(by_dates.decision_function(dates.assign(a=nothing)), wanted)

    def test_cells_that_are_refused(self):
        for cell, says in (([1], "list"), (1j, "complex"), (b"x", "bytes"), (10**400, "too large"), ("a\0b", "zero byte"),
                           (np.inf, "infinity")):
            with self.subTest(says=says), self.assertRaisesRegex((TypeError, ValueError), says):
                Data(pd.DataFrame({"a": pd.Series([cell, None], dtype=object)}))
        with self.assertRaisesRegex(ValueError, "two columns are called 'a'"):
            Data(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))

    def test_names_that_are_not_texts(self):
        X, y = pydata.classes()
        wanted = KarmaClassifier(gamma=2).fit(X, y).decision_function(X)
        for names in (range(5), pd.MultiIndex.from_product([["u"], range(5)])):
            frame = pd.DataFrame(X, columns=names)
            model = KarmaClassifier(gamma=2).fit(frame, y)
            self.assertFalse(hasattr(model, "feature_names_in_"))
            np.testing.assert_array_equal(model.decision_function(frame), wanted)

    def test_new_rows_may_lack_levels_and_have_new_ones(self):
        f, y = pydata.frame()
        model = KarmaClassifier(gamma=2).fit(f, y)
        before = model.decision_function(f)
        self.assertGreater(model.score(f, y), 0.75)
        new = f.head(3).copy()
        new["colour"] = pd.Categorical(["green", None, "red"])
        self.assertEqual(model.predict(new).shape, (3,))
        np.testing.assert_array_equal(model.decision_function(f.tail(4)), before[-4:])

    def test_categories_of_numbers_keep_their_meaning(self):
        f = pd.DataFrame({"k": pd.Categorical([1, 2, 3] * 20)})
        y = np.array([0, 1, 0] * 20)
        model = KarmaClassifier(gamma=2).fit(f, y)
        np.testing.assert_array_equal(model.predict(pd.DataFrame({"k": [1, 2, 3, 2]})), [0, 1, 0, 1])

    def test_columns_missing_only_at_prediction(self):
        X, y = pydata.classes(missing=0.0)
        f = pd.DataFrame(X, columns=list("abcde"))
        model = KarmaClassifier(gamma=2).fit(f, y)
        holes = f.copy()
        holes["a"] = None  # a column of objects without one number
        self.assertGreater(model.score(holes, y), 0.5)

    def test_names_are_checked(self):
        X, y = pydata.classes()
        f = pd.DataFrame(X, columns=list("abcde"))
        model = KarmaClassifier(gamma=2).fit(f, y)
        np.testing.assert_array_equal(model.feature_names_in_, list("abcde"))
        for other in (f.rename(columns={"a": "z"}), f[list("edcba")], f[["a"]]):
            with self.assertRaises(ValueError):
                model.predict(other)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(model.predict(X), model.predict(f))
        self.assertIn("feature names", str(caught[0].message))

    def test_texts_where_numbers_were_learned(self):
        X, y = pydata.classes()
        f = pd.DataFrame(X, columns=list("abcde"))
        model = KarmaClassifier(gamma=2).fit(f, y)
        with self.assertRaisesRegex(ValueError, "column 'a'"):
            model.predict(f.assign(a="text"))

    def test_array_and_frame_give_the_same_model(self):
        X, y = pydata.numbers()
        model = KarmaRegressor(gamma=2).fit(X, y)
        named = KarmaRegressor(gamma=2).fit(pd.DataFrame(X, columns=list("abcde")), y)
        np.testing.assert_array_equal(model.predict(X), named.predict(pd.DataFrame(X, columns=list("abcde"))))


class Sparse(unittest.TestCase):
    def test_absent_is_zero_or_missing(self):
        rng = np.random.default_rng(0)
        S = sparse.random(50, 6, density=0.4, random_state=0, format="csr")
        dense = S.toarray()
        y = (dense.sum(axis=1) + rng.normal(size=50) * 0.1 > np.median(dense.sum(axis=1))).astype(int)
        zero = KarmaClassifier(gamma=2, absent="zero").fit(S, y)
        np.testing.assert_array_equal(zero.decision_function(S), KarmaClassifier(gamma=2).fit(dense, y).decision_function(dense))
        holes = np.where(dense == 0, np.nan, dense)
        missing = KarmaClassifier(gamma=2, absent="missing").fit(S.tocsc(), y)
        np.testing.assert_array_equal(missing.decision_function(S.tocoo()),
                                      KarmaClassifier(gamma=2).fit(holes, y).decision_function(holes))
        with self.assertRaisesRegex(TypeError, "absent="):
            KarmaClassifier(gamma=2).fit(S, y)

    def test_broken_matrices_are_refused(self):
        """SciPy trusts the parts of a matrix; an index out of range once ended the process."""
        y = np.arange(50) % 2
        for part, place, value in (("indptr", 3, 10**6), ("indptr", 3, -5), ("indices", 0, 99), ("indices", 0, -1)):
            S = sparse.random(50, 6, density=0.4, random_state=0, format="csr")
            getattr(S, part)[place] = value
            with self.subTest(part=part, value=value), self.assertRaises(ValueError):
                KarmaClassifier(gamma=2, absent="zero").fit(S, y)
        for start in ([0, 10**6, 3], [-2, 1, 3], [0, 2, 1]):
            with self.subTest(start=start), self.assertRaises(ValueError):
                _karma.table_from_csr(np.ones(3), np.array([0, 1, 2]), np.array(start), 6, True, None)


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


class ArrowStream(ctypes.Structure):
    pass


POINTER, CALL = ctypes.POINTER, ctypes.CFUNCTYPE
ArrowSchema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                        ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", POINTER(POINTER(ArrowSchema))),
                        ("dictionary", POINTER(ArrowSchema)), ("release", CALL(None, POINTER(ArrowSchema))),
                        ("private_data", ctypes.c_void_p)]
ArrowArray._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                       ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", POINTER(ctypes.c_void_p)),
                       ("children", POINTER(POINTER(ArrowArray))), ("dictionary", POINTER(ArrowArray)),
                       ("release", CALL(None, POINTER(ArrowArray))), ("private_data", ctypes.c_void_p)]
ArrowStream._fields_ = [("get_schema", CALL(ctypes.c_int, POINTER(ArrowStream), POINTER(ArrowSchema))),
                        ("get_next", CALL(ctypes.c_int, POINTER(ArrowStream), POINTER(ArrowArray))),
                        ("get_last_error", CALL(ctypes.c_char_p, POINTER(ArrowStream))),
                        ("release", CALL(None, POINTER(ArrowStream))), ("private_data", ctypes.c_void_p)]


class ArrowTable:
    """One record batch of doubles behind the Arrow PyCapsule interface, as polars and pyarrow export it. NaN is missing."""

    def __init__(self, names, X):
        self.names, self.keep = names, []
        self.columns = [np.ascontiguousarray(column) for column in X.T]
        self.n = len(X)
        self.releases = [CALL(None, POINTER(kind))(self.release) for kind in (ArrowSchema, ArrowArray, ArrowStream)]
        self.stream = ArrowStream(ArrowStream._fields_[0][1](self.schema), ArrowStream._fields_[1][1](self.next),
                                  ArrowStream._fields_[2][1](lambda _: None), self.releases[2])
        self.is_done = False

    @staticmethod
    def release(thing):
        thing.contents.release = type(thing.contents.release)()

    def _children(self, kind, items):
        array = (POINTER(kind) * len(items))(*[ctypes.pointer(item) for item in items])
        self.keep += [items, array]
        return ctypes.cast(array, POINTER(POINTER(kind)))

    def schema(self, _, out):
        items = [ArrowSchema(b"g", name.encode(), None, 2, 0, None, None, self.releases[0]) for name in self.names]
        out[0] = ArrowSchema(b"+s", b"", None, 0, len(items), self._children(ArrowSchema, items), None, self.releases[0])
        return 0

    def next(self, _, out):
        if self.is_done:
            out[0] = ArrowArray()
            return 0
        self.is_done = True
        items = []
        for column in self.columns:
            buffers = (ctypes.c_void_p * 2)(None, column.ctypes.data)
            self.keep.append(buffers)
            items.append(ArrowArray(self.n, 0, 0, 2, 0, buffers, None, None, self.releases[1]))
        none = (ctypes.c_void_p * 1)(None)
        self.keep.append(none)
        out[0] = ArrowArray(self.n, 0, 0, 1, len(items), none, self._children(ArrowArray, items), None, self.releases[1])
        return 0

    def __arrow_c_stream__(self, requested_schema=None):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.stream), b"arrow_array_stream", None)


class Arrow(unittest.TestCase):
    def test_a_stream_is_the_same_as_a_frame(self):
        X, y = pydata.numbers()
        names = list("abcde")
        model = KarmaRegressor(gamma=2).fit(ArrowTable(names, X), y)
        f = pd.DataFrame(X, columns=names)
        np.testing.assert_array_equal(model.feature_names_in_, names)
        np.testing.assert_array_equal(model.predict(f), KarmaRegressor(gamma=2).fit(f, y).predict(f))
        np.testing.assert_array_equal(model.predict(ArrowTable(names[::-1], X[:, ::-1])), model.predict(f))
        with self.assertRaisesRegex(ValueError, "feature names"):
            model.predict(ArrowTable(["a", "b", "c", "d", "z"], X))

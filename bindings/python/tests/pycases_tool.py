"""The same numbers as the tool, through files both ways; interruption and progress."""
import csv
import io
import json
import multiprocessing
import os
import signal
import subprocess
import tempfile
import threading
import unittest
import warnings

import numpy as np
import pandas as pd

import karma
import pydata
from karma import KarmaClassifier, KarmaRegressor

CLINIC = os.path.join(pydata.SOURCE, "examples", "clinic.csv")


def run(*words):
    done = subprocess.run([pydata.KARMA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


def column(text, name):
    return [row[name] for row in csv.DictReader(text.splitlines())]


class Files(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def both_ways(self, frame, target, make, options):
        """Learns with the tool and here; each predicts with both models; all four predictions are the same."""
        data, by_tool, by_python = self.path("data.csv"), self.path("tool.karma"), self.path("python.karma")
        frame.to_csv(data, index=False)
        run("train", data, "--target", target, "-o", by_tool, "--quiet", *options)
        X, y = frame.drop(columns=target), frame[target]
        model = make.fit(X, y)
        karma.save(model, by_python)
        own = model.predict(X)
        np.testing.assert_array_equal(karma.load(by_tool).predict(X), own)
        np.testing.assert_array_equal(karma.load(by_python).predict(X), own)
        for file in (by_tool, by_python):
            predicted = column(run("predict", file, data), "prediction")
            np.testing.assert_array_equal(np.asarray(predicted).astype(own.dtype), own)
        return model, karma.load(by_tool)

    def test_classifier_with_categories(self):
        frame, y = pydata.frame()
        model, loaded = self.both_ways(frame.assign(target=y), "target", KarmaClassifier(gamma=2, seed=3),
                                       ["--gamma", "2", "--seed", "3"])
        X = frame
        np.testing.assert_array_equal(model.decision_function(X), loaded.decision_function(X))
        np.testing.assert_array_equal(model.classes_, loaded.classes_)

    def test_classifier_of_numbers(self):
        X, y = pydata.classes(n_classes=3)
        frame = pd.DataFrame(X, columns=list("abcde")).assign(target=np.array([10, 9, 2])[y])
        model, loaded = self.both_ways(frame, "target", KarmaClassifier(probabilities="sigmoid", gamma=1),
                                       ["--probabilities", "sigmoid", "--gamma", "1"])
        np.testing.assert_array_equal(loaded.classes_, [2, 9, 10])
        np.testing.assert_array_equal(model.predict_proba(frame[list("abcde")]), loaded.predict_proba(frame[list("abcde")]))

    def test_regressor(self):
        X, y = pydata.numbers()
        frame = pd.DataFrame(X, columns=list("abcde")).assign(target=y)
        self.both_ways(frame, "target", KarmaRegressor(kernel="rank"), ["--kernel", "rank", "--task", "regress"])

    def test_quantiles(self):
        X, y = pydata.numbers()
        frame = pd.DataFrame(X, columns=list("abcde")).assign(target=y)
        self.both_ways(frame, "target", KarmaRegressor(quantile=[0.1, 0.9], gamma=2), ["--quantile", "0.1,0.9", "--gamma", "2"])

    def test_the_whole_search_on_the_clinic(self):
        frame = pd.read_csv(CLINIC).drop(columns="patient")
        model, loaded = self.both_ways(frame, "outcome", KarmaClassifier(effort="quick"), ["--effort", "quick"])
        self.assertEqual(len(model.search_results_), len(loaded.search_results_))
        self.assertEqual(model.search_info_["score"], loaded.search_info_["score"])
        self.assertTrue(model.search_results_["is_chosen"].any())
        self.assertEqual(set(model.gains_["ingredient"]), {gain["ingredient"] for gain in loaded.search_info_["gains"]})

    def test_a_loaded_model_finds_its_columns_by_name(self):
        frame, y = pydata.frame()
        frame["visit"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(len(frame)), unit="D")
        model, loaded = self.both_ways(frame.assign(target=y), "target", KarmaClassifier(gamma=2), ["--gamma", "2"])
        wide = frame.assign(other=1.0)[["other", *frame.columns[::-1]]]
        np.testing.assert_array_equal(loaded.decision_function(wide), model.decision_function(frame))
        with self.assertRaisesRegex(ValueError, "'colour'"):
            loaded.predict(frame.drop(columns="colour"))

    def test_sets_and_intervals(self):
        X, y = pydata.numbers()
        frame = pd.DataFrame(X, columns=list("abcde")).assign(target=y)
        model, _ = self.both_ways(frame, "target", KarmaRegressor(gamma=2, intervals=0.8), ["--gamma", "2", "--intervals", "0.8"])
        frame.to_csv(self.path("rows.csv"), index=False)
        karma.save(model, self.path("m.karma"))
        rows = pd.read_csv(io.StringIO(run("predict", self.path("m.karma"), self.path("rows.csv"))), float_precision="round_trip")
        np.testing.assert_array_equal(rows.filter(regex="^(low|high)").to_numpy(), model.predict_intervals(frame.drop(columns="target")))
        X, y = pydata.classes(n_classes=3)
        frame = pd.DataFrame(X, columns=list("abcde"))
        classifier = KarmaClassifier(gamma=2, sets=0.9).fit(frame, np.array(["u", "v", "w"])[y])
        karma.save(classifier, self.path("m.karma"))
        frame.to_csv(self.path("rows.csv"), index=False)
        rows = pd.read_csv(io.StringIO(run("predict", self.path("m.karma"), self.path("rows.csv"))))
        wanted = ["|".join(classifier.classes_[row]) for row in classifier.predict_sets(frame)]
        [name] = [name for name in rows.columns if name.startswith("set")]
        self.assertEqual([sorted(text.split("|")) for text in rows[name]], [sorted(text.split("|")) for text in wanted])
        self.assertTrue(any("|" in text for text in wanted))

    def test_abstention_coverage_and_next_cells(self):
        X, y = pydata.classes(240, missing=0.4)
        frame = pd.DataFrame(X, columns=list("abcde"))
        label = np.array(["u", "v"])[y]
        model = KarmaClassifier(kernel="union", sets=0.9).fit(frame, label)
        karma.save(model, self.path("m.karma"))
        frame.assign(target=label).to_csv(self.path("rows.csv"), index=False)
        for text, keyword in (("20%", {"share": 0.8}), ("accuracy=0.9", {"accuracy": 0.9})):
            rows = pd.read_csv(io.StringIO(run("predict", self.path("m.karma"), self.path("rows.csv"), "--abstain", text, "--quiet")))
            given = model.is_certain(frame, **keyword)
            np.testing.assert_array_equal(rows["prediction"].notna(), given)
            self.assertTrue(given.any() and not given.all())
        judged = json.loads(run("eval", self.path("m.karma"), self.path("rows.csv"), "--json"))["certainty"]
        covered = model.coverage(frame, label)
        self.assertEqual(covered["coverage"].iloc[0], judged["coverage"])
        self.assertEqual(list(covered["rows"].iloc[1:]), [group["rows"] for group in judged["by_observed"]])
        wanted = pd.read_csv(io.StringIO(run("next", self.path("m.karma"), self.path("rows.csv"), "--cost", "b=4")),
                             float_precision="round_trip")
        found = model.next_cells(frame, costs={"b": 4})
        self.assertTrue(found.equals(model.next_cells(frame, costs=pd.Series({"b": 4}))))
        self.assertEqual(len(found), frame.isna().sum().sum())
        np.testing.assert_array_equal(found["row"] + 1, wanted["row"])
        for name in ("column", "gain", "cost", "gain_per_cost", "change"):
            np.testing.assert_array_equal(found[name], wanted[name])
        for what, call in (("'nose'", lambda: model.next_cells(frame, costs={"nose": 1})), ("share", lambda: model.is_certain(frame)),
                           ("above 0", lambda: model.next_cells(frame, costs={"a": 0})),
                           ("up to 1", lambda: model.is_certain(frame, share=2))):
            with self.assertRaisesRegex(ValueError, what):
                call()

    def test_ordered_categories(self):
        """An ordered category is what --ordered makes of a column of texts."""
        frame, y = pydata.frame()
        frame["word"] = pd.Categorical(frame["word"], ["z", "x", "y", "never"], ordered=True)
        self.assertEqual(frame["word"].isna().sum(), pydata.frame()[0]["word"].isna().sum())
        model, loaded = self.both_ways(frame.assign(target=y), "target", KarmaClassifier(gamma=2),
                                       ["--gamma", "2", "--ordered", "word=z<x<y<never"])
        texts = frame.assign(word=frame["word"].astype(object))
        texts.loc[0, "word"], frame.loc[0, "word"] = "unheard of", None
        for one in (model, loaded):
            np.testing.assert_array_equal(one.decision_function(texts), model.decision_function(frame))
        plain = KarmaClassifier(gamma=2).fit(texts, y)
        self.assertGreater(np.abs(plain.decision_function(texts) - model.decision_function(frame)).max(), 1e-3)

    def test_a_loaded_model_of_an_array(self):
        X, y = pydata.classes()
        X[:, 3] = np.nan
        model = KarmaClassifier(gamma=2).fit(X, y)
        karma.save(model, self.path("m.karma"))
        loaded = karma.load(self.path("m.karma"))
        self.assertEqual(loaded.n_features_in_, 5)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

    def test_a_column_called_target(self):
        frame, y = pydata.frame()
        frame = frame.rename(columns={"colour": "target"})
        model = KarmaClassifier(gamma=2).fit(frame, y)
        karma.save(model, self.path("m.karma").encode())
        frame.to_csv(self.path("rows.csv"), index=False)
        run("predict", self.path("m.karma"), self.path("rows.csv"), "-o", self.path("p.csv"))
        with open(self.path("p.csv"), encoding="utf-8") as file:
            self.assertEqual(column(file.read(), "prediction"), model.predict(frame).tolist())

    def test_files_that_cannot_be_used(self):
        with self.assertRaisesRegex(OSError, "missing.karma"):
            karma.load(self.path("missing.karma"))
        with open(self.path("broken.karma"), "w", encoding="utf-8") as file:
            file.write("no model")
        with self.assertRaises(ValueError):
            karma.load(self.path("broken.karma"))
        with self.assertRaises(OSError):
            karma.save(KarmaClassifier(gamma=2).fit(*pydata.classes()), self.path("no/such/directory"))


class Processes(unittest.TestCase):
    def test_a_forked_process_learns_and_predicts(self):
        """OpenMP's threads do not exist in the child; it must not wait for them."""
        X, y = pydata.classes(400, 6)
        model = KarmaClassifier(effort="quick", threads=2).fit(X, y)
        wanted = model.decision_function(X)

        def work(answers):
            answers.put(model.decision_function(X))
            answers.put(KarmaClassifier(effort="quick", threads=2).fit(X, y).decision_function(X))

        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        child = context.Process(target=work, args=(answers,), daemon=True)
        child.start()
        for _ in range(2):
            np.testing.assert_array_equal(answers.get(timeout=3600), wanted)
        child.join()

    def test_threads_share_a_model(self):
        X, y = pydata.classes(400, 6)
        model = KarmaClassifier(gamma=2).fit(X, y)
        wanted, found = model.decision_function(X), []
        threads = [threading.Thread(target=lambda: found.append(model.decision_function(X))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(found, [wanted] * 6)


class Interrupts(unittest.TestCase):
    def test_a_callback_sees_the_stages(self):
        calls = []
        KarmaClassifier(effort="quick", verbose=lambda *call: calls.append(call)).fit(*pydata.classes())
        self.assertGreater(len(calls), 3)
        self.assertTrue(all(isinstance(stage, str) and done <= total or total == 0 for stage, done, total in calls))

    def stop_after(self, n):
        """A function that raises KeyboardInterrupt once, at its n-th call."""
        calls = []

        def callback(*_):
            calls.append(1)
            if len(calls) == n:
                raise KeyboardInterrupt

        return callback, calls

    def test_an_interrupt_keeps_the_best_model(self):
        X, y = pydata.classes(200)
        callback, calls = self.stop_after(10**9)
        KarmaClassifier(effort="normal", verbose=callback).fit(X, y)
        total, kept = len(calls), None
        for n in (total // 2, 3 * total // 4, total - 2):
            callback, calls = self.stop_after(n)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    kept = KarmaClassifier(effort="normal", verbose=callback).fit(X, y)
                except KeyboardInterrupt:
                    continue
            self.assertTrue(any("best so far" in str(w.message) for w in caught))
            break
        self.assertIsNotNone(kept)
        self.assertTrue(kept.model_.is_interrupted)
        self.assertGreater(kept.score(X, y), 0.6)

    def test_a_second_interrupt_is_raised(self):
        def callback(*_):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            KarmaClassifier(effort="normal", verbose=callback).fit(*pydata.classes())

    def test_other_exceptions_come_through(self):
        def fail(*_):
            raise RuntimeError("mine")

        with self.assertRaisesRegex(RuntimeError, "mine"):
            KarmaClassifier(effort="quick", verbose=fail).fit(*pydata.classes())

    def test_a_signal_ends_the_work(self):
        """SIGINT while C works: the model so far, or KeyboardInterrupt if there is none; never a search to its end."""
        X, y = pydata.classes(1500, 30)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores the signal
        self.addCleanup(signal.signal, signal.SIGINT, before)
        alarm = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
        alarm.start()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = KarmaClassifier(effort="thorough").fit(X, y)
            self.assertTrue(model.model_.is_interrupted)
        except KeyboardInterrupt:
            pass
        finally:
            alarm.join()

    def test_other_threads_run_while_c_works(self):
        X, y = pydata.classes(600, 20)
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.002):
                ticks.append(1)

        ticker = threading.Thread(target=tick)
        ticker.start()
        before = len(ticks)
        KarmaClassifier(effort="quick").fit(X, y)
        during = len(ticks) - before
        stop.set()
        ticker.join()
        self.assertGreater(during, 3)

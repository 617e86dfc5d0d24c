"""karma compare: its table, its JSON, its CSV and its errors."""
import csv
import json
import math
import os
import re
import runpy
import signal
import subprocess
import sys

from case import SOURCE, Case

FEW = ["--methods", "zero,mean,karma-subspace", "--folds", "4", "--inner", "2"]


class Compare(Case):
    def low_rank(self, task="regress", rows="100"):
        self.ok("synth", "--rows", rows, "--dim", "12", "--rank", "2", "--missing", "0.5", "--task", task, "--seed", "1",
                "-o", "d.csv")

    def compare(self, *args, **more):
        threads = [] if "--threads" in args else ["--threads", "1"]
        return self.ok("compare", "d.csv", "--target", "target", "--quiet", *args, *threads, **more)

    def test_table(self):
        self.low_rank()
        text = self.compare(*FEW).out
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^d\.csv: 100 rows, each left out once, in 4 folds")
        self.assertRegex(lines[2], r"^  method +R2 difference +total s +fit s predict s$")
        self.assertEqual([line.split()[0] for line in lines[3:7]], ["karma-subspace", "zero", "mean", "constant"])
        self.assertRegex(lines[3], r" 1\.0000 \+- 0\.0000 +best ")
        self.assertRegex(lines[4], r" 0\.8\d+ \+- 0\.\d+ +-0\.1\d+ \* ")
        self.assertRegex(lines[6], r"^  constant +-?0\.0")
        self.assertRegex(lines[-1], r"^\* significantly worse than the best")
        self.assertRegex(lines[-2], r"^difference: from the best, so negative is worse; total s: tuning, fitting and predicting")
        losses = self.compare(*FEW, "--goal", "mae").out
        self.assertIn("difference: from the best, a loss, so positive is worse", losses)

    def test_numbers_agree(self):
        """JSON and CSV have the same folds, and means, errors and marks follow from them."""
        self.low_rank()
        got = self.compare(*FEW, "--rounds", "2", "--json", "-o", "f.csv").json()
        self.assertEqual([got["goal"], got["rows"], got["n_folds"], got["n_rounds"], got["folds_judged"]], ["R2", 100, 4, 2, 8])
        with open(self.path("f.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 24)
        methods = got["methods"]
        best = methods[0]
        self.assertTrue(best["best"])
        for method in methods:
            own = [row for row in rows if row["method"] == method["name"]]
            self.assertEqual([(row["round"], row["part"]) for row in own],
                             [(str(r), str(f)) for r in (1, 2) for f in (1, 2, 3, 4)])
            values = [float(row["score"]) for row in own]
            self.assertEqual(values, [fold["score"] for fold in method["folds"]])
            self.assertEqual([float(row["strength"]) for row in own], [fold["strength"] for fold in method["folds"]])
            self.assertLessEqual({fold["strength"] for fold in method["folds"]}, {0.1, 1.0, 10.0, 100.0})
            mean = sum(values) / 8
            self.close_to(method["score"], mean, 1e-12)
            self.close_to(method["error"], math.sqrt(sum((v - mean) ** 2 for v in values) / 7 / 4), 1e-9)
            if method is best:
                self.assertEqual([method["difference"], method["t"], method["adjusted_p"]], [0, None, None])
                continue
            d = [a - fold["score"] for a, fold in zip(values, best["folds"])]
            m = sum(d) / 8
            error = math.sqrt((1 / 8 + 25 / 75) * sum((x - m) ** 2 for x in d) / 7)
            self.close_to(method["difference"], m, 1e-9)
            self.close_to(method["t"], m / error, 1e-6)
            self.assertEqual(method["worse"], method["adjusted_p"] <= 0.05)
        p = sorted(m["p"] for m in methods[1:])
        adjusted = sorted(m["adjusted_p"] for m in methods[1:])
        self.close_to(adjusted[0], min(1, 2 * p[0]), 1e-12)
        self.close_to(adjusted[1], max(adjusted[0], p[1]), 1e-12)

    def test_failures_are_shown(self):
        self.low_rank()
        args = ["--methods", "geom,zero", "--folds", "2", "--inner", "2"]
        self.assertRegex(self.compare(*args).out, r"(?m)^  geom +failed: geom learns classes, but column 'target' holds numbers$")
        got = self.compare(*args, "--json", "-o", "f.csv").json()["methods"]
        self.assertEqual([m["name"] for m in got], ["zero", "geom"])
        self.assertEqual([got[1]["score"], got[1]["folds"]], [None, []])
        self.assertIn("learns classes", got[1]["failure"])
        rows = self.read_rows("f.csv")
        self.assertEqual([row[3] for row in rows if row[0] == "geom"], ["", ""])
        self.assertEqual([row[-1] for row in rows if row[0] == "zero"], ["", ""])
        self.assertIn("learns classes", [row[-1] for row in rows if row[0] == "geom"][1])

    def test_all_methods(self):
        """Every method in the help runs, with classes, categories and missing cells."""
        self.two_classes(n=60)
        text = self.ok("compare", "--help").out
        got = self.ok("compare", "two.csv", "--target", "answer", "--folds", "2", "--inner", "2", "--effort", "quick", "--json",
                      "--threads", "1").json()["methods"]
        self.assertEqual(len(got), 21)
        for method in got:
            self.assertRegex(text, rf"[\s,]{method['name']}[\s,.]", method["name"])
            self.assertIsNone(method["failure"], method["name"])
            self.assertEqual(len(method["folds"]), 2)
            self.assertEqual(method["transductive"], method["name"].startswith("mc-"))
            self.assertGreaterEqual(method["score"], 0.4)

    def test_parts_are_those_of_cv(self):
        self.two_classes(n=60)
        cv = self.ok("cv", "two.csv", "--target", "answer", "--effort", "quick", "--folds", "3", "--threads", "1", "--json").json()
        own = self.ok("compare", "two.csv", "--target", "answer", "--effort", "quick", "--folds", "3", "--inner", "3", "--methods",
                      "karma-auto", "--threads", "1", "--json").json()
        self.assertEqual([fold["score"] for fold in own["methods"][0]["folds"]], cv["targets"][0]["folds"])
        for a, b in zip(own["constant_folds"], cv["targets"][0]["constant_answer"]):
            self.close_to(a, b, 1e-12)

    def test_threads_do_not_matter(self):
        self.low_rank("classify", "50")

        def scores(threads):
            got = self.compare("--methods", "zero,knn,mc-1,karma-4,karma-union", "--folds", "2", "--inner", "2", "--goal", "auc",
                               "--threads", threads, "--json").json()
            return [(m["name"], [(f["score"], f["strength"], f["kernel"]) for f in m["folds"]]) for m in got["methods"]]
        self.assertEqual(scores("1"), scores("2"))

    def test_output(self):
        self.low_rank()
        out = self.compare(*FEW, "-o", "-").out
        self.assertTrue(out.startswith("method,round,part,score,strength,kernel,tune_seconds,fit_seconds,predict_seconds,failure\n"))
        self.assertEqual(out.count("\n"), 13)
        self.assertEqual(self.compare(*FEW, "-o", "f.csv").out, "")
        self.fails("compare", "d.csv", "--target", "target", "-o", "-", "--json", code=2, says="both need standard output")
        self.fails("compare", "d.csv", "--target", "target", "-o", "d.csv", code=2, says="overwrite the input")

    def test_refusals(self):
        self.low_rank("classify", "20")
        for args, says in ((["--methods", "zer"], "no method 'zer'; did you mean zero"),
                           (["--methods", "zero,"], "no method ''; there are complete-case, .*karma-auto"),
                           (["--goal", "rmse"], "RMSE does not apply to 'target'"), (["--folds", "1"], "--folds"),
                           (["--strength", "3"], "unknown option --strength"), (["--gamma", "3"], "unknown option --gamma")):
            with self.subTest(args=args):
                self.fails("compare", "d.csv", "--target", "target", *args, code=2, says=says)
        self.fails("compare", "d.csv", code=2, says="--target COL")
        self.fails("compare", "d.csv", "--target", "x1,x2", says="one target, but there are 2")
        self.write("few.csv", "a,y\n1,p\n2,q\n3,p\n")
        self.fails("compare", "few.csv", "--target", "y", says="at least 4 rows with a label, but there are 3")

    def test_names_of_rows_are_noted(self):
        lines = ["name,a,y"] + [f"row {i},{i % 7},{'pq'[i % 3 == 0]}" for i in range(30)]
        self.write("named.csv", "\n".join(lines) + "\n")
        says = "column 'name' looks like an identifier: .* Use --id 'name' to leave it out of the model$"
        for command in (["compare", "--methods", "zero"], ["train", "--effort", "off", "-o", "m.karma"], ["cv", "--effort", "off"]):
            with self.subTest(command=command[0]):
                learn = [command[0], "named.csv", "--target", "y", *command[1:]]
                self.ok(*learn, notes=[says])
                self.ok(*learn, "--id", "name", notes=[])
                self.ok(*learn, "--quiet", notes=[])

    def test_output_that_cannot_be_written_fails_at_once(self):
        self.low_rank("classify", "80")
        self.fails("compare", "d.csv", "--target", "target", "--rounds", "1000", "-o", "nowhere/x.csv",
                   says="nowhere/x.csv: cannot write: No such file")
        got = self.run_karma("compare", "d.csv", "--target", "target", "--methods", "zero", "-o", "/dev/full")
        self.assertEqual(got.code, 1, str(got))
        self.assertRegex(got.err, "/dev/full: cannot write")
        self.assertRegex(got.out, r"(?m)^  zero  .* best ")  # the results are not lost

    def test_interrupted(self):
        self.low_rank("classify", "80")
        code, out, text = self.on_terminal("compare", "d.csv", "--target", "target", "--methods", "zero,karma-2", "--folds", "40",
                                           "--rounds", "1000", "--threads", "1", until=rb"fold ([2-9]|\d\d+) of 40000",
                                           act=lambda p: p.send_signal(signal.SIGINT))
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(zero|karma-2), fold \d+ of 40000 \(\d+%\)")
        self.assertRegex(out, r"(?m)^  interrupted after (1 fold|\d+ folds)$")
        self.assertEqual(len(re.findall(r"(?m)^  (zero|karma-2) ", out)), 2)


# Replaces Python: returns the first column as the score, and records the requests.
STANDIN = """#!{python}
import json, struct, sys, time
mode = {mode!r}
if sys.argv[3] == "probe":
    print(json.dumps({{"sklearn": "0.0"}}) if mode != "nothing" else "Traceback")
    sys.exit()
requests, answers = sys.stdin.buffer, sys.stdout.buffer
for line in iter(requests.readline, b""):
    if mode == "dies":
        sys.exit(1)
    task = json.loads(line)
    n, d, m = task["rows"], task["columns"], task["test"]
    take = lambda count: list(struct.unpack(str(count) + "d", requests.read(8 * count)))
    X, y, weights, inner, test = take(n * d), take(n), take(n), take(n), take(m * d)
    with open({kept!r}, "a") as file:
        file.write(json.dumps(dict(task, X=X, y=y, weights=weights, inner_fold=inner, T=test)) + chr(10))
    if mode == "sleeps":
        time.sleep(600)
    if mode == "error":
        answers.write(json.dumps({{"error": "no such trees"}}).encode() + b"\\n")
    elif mode == "nonsense":
        answers.write(b"what?\\n")
    else:
        scores = [-1.0 if x != x else x for x in test[::d]]
        answers.write(json.dumps({{"choice": "depth 3", "tune": 4.0, "fit": 2.0, "predict": 1.0}}).encode() + b"\\n")
        answers.write(struct.pack(str(m) + "d", *scores))
    answers.flush()
"""


class Trees(Case):
    """compare --with-trees, with a stand-in for Python and, where it has scikit-learn, with the real one."""

    def setUp(self):
        super().setUp()
        self.rows = [[None if i % 4 == 0 else ((i * 37) % 19 - 9) / 4, i, ["red", "green", "blue"][i % 3], 1 + i % 2,
                      "yes" if (i * 37) % 19 > 8 else "no"] for i in (7 * k % 60 for k in range(60))]
        self.write_csv("d.csv", ["x", "place", "colour", "w", "y"], self.rows)

    def standin(self, mode="answers"):
        self.write("python", STANDIN.format(python=sys.executable, mode=mode, kept=self.path("asked")))
        os.chmod(self.path("python"), 0o755)

    def compare(self, *more, **expected):
        return self.ok("compare", "d.csv", "--target", "y", "--methods", "zero", "--folds", "4", "--inner", "3", "--threads", "1",
                       "--row-weight", "w", "--with-trees", "--python", self.path("python"), *more, **expected)

    def test_rows_go_there_and_scores_come_back(self):
        self.standin()
        got = self.compare("--json", "-o", "f.csv", "--seed", "5").json()
        trees = next(m for m in got["methods"] if m["name"] == "trees-sklearn")
        asked = [json.loads(line) for line in self.read("asked").decode().splitlines()]
        self.assertEqual(len(asked), 4)
        levels, seen, known = ["blue", "green", "red"], [], {row[1]: row for row in self.rows}
        for task, fold in zip(asked, trees["folds"]):
            self.assertEqual([task[k] for k in ("rows", "columns", "test", "levels", "classes", "outputs", "inner", "goal", "seed")],
                             [45, 3, 15, [0, 0, 3], 2, 1, 3, "accuracy", 5])
            self.assertEqual(set(task["inner_fold"]), {0, 1, 2})
            cells = lambda flat: [[None if x != x else x for x in flat[i:i + 3]] for i in range(0, len(flat), 3)]
            train, test = cells(task["X"]), cells(task["T"])
            self.assertEqual(sorted(row[1] for row in train + test), list(range(60)))
            for row in train + test:
                x, place, colour = known[row[1]][:3]
                self.assertEqual(row, [x, place, levels.index(colour)])
            mean = sum(known[row[1]][3] for row in train) / 45
            for row, label, weight in zip(train, task["y"], task["weights"]):
                self.assertEqual(label, float(known[row[1]][4] == "yes"))
                self.assertIn(round(weight * mean / known[row[1]][3], 9), (1, round(mean, 9)))  # their scale does not matter
            seen += [row[1] for row in test]
            weight = right = 0
            for x, place, _ in test:
                w, y = known[place][3:]
                weight += w
                right += w * ((y == "yes") == ((-1.0 if x is None else x) > 0))
            self.assertAlmostEqual(fold["score"], right / weight, places=12)
            self.assertEqual([fold[k] for k in ("kernel", "tune_seconds", "fit_seconds", "predict_seconds")], ["depth 3", 4, 2, 1])
        self.assertEqual(sorted(seen), list(range(60)))
        self.assertRegex(self.compare().out, r"(?m)^  trees-sklearn .* 7\.000 +2\.000 +1\.000$")  # the total has the tuning

    def test_what_goes_wrong(self):
        for mode, says in (("dies", "Python ended before it answered"), ("error", "no such trees"),
                           ("nonsense", "the answer of Python cannot be read")):
            self.standin(mode)
            self.assertRegex(self.compare().out, rf"(?m)^  trees-sklearn +failed: {says}$")
        self.standin("sleeps")
        self.assertRegex(self.compare("--time", "2").out, r"(?m)^  trees-sklearn +failed: out of time$")
        self.standin("nothing")
        out = self.compare(notes=["gradient-boosted trees are not compared: .*python has neither scikit-learn nor xgboost"]).out
        self.assertNotIn("trees-sklearn", out)
        os.remove(self.path("python"))
        self.compare(notes=["gradient-boosted trees are not compared"])
        self.fails("compare", "d.csv", "--target", "y", "--python", "python3", code=2, says="--python needs --with-trees")

    def test_ctrl_c_leaves_no_process(self):
        self.standin("sleeps")
        code, _, _ = self.on_terminal("compare", "d.csv", "--target", "y", "--methods", "zero", "--folds", "2", "--with-trees", "--python",
                                      self.path("python"), until=b"sklearn, fold 1",
                                      act=lambda process: process.send_signal(signal.SIGINT))
        self.assertEqual(code, 1)
        left = subprocess.run(["pgrep", "-f", self.path("python")], stdout=subprocess.PIPE, check=False).stdout
        self.assertEqual(left, b"")

    def script(self):
        try:
            return runpy.run_path(os.path.join(SOURCE, "tools", "karma", "trees.py"))
        except ImportError as error:
            self.skipTest(f"no numpy: {error}")

    def test_goals_by_hand(self):
        trees = self.script()
        import numpy as np
        rng = np.random.default_rng(1)
        score, up, weights = rng.integers(0, 5, 40).astype(float), rng.random(40) < 0.4, rng.random(40)
        pairs = [(weights[i] * weights[j], (score[i] > score[j]) + 0.5 * (score[i] == score[j]))
                 for i in range(40) for j in range(40) if up[i] and not up[j]]
        self.assertAlmostEqual(trees["area"](score, up, weights), sum(w * v for w, v in pairs) / sum(w for w, _ in pairs), places=12)
        task = {"classes": 0, "quantiles": [0.25, 0.5]}
        loss = trees["goodness"]("pinball", task, np.array([2.0, 0.0]), np.array([[1.0, 3.0], [1.0, 1.0]]), np.ones(2))
        self.assertAlmostEqual(loss, -((0.25 * 1 + 0.5 * 1) / 2 + (0.75 * 1 + 0.5 * 1) / 2) / 2)
        task = {"classes": 2, "quantiles": []}
        p = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]])
        y, w = np.array([0.0, 1.0, 0.0, 0.0]), np.array([1.0, 1.0, 2.0, 1.0])
        good = lambda goal: trees["goodness"](goal, task, y, p, w)
        self.assertAlmostEqual(good("accuracy"), 3 / 5)
        self.assertAlmostEqual(good("balanced-accuracy"), (2 / 4 + 1) / 2)
        self.assertAlmostEqual(good("f1"), (2 * 0.5 / 1.5 + 2 * (1 / 3) / (4 / 3)) / 2)
        self.assertAlmostEqual(good("log-loss"), (math.log(0.9) + math.log(0.8) + 2 * math.log(0.4) + math.log(0.7)) / 5)
        self.assertTrue(np.allclose(trees["scores_of"](task, p)[:, 0], np.log(p[:, 1] / p[:, 0])))

    def test_real_trees(self):
        """If scikit-learn is installed: a step that no linear method can learn, with missing values and a category."""
        probe = subprocess.run([sys.executable, "-c", "import sklearn"], stderr=subprocess.DEVNULL, check=False)
        if probe.returncode:
            self.skipTest("no scikit-learn here")
        rows = [[(i * 7) % 50, "pqr"[i % 3], None if i % 9 == 4 else i % 5, "in" if 10 <= (i * 7) % 50 < 30 else "out"] for i in range(200)]
        self.write_csv("d.csv", ["x", "word", "z", "y"], rows)
        first = self.ok("compare", "d.csv", "--target", "y", "--methods", "zero", "--folds", "2", "--inner", "2", "--threads", "1",
                        "--with-trees", "--python", sys.executable, "--json", "--quiet").json()
        scores = {m["name"]: m["score"] for m in first["methods"]}
        self.assertGreater(scores["trees-sklearn"], 0.9)
        self.assertLess(scores["zero"], 0.8)
        trees = next(m for m in first["methods"] if m["name"] == "trees-sklearn")
        self.assertRegex(trees["folds"][0]["kernel"], r"^learning_rate 0\.\d+, max_leaf_nodes \d+$")
        self.assertGreater(trees["tune_seconds"], trees["fit_seconds"])

"""karma compare: what its table, its JSON and its CSV tell, and what it refuses."""
import csv
import math
import re
import signal

from case import Case

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
        self.assertRegex(lines[0], r"^d\.csv: 100 rows, each left out 1 time, in 4 parts")
        self.assertRegex(lines[2], r"^  method +R2 difference +total s +fit s predict s$")
        self.assertEqual([line.split()[0] for line in lines[3:7]], ["karma-subspace", "zero", "mean", "constant"])
        self.assertRegex(lines[3], r" 1\.0000 \+- 0\.0000 +best ")
        self.assertRegex(lines[4], r" 0\.8\d+ \+- 0\.\d+ +-0\.1\d+ \* ")
        self.assertRegex(lines[6], r"^  constant answer +-?0\.0")
        self.assertRegex(lines[-1], r"^\* worse than the best")
        self.assertRegex(lines[-2], r"^difference: to the best, so negative is worse; total s: tuning, fitting and predicting")
        losses = self.compare(*FEW, "--goal", "mae").out
        self.assertIn("difference: to the best, a loss, so positive is worse", losses)

    def test_numbers_agree(self):
        """JSON and CSV are about the same parts, and means, errors and marks follow from them."""
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
        self.assertRegex(self.compare(*args).out, r"(?m)^  geom +failed: geom learns classes, and column 'target' holds numbers$")
        got = self.compare(*args, "--json", "-o", "f.csv").json()["methods"]
        self.assertEqual([m["name"] for m in got], ["zero", "geom"])
        self.assertEqual([got[1]["score"], got[1]["folds"]], [None, []])
        self.assertIn("learns classes", got[1]["failure"])
        rows = self.read_rows("f.csv")
        self.assertEqual([row[3] for row in rows if row[0] == "geom"], ["", ""])
        self.assertEqual([row[-1] for row in rows if row[0] == "zero"], ["", ""])
        self.assertIn("learns classes", [row[-1] for row in rows if row[0] == "geom"][1])

    def test_all_methods(self):
        """Every one that the help names runs, on classes, categories and holes."""
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
                           (["--goal", "rmse"], "RMSE is not one of 'target'"), (["--folds", "1"], "--folds"),
                           (["--strength", "3"], "unknown option --strength"), (["--gamma", "3"], "unknown option --gamma")):
            with self.subTest(args=args):
                self.fails("compare", "d.csv", "--target", "target", *args, code=2, says=says)
        self.fails("compare", "d.csv", code=2, says="--target COL")
        self.fails("compare", "d.csv", "--target", "x1,x2", says="one target, and there are 2")
        self.write("few.csv", "a,y\n1,p\n2,q\n3,p\n")
        self.fails("compare", "few.csv", "--target", "y", says="at least 4 rows with a label, and there are 3")

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

    def test_output_that_cannot_be_written_is_told_at_once(self):
        self.low_rank("classify", "80")
        self.fails("compare", "d.csv", "--target", "target", "--rounds", "1000", "-o", "nowhere/x.csv",
                   says="nowhere/x.csv: cannot write: No such file")
        got = self.run_karma("compare", "d.csv", "--target", "target", "--methods", "zero", "-o", "/dev/full")
        self.assertEqual(got.code, 1, str(got))
        self.assertRegex(got.err, "/dev/full: cannot write")
        self.assertRegex(got.out, r"(?m)^  zero  .* best ")  # what was found is not lost

    def test_interrupted(self):
        self.low_rank("classify", "80")
        code, out, text = self.on_terminal("compare", "d.csv", "--target", "target", "--methods", "zero,karma-2", "--folds", "40",
                                           "--rounds", "1000", "--threads", "1", until=rb"fold ([2-9]|\d\d+) of 40000",
                                           act=lambda p: p.send_signal(signal.SIGINT))
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(zero|karma-2), fold \d+ of 40000 \(\d+%\)")
        self.assertRegex(out, r"(?m)^  interrupted after (1 part|\d+ parts)$")
        self.assertEqual(len(re.findall(r"(?m)^  (zero|karma-2) ", out)), 2)

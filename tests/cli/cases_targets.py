"""Probabilities, quantiles, several targets, weights, and kernels computed elsewhere."""
import math
import random

from case import Case


class Probabilities(Case):
    kinds = ("sigmoid", "isotonic")

    def columns(self, run):
        """The values of every column, by its name."""
        header, *rows = run.rows()
        return {name: [row[i] for row in rows] for i, name in enumerate(header)}

    def test_they_are_probabilities(self):
        self.two_classes()
        self.three_classes()
        for data, target, classes in (("two.csv", "answer", ["no", "yes"]),
                                      ("three.csv", "tree", ["ash", "birch, white", "elm"])):
            for kind in self.kinds:
                with self.subTest(data=data, kind=kind):
                    run = self.ok("train", "--effort", "off", data, "--target", target, "--probabilities", kind, "-o", "m.karma")
                    self.assertIn("with probabilities", run.out)
                    out = self.columns(self.ok("predict", "m.karma", data))
                    scores = ["score"] if len(classes) == 2 else [f"score:{name}" for name in classes]
                    self.assertEqual(list(out), ["prediction", *scores, *(f"p:{name}" for name in classes)])
                    for i, said in enumerate(out["prediction"]):
                        p = [float(out[f"p:{name}"][i]) for name in classes]
                        self.close_to(sum(p), 1.0, 1e-12)
                        self.assertTrue(all(0 <= v <= 1 for v in p), p)
                        self.assertEqual(said, classes[p.index(max(p))])
                    json = self.ok("predict", "m.karma", data, "--json").json()["predictions"]
                    for i, row in enumerate(json):
                        self.assertEqual(row["probabilities"], {name: float(out[f"p:{name}"][i]) for name in classes})

    def test_same_for_any_threads(self):
        self.three_classes()
        for kind in self.kinds:
            out = set()
            for threads in ("1", "2", "3", "2"):
                self.ok("train", "--effort", "off", "three.csv", "--target", "tree", "--probabilities", kind, "--seed", "7", "--threads", threads,
                        "-o", "m.karma", "--quiet")
                out.add(self.ok("predict", "m.karma", "three.csv", "--threads", threads).out)
            self.assertEqual(len(out), 1, kind)

    def test_seed_and_folds_matter(self):
        self.two_classes()
        out = set()
        for options in (["--seed", "1"], ["--seed", "2"], ["--folds", "2"], ["--folds", "1000"]):
            self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--probabilities", "sigmoid", *options, "-o", "m.karma", "--quiet")
            out.add(self.ok("predict", "m.karma", "two.csv").out)
        self.assertEqual(len(out), 4)

    def test_scores_are_those_without(self):
        self.two_classes()
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "plain.karma", "--quiet")
        plain = self.columns(self.ok("predict", "plain.karma", "two.csv"))
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--probabilities", "sigmoid", "-o", "m.karma", "--quiet")
        out = self.columns(self.ok("predict", "m.karma", "two.csv"))
        self.assertEqual(out["score"], plain["score"])
        pairs = sorted(zip(map(float, out["score"]), map(float, out["p:yes"])))
        self.assertTrue(all(a[1] <= b[1] for a, b in zip(pairs, pairs[1:])), "not ascending with the score")
        self.assertNotIn("p:yes", plain)

    def test_measures(self):
        """Log loss, Brier score and expected calibration error, computed here from the predictions."""
        rows = self.three_classes()
        self.ok("train", "--effort", "off", "three.csv", "--target", "tree", "--probabilities", "sigmoid", "-o", "m.karma", "--quiet")
        got = self.ok("eval", "m.karma", "three.csv", "--json").json()
        out = self.ok("predict", "m.karma", "three.csv", "--json").json()["predictions"]
        loss = brier = 0.0
        bins = {}
        for row, said in zip(rows, out):
            p, truth = said["probabilities"], row[-1]
            loss -= math.log(p[truth]) / len(rows)
            brier += sum((v - (name == truth)) ** 2 for name, v in p.items()) / len(rows)
            best = max(p.values())
            bins.setdefault(min(9, int(10 * best)), []).append((best, said["prediction"] == truth))
        error = sum(abs(sum(p for p, _ in b) - sum(hit for _, hit in b)) for b in bins.values()) / len(rows)
        for name, want in (("log_loss", loss), ("brier", brier), ("calibration_error", error)):
            self.close_to(got[name], want, 1e-9, name)
        text = self.ok("eval", "m.karma", "three.csv").out
        for words in ("log loss", "Brier score", "calibration error"):
            self.assertIn(words, text)
        self.ok("train", "--effort", "off", "three.csv", "--target", "tree", "-o", "m.karma", "--quiet")
        got = self.ok("eval", "m.karma", "three.csv", "--json").json()
        self.assertEqual([got["log_loss"], got["brier"], got["calibration_error"]], [None] * 3)

    def test_only_of_classes(self):
        self.quantity()
        self.fails("train", "--effort", "off", "price.csv", "--target", "price", "--task", "regress", "--probabilities", "sigmoid", "-o", "m.karma",
                   code=2, says="--probabilities is for classes")


class Weights(Case):
    def weighted(self, rows, weights, name="w.csv"):
        self.write_csv(name, ["a", "b", "colour", "answer", "w"], [[*row, w] for row, w in zip(rows, weights)])

    exact = ("--standardise", "off", "--scale", "2.5", "--C", "3", "--tolerance", "1e-8")

    def scores(self, model, data="two.csv"):
        return [float(row[1]) for row in self.ok("predict", model, data).rows()[1:]]

    def same(self, got, want, tolerance=1e-3):
        for a, b in zip(got, want, strict=True):
            self.close_to(a, b, tolerance)

    def test_weight_is_repetition(self):
        """Recipe, scale and C ignore weights, so they are given here."""
        rows = self.two_classes(n=60)
        draw = random.Random(3)
        weights = [draw.choice([1, 2, 3]) for _ in rows]
        self.weighted(rows, weights)
        self.write_csv("r.csv", ["a", "b", "colour", "answer"], [row for row, w in zip(rows, weights) for _ in range(w)])
        for loss in ("hinge", "logistic"):
            with self.subTest(loss=loss):
                one = self.ok("train", "--effort", "off", "w.csv", "--target", "answer", "--row-weight", "w", "--loss", loss, *self.exact, "-o",
                              "w.karma", "--json").json()
                two = self.ok("train", "--effort", "off", "r.csv", "--target", "answer", "--loss", loss, *self.exact, "-o", "r.karma",
                              "--json").json()
                self.close_to(one["primal"], two["primal"], 1e-6, "objective")
                self.same(self.scores("w.karma"), self.scores("r.karma"))

    def test_only_proportions_count(self):
        rows = self.two_classes(n=60)
        out = []
        for factor in (1, 1000, 0.001):
            self.weighted(rows, [factor * (1 + i % 3) for i in range(len(rows))])
            self.ok("train", "--effort", "off", "w.csv", "--target", "answer", "--row-weight", "w", "--tolerance", "1e-8", "-o", "w.karma", "--quiet")
            out.append(self.scores("w.karma"))
        self.same(out[1], out[0])
        self.same(out[2], out[0])

    def test_weight_0_leaves_a_row_out(self):
        rows = self.two_classes(n=60)
        self.weighted(rows, [0 if i < 20 else 1 for i in range(60)])
        self.write_csv("r.csv", ["a", "b", "colour", "answer"], rows[20:])
        self.ok("train", "--effort", "off", "w.csv", "--target", "answer", "--row-weight", "w", *self.exact, "-o", "w.karma", "--quiet")
        self.ok("train", "--effort", "off", "r.csv", "--target", "answer", *self.exact, "-o", "r.karma", "--quiet")
        self.same(self.scores("w.karma"), self.scores("r.karma"))

    def test_eval_counts_weights(self):
        rows = self.two_classes(n=60)
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "m.karma", "--quiet")
        weights = [1 + i % 4 for i in range(60)]
        self.weighted(rows, weights)
        out = self.ok("predict", "m.karma", "two.csv").rows()[1:]
        right = sum(w for w, row, said in zip(weights, rows, out) if row[-1] == said[0])
        got = self.ok("eval", "m.karma", "w.csv", "--row-weight", "w", "--json").json()
        self.close_to(got["accuracy"], right / sum(weights), 1e-12)
        self.assertEqual(sum(sum(line.values()) for line in got["confusion"].values()), 60)

    def test_class_weight_is_a_row_weight(self):
        rows = self.two_classes(n=80)
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--class-weight", "yes=3", *self.exact, "-o", "c.karma", "--quiet")
        weights = [3 if row[-1] == "yes" else 1 for row in rows]
        self.weighted(rows, weights)
        C = 3 * sum(weights) / len(weights)  # class weights are not divided by their mean
        exact = [str(C) if word == "3" else word for word in self.exact]
        self.ok("train", "--effort", "off", "w.csv", "--target", "answer", "--row-weight", "w", *exact, "-o", "w.karma", "--quiet")
        self.same(self.scores("c.karma"), self.scores("w.karma"))

    def test_balanced(self):
        rows = self.two_classes(n=90)
        rows = [row for row in rows if row[-1] == "no"] + [row for row in rows if row[-1] == "yes"][:9]
        self.write_csv("few.csv", ["a", "b", "colour", "answer"], rows)
        n, few = len(rows), 9
        named = f"no={n / (2 * (n - few))},yes={n / (2 * few)}"
        out = []
        for weight in ("balanced", named):
            self.ok("train", "--effort", "off", "few.csv", "--target", "answer", "--class-weight", weight, "--tolerance", "1e-8", "-o", "m.karma",
                    "--quiet")
            out.append(self.scores("m.karma"))
        self.same(out[0], out[1])
        recall = {}
        for weight in ((), ("--class-weight", "balanced")):
            self.ok("train", "--effort", "off", "few.csv", "--target", "answer", *weight, "-o", "m.karma", "--quiet")
            recall[weight] = self.ok("eval", "m.karma", "few.csv", "--json").json()["confusion"]["yes"]["yes"]
        self.assertGreaterEqual(recall["--class-weight", "balanced"], recall[()])

    def test_wrong_weights(self):
        rows = self.two_classes(n=20)
        self.fails("train", "--effort", "off", "two.csv", "--target", "answer", "--class-weight", "maybe=2", "-o", "m.karma", code=2,
                   says="column 'answer' has no class 'maybe'")
        for value in ("yes", "yes=-1", "yes=x", "=1", "yes=inf"):
            self.fails("train", "--effort", "off", "two.csv", "--target", "answer", "--class-weight", value, "-o", "m.karma", code=2,
                       says="--class-weight")
        self.fails("train", "--effort", "off", "two.csv", "--target", "answer", "--class-weight", "yes=0,no=0", "-o", "m.karma", code=2,
                   says="every class has weight 0")
        self.weighted(rows, [-1] * 20)
        self.fails("train", "--effort", "off", "w.csv", "--target", "answer", "--row-weight", "w", "-o", "m.karma", says="w.csv.*'w'")
        self.weighted(rows, [0] * 20)
        self.fails("train", "--effort", "off", "w.csv", "--target", "answer", "--row-weight", "w", "-o", "m.karma", says="w.csv")
        self.quantity()
        self.fails("train", "--effort", "off", "price.csv", "--target", "price", "--task", "regress", "--class-weight", "balanced", "-o", "m.karma",
                   code=2, says="--class-weight is for classes")


class SeveralTargets(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(9)
        rows = [[*row[:-1], round(draw.gauss(0, 1) + (row[-1] == "yes"), 3), draw.choice("xyz"), row[-1]]
                for row in self.two_classes(n=90)]
        self.write_csv("s.csv", ["a", "b", "colour", "size", "kind", "answer"], rows)
        self.targets = ["answer", "size", "kind"]

    def test_as_one_by_one(self):
        options = ["--C", "5", "--tolerance", "1e-6", "--scale", "3"]
        self.ok("train", "--effort", "off", "s.csv", "--target", "answer,size,kind", *options, "-o", "all.karma", "--quiet")
        header, *rows = self.ok("predict", "all.karma", "s.csv").rows()
        self.assertEqual(header, ["prediction:answer", "score:answer", "prediction:size", "score:size", "prediction:kind",
                                  "score:kind:x", "score:kind:y", "score:kind:z"])
        together = {name: [row[i] for row in rows] for i, name in enumerate(header)}
        for target in self.targets:
            others = [word for other in self.targets if other != target for word in ("--ignore", other)]
            self.ok("train", "--effort", "off", "s.csv", "--target", target, *others, *options, "-o", "one.karma", "--quiet")
            names, *alone = self.ok("predict", "one.karma", "s.csv", notes=[]).rows()  # the ignored ones are remembered
            for i, name in enumerate(names):
                kind, _, detail = name.partition(":")
                column = together[":".join([kind, target] + [detail] * (detail != ""))]
                for a, row in zip(column, alone, strict=True):
                    if kind == "prediction" and target != "size":
                        self.assertEqual(a, row[i])
                    else:
                        self.close_to(float(a), float(row[i]), 1e-3, name)

    def test_json(self):
        run = self.ok("train", "--effort", "off", "s.csv", "--target", "answer,size,kind", "--probabilities", "sigmoid", "-o", "m.karma",
                      "--json", notes=["'size'"]).json()
        self.assertEqual([(t["name"], t["task"], t["loss"]) for t in run["targets"]],
                         [("answer", "classify", "hinge"), ("size", "regress", "huber"), ("kind", "classify", "hinge")])
        self.assertEqual(run["target"], "answer")
        inspected = self.ok("inspect", "m.karma", "--json").json()["targets"]
        self.assertEqual([(t["name"], t["probabilities"]) for t in inspected],
                         [("answer", True), ("size", False), ("kind", True)])
        said = self.ok("predict", "m.karma", "s.csv", "--json").json()
        self.assertEqual(said["targets"], self.targets)
        for row in said["predictions"]:
            self.assertEqual(list(row["targets"]), self.targets)
            self.close_to(sum(row["targets"]["kind"]["probabilities"].values()), 1, 1e-12)
            self.assertNotIn("probabilities", row["targets"]["size"])
        got = self.ok("eval", "m.karma", "s.csv", "--json").json()["targets"]
        self.assertEqual([got[name]["rows"] for name in self.targets], [90] * 3)
        self.assertLess(got["answer"]["brier"], 0.25)
        self.assertIn("mae", got["size"])
        text = self.ok("eval", "m.karma", "s.csv").out
        for name in self.targets:
            self.assertIn(f"target '{name}'", text)

    def test_summary_names_every_loss(self):
        out = self.ok("train", "--effort", "off", "s.csv", "--target", "answer,size", "-o", "m.karma", notes=["'size'"]).out
        self.assertRegex(out, r"target         answer, 2 classes: \w+ \d+, \w+ \d+\n  target         size, a number\n")
        self.assertNotRegex(out, "solver .* loss")

    def test_labels_may_be_missing(self):
        header, *rows = self.read_rows("s.csv")
        rows = [row[:3] + ["" if i % 3 == 0 else row[3], row[4], "" if i % 3 == 1 else row[5]] for i, row in enumerate(rows)]
        self.write_csv("h.csv", header, rows)
        run = self.ok("train", "--effort", "off", "h.csv", "--target", "answer,size", "--ignore", "kind", "-o", "m.karma", "--json",
                      notes=["'size'"]).json()
        self.assertEqual([run["rows"], run["rows_without_label"]], [90, 0])
        got = self.ok("eval", "m.karma", "h.csv", "--json", notes=[]).json()["targets"]
        self.assertEqual([got["answer"]["rows"], got["size"]["rows_without_label"]], [60, 30])


class Quantiles(Case):
    def test_never_cross(self):
        draw = random.Random(4)
        rows = [[round(x, 3) if draw.random() < 0.8 else None, round(draw.gauss(0, 1), 3), round(x + draw.gauss(0, abs(x)), 3)]
                for x in (draw.gauss(0, 1) for _ in range(120))]
        self.write_csv("q.csv", ["x", "noise", "y"], rows)
        wanted = [0.05, 0.25, 0.5, 0.75, 0.95]
        self.ok("train", "--effort", "off", "q.csv", "--target", "y", "--task", "regress", "--loss", "pinball", "--quantile",
                "0.95,0.5,0.05,0.25,0.75", "--kernel", "rank", "--C", "300", "-o", "q.karma", "--quiet")
        self.write_csv("far.csv", ["x", "noise"], [[draw.gauss(0, 5), draw.gauss(0, 5)] for _ in range(200)])
        for data in ("q.csv", "far.csv"):
            header, *out = self.ok("predict", "q.karma", data).rows()
            self.assertEqual(header, ["prediction", *(f"q:{q:g}" for q in wanted)])
            for row in out:
                values = [float(cell) for cell in row[1:]]
                self.assertEqual(values, sorted(values))
                self.assertEqual(row[0], row[3])  # the median
        got = self.ok("eval", "q.karma", "q.csv", "--json").json()
        truth = [row[-1] for row in rows]
        out = self.ok("predict", "q.karma", "q.csv").rows()[1:]
        for k, (q, line) in enumerate(zip(wanted, got["quantiles"], strict=True)):
            said = [float(row[1 + k]) for row in out]
            self.assertEqual(line["quantile"], q)
            self.close_to(line["coverage"], sum(y <= z for y, z in zip(truth, said)) / 120, 1e-12)
            loss = sum(max(q * (y - z), (q - 1) * (y - z)) for y, z in zip(truth, said)) / 120
            self.close_to(line["pinball"], loss, 1e-9)
        inside = sum(float(row[1]) <= y <= float(row[5]) for y, row in zip(truth, out)) / 120
        self.close_to(got["interval_coverage"], inside, 1e-12)
        json = self.ok("predict", "q.karma", "q.csv", "--json").json()["predictions"][0]
        self.assertEqual(list(json["quantiles"]), ["0.05", "0.25", "0.5", "0.75", "0.95"])

    def test_the_prediction_is_the_median(self):
        """The median is learned even if only outer quantiles are named, and eval judges it."""
        self.quantity(n=60)
        for given in ("0.9,0.1", "0.25,0.75,0.9"):
            with self.subTest(quantile=given):
                self.ok("train", "--effort", "off", "price.csv", "--target", "price", "--task", "regress", "--quantile", given, "-o", "q.karma")
                found = self.ok("predict", "q.karma", "price.csv").rows()
                names = [f"q:{q}" for q in sorted([*given.split(","), "0.5"], key=float)]
                self.assertEqual(found[0], ["prediction", *names])
                self.assertEqual([row[0] for row in found[1:]], [row[found[0].index("q:0.5")] for row in found[1:]])
                truth = [float(row[-1]) for row in self.read_rows("price.csv")[1:]]
                error = sum(abs(float(row[0]) - y) for row, y in zip(found[1:], truth)) / len(truth)
                judged = self.ok("eval", "q.karma", "price.csv", "--json").json()
                self.close_to(judged["mae"], error, 1e-9, "of the median")
                mean = sum(truth) / len(truth)
                rest = sum((float(row[0]) - y) ** 2 for row, y in zip(found[1:], truth))
                self.close_to(judged["r2"], 1 - rest / sum((y - mean) ** 2 for y in truth), 1e-9, "R2 of the median")

    def test_one_is_the_prediction(self):
        self.quantity()
        run = self.ok("train", "--effort", "off", "price.csv", "--target", "price", "--task", "regress", "--quantile", "0.9", "-o", "q.karma",
                      "--json").json()
        self.assertEqual(run["loss"], "pinball")  # what auto takes with quantiles
        self.assertEqual(self.ok("predict", "q.karma", "price.csv").rows()[0], ["prediction", "score"])
        coverage = self.ok("eval", "q.karma", "price.csv", "--json").json()["quantiles"][0]["coverage"]
        self.assertLess(abs(coverage - 0.9), 0.06)

    def test_wrong_ones(self):
        self.quantity(n=40)
        for quantile in ("0", "1", "1.5", "-0.1", "nan", "0.5,", ",0.5", "0.5,0.5", "half", "0.1 0.9",
                         ",".join(str((i + 1) / 101) for i in range(100))):
            with self.subTest(quantile=quantile):
                self.fails("train", "--effort", "off", "price.csv", "--target", "price", "--task", "regress", "--loss", "pinball", "--quantile",
                           quantile, "-o", "m.karma", code=2, says="--quantile takes up to 99 different numbers")
        self.fails("train", "--effort", "off", "price.csv", "--target", "price", "--task", "regress", "--loss", "huber", "--quantile", "0.1", "-o", "m.karma",
                   code=2, says="--quantile is for numbers with the loss pinball, not for huber")


class Precomputed(Case):
    def setUp(self):
        super().setUp()
        rows = self.two_classes(n=80)
        self.write_csv("train.csv", ["a", "b", "colour", "answer"], rows[:50])
        self.write_csv("new.csv", ["a", "b", "colour", "answer"], rows[50:])
        self.write_csv("bare.csv", ["a", "b", "colour"], [row[:-1] for row in rows[50:]])

    def numbers(self, run):
        return [[float(cell) for cell in row] for row in run.rows()]

    def test_as_if_computed_here(self):
        for options in ([], ["--kernel", "rank + linear", "--gamma", "3"], ["--outer", "rbf"], ["--encoding", "polar"]):
            with self.subTest(options=options):
                kernel = [*options, "--bias", "1", "--target", "answer"]
                self.ok("gram", "train.csv", *kernel, "-o", "g.csv")
                self.ok("gram", "new.csv", "--against", "train.csv", *kernel, "-o", "n.csv")
                train = ["train", "--effort", "off", "train.csv", "--target", "answer", "--tolerance", "1e-7", "--json"]
                direct = self.ok(*train, *options, "-o", "d.karma").json()
                given = self.ok(*train, "--gram", "g.csv", "-o", "p.karma").json()
                self.close_to(direct["primal"], given["primal"], 1e-5)
                a = self.ok("predict", "d.karma", "new.csv", "--json").json()["predictions"]
                b = self.ok("predict", "p.karma", "new.csv", "--gram", "n.csv", "--json").json()["predictions"]
                for x, y in zip(a, b, strict=True):
                    self.assertEqual(x["prediction"], y["prediction"])
                    self.close_to(x["score"], y["score"], 1e-3)
                self.assertEqual(self.ok("predict", "p.karma", "n.csv", "--json").json()["predictions"], b)
                one = self.ok("eval", "d.karma", "new.csv", "--json").json()
                two = self.ok("eval", "p.karma", "new.csv", "--gram", "n.csv", "--json").json()
                self.assertEqual(one["confusion"], two["confusion"])
                self.close_to(one["auc"], two["auc"], 1e-2)

    def test_probabilities(self):
        self.ok("gram", "train.csv", "--target", "answer", "-o", "g.csv")
        self.ok("gram", "bare.csv", "--against", "train.csv", "--target", "answer", "-o", "n.csv")
        self.ok("train", "--effort", "off", "train.csv", "--target", "answer", "--gram", "g.csv", "--probabilities", "sigmoid", "-o", "p.karma",
                "--quiet")
        for row in self.ok("predict", "p.karma", "n.csv").rows()[1:]:
            self.close_to(float(row[2]) + float(row[3]), 1.0, 1e-12)

    def test_against(self):
        """Against the same rows it is the matrix; other rows need no labels; all are encoded together."""
        whole = self.numbers(self.ok("gram", "train.csv", "--target", "answer", "--kernel", "rank"))
        self.assertEqual(whole, self.numbers(self.ok("gram", "train.csv", "--against", "train.csv", "--target", "answer",
                                                     "--kernel", "rank")))
        run = self.ok("gram", "new.csv", "--against", "train.csv", "--target", "answer")
        matrix = self.numbers(run)
        self.assertEqual([len(matrix), {len(row) for row in matrix}], [30, {50}])
        self.assertEqual(run.out, self.ok("gram", "bare.csv", "--against", "train.csv", "--target", "answer").out)
        json = self.ok("gram", "new.csv", "--against", "train.csv", "--target", "answer", "-o", "n.csv", "--json").json()
        self.assertEqual([json["rows"], json["columns"]], [30, 50])

    def test_reports(self):
        self.ok("gram", "train.csv", "--target", "answer", "-o", "g.csv")
        run = self.ok("train", "--effort", "off", "train.csv", "--target", "answer", "--gram", "g.csv", "-o", "p.karma")
        self.assertRegex(run.out, r"50 rows and their kernel values\n(.*\n)*  kernel         precomputed\n")
        self.assertNotRegex(run.out + self.ok("inspect", "p.karma").out, "gamma|scale|bias|column")
        json = self.ok("train", "--effort", "off", "train.csv", "--target", "answer", "--gram", "g.csv", "-o", "p.karma", "--json").json()
        self.assertEqual([json["attributes"], json["missing"], json["scale"]], [0, None, None])

    def test_unlabelled_rows(self):
        """Their columns stay, but are not used."""
        header, *rows = self.read_rows("train.csv")
        self.write_csv("holes.csv", header, [row[:-1] + ["" if i % 5 == 2 else row[-1]] for i, row in enumerate(rows)])
        self.ok("gram", "train.csv", "--target", "answer", "-o", "g.csv")
        self.ok("train", "--effort", "off", "holes.csv", "--target", "answer", "--gram", "g.csv", "-o", "p.karma", "--quiet")
        self.assertEqual(len(self.ok("predict", "p.karma", "g.csv").rows()), 51)

    def test_matrices_that_are_none(self):
        self.ok("gram", "train.csv", "--target", "answer", "-o", "g.csv")
        good = self.numbers(self.ok("gram", "train.csv", "--target", "answer"))

        def bad(matrix, says, name="b.csv"):
            self.write_csv(name, None, matrix)
            self.fails("train", "--effort", "off", "train.csv", "--target", "answer", "--gram", name, "-o", "m.karma", says=says)

        changed = [row[:] for row in good]
        changed[3][7] += 5
        bad(changed, "not symmetric: row 8 has .* with row 4")
        changed = [row[:] for row in good]
        changed[0][1] = changed[1][0] = 10 * max(map(max, good))
        bad(changed, "not positive semidefinite")
        changed = [row[:] for row in good]
        changed[2][2] = -1
        bad(changed, "the value of row 3 with itself is -1")
        bad(good[:-1], "b.csv: the kernel matrix has 49 rows, but the data have 50")
        bad([row[:-1] for row in good], "the kernel matrix has 49 columns, but there is a row 50")
        bad([["x"] + row[1:] for row in good], "b.csv: column 1 of the kernel matrix holds text")
        bad([[None] + row[1:] if i == 4 else row for i, row in enumerate(good)], "row 5 of the kernel matrix has a missing value")
        self.fails("train", "--effort", "off", "train.csv", "--target", "answer", "--gram", "gone.csv", "-o", "m.karma", says="gone.csv")
        self.fails("train", "--effort", "off", "train.csv", "--target", "answer", "--kernel", "precomputed", "-o", "m.karma", code=2, says="--gram")
        self.fails("train", "--effort", "off", "train.csv", "--target", "answer", "--gram", "g.csv", "--kernel", "rank", "-o", "m.karma", code=2,
                   says="comes with kernel values: --kernel must be 'precomputed'")
        self.fails("train", "--effort", "off", "train.csv", "--target", "answer", "--gram", "g.csv", "--outer", "rbf", "-o", "m.karma", code=2,
                   says="precomputed takes no outer map")

    def test_other_matrices_at_prediction(self):
        self.ok("gram", "train.csv", "--target", "answer", "-o", "g.csv")
        self.ok("gram", "new.csv", "--target", "answer", "-o", "own.csv")
        self.ok("train", "--effort", "off", "train.csv", "--target", "answer", "--gram", "g.csv", "-o", "p.karma", "--quiet")
        self.ok("train", "--effort", "off", "train.csv", "--target", "answer", "-o", "d.karma", "--quiet")
        for command in ("predict", "eval"):
            self.fails(command, "p.karma", "new.csv", "--gram", "own.csv",
                       says="the kernel matrix has 30 columns, but the model was learned with 50 training rows")
            self.fails(command, "p.karma", "new.csv", "--gram", "g.csv", says="has 50 rows, but the data have 30")
            self.fails(command, "d.karma", "new.csv", "--gram", "own.csv", code=2, says="computes its kernel from columns")

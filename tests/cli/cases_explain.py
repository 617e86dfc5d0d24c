"""karma explain, and abstaining: parts that add up to scores, importances, overlaps, and rows without an answer."""
import random

from case import Case


class Explaining(Case):
    def lines(self, *args, **more):
        """The CSV of explain as dictionaries."""
        rows = self.ok("explain", *args, **more).rows()
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def scores(self, *args):
        """The CSV of predict, likewise."""
        rows = self.ok("predict", *args).rows()
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def sums(self, lines, *keys):
        """Sums of the contributions of lines that agree in these columns, in order."""
        sums = {}
        for line in lines:
            key = tuple(line[k] for k in keys)
            sums[key] = sums.get(key, 0.0) + float(line["contribution"])
        return list(sums.values())

    def test_wide_rows(self):
        """A notice announces a large cost; wide rows use fewer orders unless --samples is given."""
        rng = random.Random(11)
        names = [f"x{j}" for j in range(600)]
        rows = [[round(rng.gauss(0, 1), 3) for _ in names] for _ in range(120)]
        self.write_csv("wide.csv", names + ["y"], [row + ["p" if sum(row[:5]) > 0 else "q"] for row in rows])
        self.ok("train", "wide.csv", "--target", "y", "--outer", "rbf", "-o", "w.karma", "--quiet")
        self.write_csv("one.csv", names, rows[:1])
        plain = self.ok("explain", "w.karma", "one.csv").out
        self.assertEqual(plain, self.ok("explain", "w.karma", "one.csv", "--samples", "33").out)  # 20000/600
        self.assertNotEqual(plain, self.ok("explain", "w.karma", "one.csv", "--samples", "100").out)
        self.write_csv("many.csv", names, rows[:75])
        run = self.ok("explain", "w.karma", "many.csv", "--samples", "20", "--top", "3",
                      notes=[r"explaining 75 rows of up to 600 columns takes about 1.*e\+08 kernel values: 20 sampled orders"])
        self.assertEqual(len(run.rows()), 1 + 75 * 5)

    def test_two_classes(self):
        rows = self.trained(ids=True)
        header = self.ok("explain", "m.karma", "two.csv", "--id", "who").rows()[0]
        self.assertEqual(header, ["who", "row", "class", "attribute", "value", "contribution", "se"])
        lines = self.lines("m.karma", "two.csv", "--id", "who")
        predictions = self.scores("m.karma", "two.csv", "--id", "who")
        self.assertEqual({line["class"] for line in lines}, {"yes"})
        for got, wanted in zip(self.sums(lines, "who"), predictions):
            self.close_to(got, float(wanted["score"]), 1e-5, wanted["who"])
        for i, row in enumerate(rows):
            own = [line for line in lines if line["row"] == str(i + 1)]
            cells = {name: cell for name, cell in zip(["a", "b", "colour"], row[1:4]) if cell is not None}
            self.assertEqual({line["who"] for line in own}, {row[0]})
            self.assertEqual(own[-1]["attribute"], "(bias)")
            self.assertEqual({line["attribute"] for line in own[:-1]}, set(cells))
            for line in own[:-1]:
                cell = cells[line["attribute"]]
                self.assertEqual(line["value"] if isinstance(cell, str) else float(line["value"]), cell)
            sizes = [abs(float(line["contribution"])) for line in own[:-1]]
            self.assertEqual(sizes, sorted(sizes, reverse=True))
            self.assertEqual({line["se"] for line in own}, {"0"})

    def test_many_classes(self):
        self.three_classes()
        self.ok("train", "--effort", "off", "three.csv", "--target", "tree", "--kernel", "rank", "-o", "n.karma", "--quiet")
        lines, predictions = self.lines("n.karma", "three.csv"), self.scores("n.karma", "three.csv")
        self.assertEqual([line["class"] for line in lines if line["row"] == "1" and line["attribute"] == "(bias)"],
                         ["ash", "birch, white", "elm"])
        sums = self.sums(lines, "row", "class")
        wanted = [float(p[f"score:{c}"]) for p in predictions for c in ("ash", "birch, white", "elm")]
        for got, score in zip(sums, wanted):
            self.close_to(got, score)
        self.assertEqual(len(sums), len(wanted))

    def test_numbers(self):
        self.quantity()
        self.ok("train", "--effort", "off", "price.csv", "--target", "price", "-o", "q.karma", "--quiet")
        lines = self.lines("q.karma", "price.csv")
        self.assertEqual(list(lines[0]), ["row", "attribute", "value", "contribution", "se"])
        for got, wanted in zip(self.sums(lines, "row"), self.scores("q.karma", "price.csv")):
            self.close_to(got, float(wanted["prediction"]))

    def test_quantiles_and_several_targets(self):
        self.quantity()
        rows = self.read_rows("price.csv")
        self.write_csv("both.csv", rows[0] + ["dear"], [row + ["yes" if float(row[3]) > 100 else "no"] for row in rows[1:]])
        self.ok("train", "--effort", "off", "both.csv", "--target", "price,dear", "--loss", "auto", "-o", "b.karma", "--quiet")
        lines = self.lines("b.karma", "both.csv")
        self.assertEqual(list(lines[0]), ["row", "target", "class", "attribute", "value", "contribution", "se"])
        self.assertEqual({(line["target"], line["class"]) for line in lines}, {("price", ""), ("dear", "yes")})
        predictions = self.scores("b.karma", "both.csv")
        wanted = [float(p[name]) for p in predictions for name in ("prediction:price", "score:dear")]
        for got, score in zip(self.sums(lines, "row", "target"), wanted):
            self.close_to(got, score)
        self.ok("train", "--effort", "off", "price.csv", "--target", "price", "--loss", "pinball", "--quantile", "0.1,0.9", "-o", "p.karma",
                "--quiet")
        lines = self.lines("p.karma", "price.csv", "--top", "1")
        self.assertEqual(list(lines[0]), ["row", "quantile", "attribute", "value", "contribution", "se"])
        self.assertEqual({line["quantile"] for line in lines}, {"0.1", "0.5", "0.9"})
        sums = self.sums(lines, "row", "quantile")
        for k, p in enumerate(self.scores("p.karma", "price.csv")):  # which puts them in order
            for got, wanted in zip(sorted(sums[3 * k:3 * k + 3]), (p["q:0.1"], p["q:0.5"], p["q:0.9"])):
                self.close_to(got, float(wanted))
            self.assertEqual(p["prediction"], p["q:0.5"])  # the median is learned with them

    def test_top(self):
        self.trained()
        every, few = self.lines("m.karma", "two.csv"), self.lines("m.karma", "two.csv", "--top", "1")
        for a, b in zip(self.sums(every, "row"), self.sums(few, "row")):
            self.close_to(a, b, 1e-12)
        for row in {line["row"] for line in every}:
            own = [line for line in every if line["row"] == row]
            shown = [line for line in few if line["row"] == row]
            names = [line["attribute"] for line in shown]
            if len(own) > 2:
                self.assertEqual(names, [own[0]["attribute"], "(other)", "(bias)"])
                rest = sum(float(line["contribution"]) for line in own[1:-1])
                self.close_to(float(shown[1]["contribution"]), rest, 1e-12)
            else:
                self.assertEqual(shown, own)

    def test_json_equals_csv(self):
        self.trained(ids=True)
        lines = self.lines("m.karma", "two.csv", "--id", "who", "--top", "2")
        got = self.ok("explain", "m.karma", "two.csv", "--id", "who", "--top", "2", "--json").json()
        self.assertEqual([got["method"], got["targets"], got["rows"]], ["split", ["answer"], 120])
        flat = []
        for row in got["explanations"]:
            for score in row["scores"]:
                parts = [(p["attribute"], p["contribution"], p["se"]) for p in score["parts"]]
                if "other" in score:
                    parts.append(("(other)", score["other"]["contribution"], score["other"]["se"]))
                parts.append(("(bias)", score["bias"], 0.0))
                self.close_to(score["score"], sum(p[1] for p in parts), 1e-12)
                flat += [(row["who"], str(row["row"]), score["class"], *part) for part in parts]
        self.assertEqual([(line["who"], line["row"], line["class"], line["attribute"], float(line["contribution"]),
                           float(line["se"])) for line in lines], flat)
        described = self.ok("explain", "m.karma", "two.csv", "--id", "who", "--top", "2", "-o", "e.csv", "--json").json()
        self.assertEqual(described["output"], "e.csv")
        self.assertEqual(self.read("e.csv"), self.ok("explain", "m.karma", "two.csv", "--id", "who", "--top", "2").raw)

    def test_composed_kernel(self):
        """Shapley values in the tool: they add up, and rows of three columns need no sampling."""
        self.trained()
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--outer", "rbf", "-o", "r.karma", "--quiet")
        lines = self.lines("r.karma", "two.csv", "--seed", "3")
        for got, wanted in zip(self.sums(lines, "row"), self.scores("r.karma", "two.csv")):
            self.close_to(got, float(wanted["score"]))
        self.assertEqual({line["se"] for line in lines}, {"0"})

    def test_subspace_and_committee(self):
        """Cells are hidden before rows are placed in the subspace: (bias) is the score of empty rows, and a single cell adds
        the difference."""
        rows = self.trained()
        first = next(row for row in rows if row[0] is not None)
        self.write_csv("bare.csv", ["a", "b", "colour"], [[first[0], None, None], [None, None, None]])
        for kernel in ("subspace", "union", "linear @ 1 | rank(outer=rbf) @ 1,10 | linear + 10*subspace(bias=0)"):
            with self.subTest(kernel=kernel):
                self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--kernel", kernel, "--subspace-rank", "1",
                        "-o", "s.karma", "--quiet")
                lines = self.lines("s.karma", "two.csv")
                for got, wanted in zip(self.sums(lines, "row"), self.scores("s.karma", "two.csv")):
                    self.close_to(got, float(wanted["score"]))
                self.assertEqual({line["se"] for line in lines}, {"0"})
                one, none = (float(p["score"]) for p in self.scores("s.karma", "bare.csv"))
                bare = self.lines("s.karma", "bare.csv")
                self.assertEqual([(line["row"], line["attribute"]) for line in bare],
                                 [("1", "a"), ("1", "(bias)"), ("2", "(bias)")])
                for got, wanted in zip(bare, (one - none, none, none)):
                    self.close_to(float(got["contribution"]), wanted)
                self.assertEqual(self.ok("explain", "s.karma", "two.csv", "--json").json()["method"], "shapley")

    def test_default_model(self):
        """The model that train makes by default can be explained."""
        self.trained()
        self.ok("train", "two.csv", "--target", "answer", "--effort", "quick", "-o", "d.karma", "--quiet")
        for got, wanted in zip(self.sums(self.lines("d.karma", "two.csv"), "row"), self.scores("d.karma", "two.csv")):
            self.close_to(got, float(wanted["score"]))

    def test_columns_in_another_order(self):
        """Parts do not depend on the order of columns; a level that is not in the training rows is missing."""
        rows = self.trained()
        self.write_csv("turned.csv", ["colour", "extra", "a", "b"], [[r[2], 5, r[0], r[1]] for r in rows] + [["mauve", 1, 0, ""]])
        run = self.ok("explain", "m.karma", "turned.csv", notes=["does not know.*'extra'"])
        got = [row[2:] for row in run.rows()[1:] if row[0] != "121"]
        self.assertEqual(got, [row[2:] for row in self.ok("explain", "m.karma", "two.csv").rows()[1:]])
        self.assertEqual([row[2] for row in run.rows()[1:] if row[0] == "121"], ["a", "(bias)"])

    def test_wrong_usage(self):
        self.trained(n=30)
        for words, says in ((["--samples", "3"], "--samples .*4"), (["--samples", "many"], "--samples"),
                            (["--top", "0"], "--top .*1"), (["--repeats", "1"], "--repeats .*2"),
                            (["--importance", "--overlap"], "--importance or --overlap"),
                            (["--overlap", "--top", "2"], "--top"), (["--importance=on"], "takes no value"),
                            (["--seed", "-1"], "--seed")):
            with self.subTest(words=words):
                self.fails("explain", "m.karma", "two.csv", *words, code=2, says=says)
        for command in ("predict", "eval"):
            for level in ("0", "4", "thin"):
                self.fails(command, "m.karma", "two.csv", "--abstain", level, code=2, says="--abstain takes 1, 2 or 3")
        self.ok("explain", "m.karma", "two.csv", "--top", "all")
        self.ok("predict", "m.karma", "two.csv", "--abstain", "never")
        self.fails("explain", "m.karma", "nowhere.csv", says="nowhere.csv")
        self.fails("explain", "two.csv", "two.csv", says="two.csv")


class Importance(Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(8)
        self.rows = []
        for _ in range(400):
            a, b, noise = (round(rng.gauss(0, 1), 3) for _ in range(3))
            cells = [cell if rng.random() < 0.8 else None for cell in (noise, b, a)]
            self.rows.append(cells + ["up" if 2 * a + b > 0 else "down"])
        for name, part in (("train.csv", self.rows[:250]), ("test.csv", self.rows[250:])):
            self.write_csv(name, ["noise", "some", "most", "way"], part)
        self.ok("train", "--effort", "off", "train.csv", "--target", "way", "-o", "m.karma", "--quiet")

    def test_table(self):
        text = self.ok("explain", "m.karma", "test.csv", "--importance").out
        accuracy = self.ok("eval", "m.karma", "test.csv", "--json").json()["accuracy"]
        lines = text.splitlines()
        self.assertRegex(lines[0], rf"^150 rows, target 'way': accuracy {accuracy:.4f}")
        self.assertEqual([line.split()[0] for line in lines[2:]], ["most", "some", "noise"])
        self.assertRegex(lines[2], r"^  most +0\.\d{4} ± 0\.\d{4}$")
        self.assertEqual(len(self.ok("explain", "m.karma", "test.csv", "--importance", "--top", "1").out.splitlines()), 3)

    def test_csv_and_json(self):
        self.ok("explain", "m.karma", "test.csv", "--importance", "-o", "i.csv", "--repeats", "9", "--seed", "4")
        rows = self.read_rows("i.csv")
        self.assertEqual(rows[0], ["attribute", "importance", "se"])
        self.assertEqual(self.ok("explain", "m.karma", "test.csv", "--importance", "-o", "-", "--repeats", "9", "--seed",
                                 "4").rows(), rows)
        got = self.ok("explain", "m.karma", "test.csv", "--importance", "--repeats", "9", "--seed", "4", "--threads", "2",
                      "--json").json()
        target = got["targets"][0]
        self.assertEqual([got["rows"], target["target"], target["metric"]], [150, "way", "accuracy"])
        self.assertEqual([[i["attribute"], i["importance"], i["se"]] for i in target["importances"]],
                         [[name, float(mean), float(error)] for name, mean, error in rows[1:]])
        most, _, noise = target["importances"]
        self.assertGreater(most["importance"], 0.2)
        self.assertLessEqual(abs(noise["importance"]), 3 * noise["se"] * 10 ** 0.5)
        other = self.ok("explain", "m.karma", "test.csv", "--importance", "--repeats", "9", "--seed", "5", "--json").json()
        self.assertNotEqual(other, got)
        described = self.ok("explain", "m.karma", "test.csv", "--importance", "-o", "i.csv", "--json").json()
        self.assertEqual(described["output"], "i.csv")

    def test_labels_are_needed(self):
        self.write_csv("bare.csv", ["noise", "some", "most"], [row[:3] for row in self.rows])
        self.fails("explain", "m.karma", "bare.csv", "--importance", says="bare.csv: no row has a label")
        self.ok("explain", "m.karma", "bare.csv")
        self.ok("explain", "m.karma", "bare.csv", "--overlap")


class Overlap(Case):
    def setUp(self):
        """200 rows have a and b, 12 have c and d; c alone has little overlap."""
        super().setUp()
        rng = random.Random(9)
        rows = []
        for i in range(212):
            x, y = rng.gauss(0, 1), rng.gauss(0, 1)
            cells = [x, y, None, None] if i < 200 else [None, None, x, y]
            rows.append(cells + ["up" if x + rng.gauss(0, 2) > 0 else "down"])
        self.write_csv("train.csv", ["a", "b", "c", "d", "way"], rows)
        self.ok("train", "--effort", "off", "train.csv", "--target", "way", "--solver", "online", "--loss", "logistic", "-o", "m.karma", "--quiet")
        self.write_csv("new.csv", ["who", "a", "b", "c", "d", "way"],
                       [["full", 1, 1, 1, 1, "up"], ["ab", 1, -1, None, None, "up"], ["c", None, None, 2, None, "up"],
                        ["none", None, None, None, None, "down"], ["ac", 1, None, 1, None, "down"]])

    def test_counts(self):
        rows = self.ok("explain", "m.karma", "new.csv", "--id", "who", "--overlap").rows()
        self.assertEqual(rows[0], ["who", "row", "observed", "sharing", "share", "level"])
        support = self.ok("inspect", "m.karma", "--json").json()["support_rows"]
        self.assertEqual(support, 212)  # with the logistic loss every row is a support row
        wanted = [["full", "1", "4", 212, "0"], ["ab", "2", "2", 200, "0"], ["c", "3", "1", 12, "1"],
                  ["none", "4", "0", 0, "3"], ["ac", "5", "2", 212, "0"]]
        for row, (who, number, observed, sharing, level) in zip(rows[1:], wanted):
            self.assertEqual(row[:4] + row[5:], [who, number, observed, str(sharing), level])
            self.close_to(float(row[4]), sharing / 212, 1e-12)
        got = self.ok("explain", "m.karma", "new.csv", "--id", "who", "--overlap", "--json").json()
        self.assertEqual([got["rows"], got["support_rows"], got["rows_by_level"]], [5, 212, [3, 1, 0, 1]])
        self.assertEqual([[r["who"], str(r["row"]), str(r["observed"]), r["sharing"], str(r["level"])] for r in got["overlap"]],
                         wanted)
        got = self.ok("explain", "m.karma", "new.csv", "--id", "who", "--overlap", "-o", "o.csv", "--json").json()
        self.assertEqual(got["output"], "o.csv")
        self.assertEqual(self.read_rows("o.csv"), rows)

    def test_predict_abstains(self):
        plain = self.ok("predict", "m.karma", "new.csv", "--id", "who").rows()
        for level, empty in (("1", ["c", "none"]), ("2", ["none"]), ("3", ["none"])):
            run = self.ok("predict", "m.karma", "new.csv", "--id", "who", "--abstain", level,
                          notes=[f"{len(empty)} of 5 predictions are left empty.*--abstain {level}"])
            wanted = [[row[0], "" if row[0] in empty else row[1], *row[2:]] for row in plain]
            self.assertEqual(run.rows(), wanted)
            got = self.ok("predict", "m.karma", "new.csv", "--id", "who", "--abstain", level, "--json", "--quiet").json()
            self.assertEqual(got["abstained"], len(empty))
            self.assertEqual([p["prediction"] for p in got["predictions"]], [row[1] or None for row in wanted[1:]])
            self.assertTrue(all("probabilities" in p for p in got["predictions"]))
        self.assertNotIn("abstained", self.ok("predict", "m.karma", "new.csv", "--id", "who", "--json").json())
        self.write_csv("fine.csv", ["a", "b"], [[1, 2]])
        self.assertEqual(self.ok("predict", "m.karma", "fine.csv", "--abstain", "1", "--quiet").rows(),
                         self.ok("predict", "m.karma", "fine.csv", "--quiet").rows())

    def test_eval_abstains(self):
        self.write_csv("kept.csv", ["a", "b", "c", "d", "way"], [[1, 1, 1, 1, "up"], [1, -1, None, None, "up"],
                                                                 [1, None, 1, None, "down"]])
        got = self.ok("eval", "m.karma", "new.csv", "--id", "who", "--abstain", "1", "--json").json()
        self.assertEqual([got.pop("abstained"), got.pop("coverage")], [2, 0.6])
        self.assertEqual(got, self.ok("eval", "m.karma", "kept.csv", "--json").json())
        text = self.ok("eval", "m.karma", "new.csv", "--id", "who", "--abstain", "1").out
        self.assertRegex(text, "^abstained from 2 of 5 rows, coverage 60.0%\n3 rows, target 'way'\n")
        self.assertNotIn("abstained", self.ok("eval", "m.karma", "new.csv", "--id", "who").out)
        self.write_csv("thin.csv", ["c", "way"], [[1, "up"], [2, "down"]])
        self.fails("eval", "m.karma", "thin.csv", "--abstain", "1", "--quiet", says="--abstain leaves no row")

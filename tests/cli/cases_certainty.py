"""Intervals, sets, abstention and what to measure next: columns of predict, what eval and cv print about them, refusals."""
import random

from case import Case


def draw(n, seed, label):
    """Rows of four columns near a plane, a third of the cells missing."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        u, v = rng.gauss(0, 1), rng.gauss(0, 1)
        cells = [round(x + rng.gauss(0, 0.3), 4) for x in (u, v, u + v, u - v)]
        shown = [None if rng.random() < 0.33 else x for x in cells]
        rows.append([*shown, label(u + v + rng.gauss(0, 0.5))])
    return rows


HEADER = ["a", "b", "c", "d", "y"]


class Learned(Case):
    """A model m.karma of train.csv, and other rows of the same kind in new.csv."""

    def learn(self, label, *options, n=200):
        self.write_csv("train.csv", HEADER, draw(n, 1, label))
        self.write_csv("new.csv", HEADER, draw(150, 2, label))
        return self.ok("train", "train.csv", "--target", "y", *options, "-o", "m.karma", "--quiet")

    def numbers(self, *options):
        return self.learn(lambda y: repr(round(10 * y, 3)), *options)

    def classes(self, *options):
        return self.learn(lambda y: "high" if y > 0.8 else "low" if y < -0.8 else "middle", *options)

    def labels(self):
        return [row[-1] for row in self.read_rows("new.csv")[1:]]


class Certainty(Learned):
    def predictions(self, *options):
        header, *rows = self.ok("predict", "m.karma", "new.csv", "--quiet", *options).rows()
        return [dict(zip(header, row)) for row in rows]

    def check_groups(self, certainty, is_covered, sizes, name):
        """The output of eval, recomputed from the rows that predict wrote."""
        observed = [sum(cell != "" for cell in row[:-1]) for row in self.read_rows("new.csv")[1:]]
        for group in [certainty, *certainty["by_observed"]]:
            mine = [i for i, k in enumerate(observed) if group["least_observed"] <= k <= group["most_observed"]]
            self.assertEqual(group["rows"], len(mine))
            self.assertAlmostEqual(group["coverage"], sum(is_covered[i] for i in mine) / len(mine), 9)
            self.assertAlmostEqual(group[name], sum(sizes[i] for i in mine) / len(mine), 9)
        self.assertEqual(sum(group["rows"] for group in certainty["by_observed"]), len(observed))

    def test_intervals(self):
        self.numbers("--intervals", "0.8", "--coverage-by", "missing", "--kernel", "rank")
        for level in ("0.8", "0.95"):
            rows = self.predictions() if level == "0.8" else self.predictions("--intervals", level)
            truth = [float(y) for y in self.labels()]
            ends = [(float(row["low"]), float(row["high"])) for row in rows]
            covered = [low <= y <= high for (low, high), y in zip(ends, truth)]
            self.assertGreater(sum(covered) / len(covered), float(level) - 0.12)
            told = self.ok("eval", "m.karma", "new.csv", "--json", "--intervals", level).json()["certainty"]
            self.assertEqual(told["level"], float(level))
            self.check_groups(told, covered, [high - low for low, high in ends], "width")
        self.assertRegex(self.ok("eval", "m.karma", "new.csv").out, "80% intervals +coverage +mean width\n  all rows +")

    def test_sets_in_eval_and_cv(self):
        self.classes("--sets", "0.9", "--kernel", "rank")
        rows, truth = self.predictions(), self.labels()
        sets = [row["set"].split("|") for row in rows]
        covered = [y in found for y, found in zip(truth, sets)]
        self.assertGreater(sum(covered) / len(covered), 0.8)
        self.assertTrue(all(row["prediction"] in found for row, found in zip(rows, sets)))
        told = self.ok("eval", "m.karma", "new.csv", "--json").json()["certainty"]
        self.check_groups(told, covered, [len(found) for found in sets], "size")
        told = self.ok("cv", "train.csv", "--target", "y", "--sets", "0.9", "--kernel", "rank", "--json").json()["targets"][0]["certainty"]
        self.assertLess(abs(told["coverage"] - 0.9), 0.08)

    def test_abstention_by_share_and_accuracy(self):
        self.classes("--probabilities", "sigmoid", "--kernel", "rank")
        plain, truth = self.predictions(), self.labels()
        sure = [max(float(value) for name, value in row.items() if name.startswith("p:")) for row in plain]
        curve = self.ok("eval", "m.karma", "new.csv", "--json").json()["abstention"]
        self.assertEqual((curve[0]["asked"], curve[0]["answered"], curve[0]["threshold"]), (1.0, 1.0, None))
        for point in curve[1:]:
            given = [i for i, p in enumerate(sure) if p >= point["threshold"]]
            self.assertAlmostEqual(point["answered"], len(given) / len(sure), 9)
            self.assertAlmostEqual(point["accuracy"], sum(plain[i]["prediction"] == truth[i] for i in given) / len(given), 9)
        for how in ("30%", "accuracy=0.9"):
            rows = self.predictions("--abstain", how)
            answered = [i for i, row in enumerate(rows) if row["prediction"]]
            self.assertTrue(0 < len(answered) < len(rows))
            self.assertGreaterEqual(min(sure[i] for i in answered), max(p for i, p in enumerate(sure) if i not in answered))
            self.assertTrue(all(rows[i]["prediction"] == plain[i]["prediction"] for i in answered))
        self.ok("predict", "m.karma", "new.csv", "--abstain", "30%", notes=["is not certain enough about such rows .--abstain 30%"])
        self.ok("predict", "m.karma", "new.csv", "--abstain", "accuracy=0.9999",
                notes=["150 of 150 predictions are left empty: no level of confidence kept this accuracy"])
        for text in ("accuracy=1.5", "100%", "0%", "accuracy=", "often"):
            self.fails("predict", "m.karma", "new.csv", "--abstain", text, code=2, says="--abstain takes")

    def test_few_rows_and_extreme_levels(self):
        """Limits that few rows do not determine are infinite: empty fields, null in JSON."""
        self.learn(lambda y: repr(y), "--intervals", "0.99", "--kernel", "linear", n=20)
        self.assertEqual({(row["low"], row["high"]) for row in self.predictions()}, {("", "")})
        first = self.ok("predict", "m.karma", "new.csv", "--json", "--quiet").json()["predictions"][0]
        self.assertEqual((first["low"], first["high"]), (None, None))
        self.assertRegex(self.ok("eval", "m.karma", "new.csv").out, "all rows +100.0% +unlimited")

    def test_contradictions(self):
        self.numbers("--kernel", "linear")
        train = ["train", "train.csv", "--target", "y", "--kernel", "linear", "-o", "m2.karma", "--quiet"]
        self.fails(*train, "--intervals", "0.8", "--certainty", "off", code=2, says="--intervals needs .*--certainty off")
        self.fails(*train, "--sets", "0.8", code=2, says="--sets is for classes")
        self.fails("predict", "m.karma", "new.csv", "--intervals", "0.8", says="--certainty on")
        self.fails("predict", "m.karma", "new.csv", "--abstain", "10%", says="--certainty on")


class Next(Learned):
    def test_cells_in_the_order_of_their_gain(self):
        self.classes("--kernel", "union", "--probabilities", "sigmoid")
        missing = {(str(i + 1), name) for i, row in enumerate(self.read_rows("new.csv")[1:])
                   for name, cell in zip(HEADER[:-1], row) if cell == ""}
        header, *plain = self.ok("next", "m.karma", "new.csv", "--quiet").rows()
        self.assertEqual(header, ["row", "place", "column", "gain", "cost", "gain_per_cost", "change"])
        self.assertEqual({(row[0], row[2]) for row in plain}, missing)
        gains = {(row[0], row[2]): float(row[3]) for row in plain}
        self.assertTrue(all(gain >= 0.0 for gain in gains.values()) and max(gains.values()) > 0.05)
        costly = self.ok("next", "m.karma", "new.csv", "--quiet", "--cost", "c=5").rows()[1:]
        last = {}
        for number, place, column, gain, cost, per_cost, change in costly:
            self.assertEqual(float(gain), gains[number, column])
            self.assertEqual(float(cost), 5.0 if column == "c" else 1.0)
            self.assertAlmostEqual(float(per_cost), float(gain) / float(cost), 12)
            self.assertTrue(0.0 <= float(change) <= 1.0 + 1e-12)
            self.assertEqual(int(place), last.get(number, (0, 0))[0] + 1)
            self.assertLessEqual(float(per_cost), last.get(number, (0, 1e300))[1])
            last[number] = int(place), float(per_cost)
        rows = self.ok("next", "m.karma", "new.csv", "--json", "--top", "1").json()["rows"]
        for i, row in enumerate(rows):
            self.assertEqual([cell["gain"] for cell in row["next"]],
                             [float(r[3]) for r in plain if r[0] == str(i + 1) and r[1] == "1"])

    def test_refusals(self):
        self.numbers("--kernel", "union")
        self.fails("next", "m.karma", "new.csv", "--cost", "zz=1", code=2, says="no column 'zz'")
        for text in ("a", "a=", "a=0", "a=-1", "a=inf", "=2"):
            self.fails("next", "m.karma", "new.csv", "--cost", text, code=2, says="--cost")
        self.numbers("--kernel", "linear")
        self.fails("next", "m.karma", "new.csv", says="has no subspace.*--kernel union")
        self.classes("--kernel", "union")
        self.fails("next", "m.karma", "new.csv", says="no probabilities.*--probabilities sigmoid")

    def test_levels_and_counts_are_plain(self):
        """0.95 - 0.05 is 90%, one column is one column, and if an end is infinite, the report says why."""
        draw = random.Random(8)
        rows = [(draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(90)]
        self.write("d.csv", "a,b,y,z\n" + "".join(f"{a},{b if i % 2 else ''},{a + draw.gauss(0, 1)},{b}\n" for i, (a, b) in enumerate(rows)))
        command = ["train", "d.csv", "--effort", "off", "-o", "m.karma", "--task", "regress"]
        shown = self.ok(*command, "--target", "y", "--ignore", "z", "--quantile", "0.05,0.95", "--coverage-by", "missing").out
        self.assertIn("\n  90% intervals ", shown)
        self.assertIn("\n  1 column observed ", shown)
        shown = self.ok(*command, "--target", "y,z", "--intervals", "0.999").out
        for name in ("y", "z"):
            self.assertRegex(shown, rf"99\.9% intervals .*target '{name}', on rows that were left out")
        self.assertIn("too few for this level", shown)

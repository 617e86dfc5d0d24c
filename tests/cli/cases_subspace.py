"""The hidden subspace in the tool: kernels that use it, complete, inspect --lowrank."""
import csv
import io
import math
import random

from case import Case


class Subspace(Case):
    def synth(self, *more, rows="300", dim="8", rank="2", noise="0.05", missing="0.4"):
        self.ok("synth", "--rows", rows, "--dim", dim, "--rank", rank, "--noise", noise, "--missing", missing,
                "-o", "holes.csv", "--complete", "full.csv", *more)

    def train(self, kernel="union", *more):
        self.ok("train", "--effort", "off", "holes.csv", "--target", "target", "--kernel", kernel, "-o", "m.karma", "--quiet", *more)


class Kernels(Subspace):
    def blocks(self, n=400, seed=4):
        """Writes rows of rank 2 with 16 columns, each observing one of four blocks of columns. Returns the complete rows."""
        rng = random.Random(seed)
        loadings = [[rng.gauss(0, 1) for _ in range(2)] for _ in range(16)]
        full, rows = [], []
        for i in range(n):
            z = [rng.gauss(0, 1) for _ in range(2)]
            full.append([round(a * z[0] + b * z[1] + rng.gauss(0, 0.1), 5) for a, b in loadings])
            rows.append([x if j // 4 == i % 4 else None for j, x in enumerate(full[-1])] + ["p" if z[0] > 0 else "q"])
        self.write_csv("blocks.csv", [f"x{j}" for j in range(16)] + ["y"], rows)
        return full

    def test_blocks_never_seen_together(self):
        """Cells of other blocks cannot be predicted: inspect reports it, and complete gives means with large standard errors."""
        full = self.blocks()
        text = self.ok("inspect", "blocks.csv", "--target", "y", "--lowrank", "--subspace-rank", "2").out
        self.assertNotRegex(text, "assumption holds")
        self.assertIn("cannot be predicted", text)
        self.assertIn("24 of 120 pairs of columns are observed together", text)
        self.assertIn("4 groups", text)
        self.assertIn("4800 of 4800 missing cells (100.0%) cannot be determined", text)
        self.assertIn("0 of 400 rows (0.0%) are reconstructible", text)
        got = self.ok("inspect", "blocks.csv", "--target", "y", "--lowrank", "--subspace-rank", "2", "--json").json()
        self.assertEqual([got["verdict"], got["groups"], got["undetermined_cells"]], ["unknown", 4, 4800])
        self.ok("train", "blocks.csv", "--target", "y", "--kernel", "union", "--subspace-rank", "2", "-o", "m.karma", "--quiet")
        run = self.ok("complete", "m.karma", "blocks.csv", "-o", "full.csv", "--errors", "errors.csv", "--json",
                      notes=["4800 of 4800 completed cells are not determined by the data"])
        self.assertEqual(run.json()["undetermined"], 4800)
        done, errors = self.read_rows("full.csv")[1:], self.read_rows("errors.csv")[1:]
        squares, spread, covered, n = 0.0, 0.0, 0, 0
        for j in range(16):
            shown = [row[j] for i, row in enumerate(full) if j // 4 == i % 4]
            mean = sum(shown) / len(shown)
            for i, row in enumerate(full):
                if j // 4 == i % 4:
                    continue
                squares += (float(done[i][j]) - row[j]) ** 2
                spread += (mean - row[j]) ** 2
                covered += abs(float(done[i][j]) - row[j]) <= 1.96 * float(errors[i][j])
                n += 1
        self.assertLess(math.sqrt(squares / spread), 1.01)  # no worse than the mean; it was once 1.1 to 1.2
        self.assertGreater(covered / n, 0.9)                # it was once 0.5 to 0.7
        self.ok("report", "m.karma", "blocks.csv", "-o", "page.html")
        with open(self.path("page.html"), encoding="utf-8") as page:
            self.assertIn("It cannot be known: most missing cells are in columns that are never observed together", page.read())

    def test_one_group_is_not_mentioned(self):
        self.ok("synth", "--rows", "200", "--dim", "8", "--rank", "2", "--missing", "0.3", "-o", "s.csv")
        text = self.ok("inspect", "s.csv", "--target", "target", "--lowrank").out
        self.assertIn("28 of 28 pairs of columns are observed together", text)
        self.assertNotRegex(text, "groups|cannot be determined")

    def test_subspace_kernels_learn_and_predict(self):
        self.synth()
        for kernel in ("subspace", "union", "rank + 0.5*subspace"):
            with self.subTest(kernel=kernel):
                self.train(kernel, "--subspace-rank", "2", "--mu", "2")
                self.assertGreater(self.ok("eval", "m.karma", "holes.csv", "--json").json()["accuracy"], 0.85)
                options = self.ok("inspect", "m.karma", "--json").json()["options"]
                self.assertEqual((options["kernel"], options["subspace-rank"]), (kernel, 2))

    def test_columns_without_a_subspace_are_reported(self):
        rng = random.Random(1)
        self.write_csv("noise.csv", ["a", "b", "c", "y"],
                       [[round(rng.gauss(0, 1), 4) for _ in range(3)] + ["up" if i % 2 else "down"] for i in range(200)])
        self.ok("train", "--effort", "off", "noise.csv", "--target", "y", "--kernel", "union", "-o", "m.karma",
                notes=["no subspace was found"])


class Ranks(Subspace):
    """The subspace of normal scores does not change under any increasing map of a column."""

    def rows(self, n, seed, warp=False, outliers=0.0, missing=0.5, dim=12, rank=3):
        """Low-rank rows with missing cells, the complete rows, and labels; every other column is an exponential or a cube."""
        rng = random.Random(seed)
        loadings = [[rng.gauss(0, 1) for _ in range(rank)] for _ in range(dim)]
        loadings = [[a / math.hypot(*w) for a in w] for w in loadings]
        slope = [rng.gauss(0, 1) for _ in range(rank)]
        full, holes = [], []
        for _ in range(n):
            z = [rng.gauss(0, 1) for _ in range(rank)]
            cells = [sum(a * b for a, b in zip(w, z)) + rng.gauss(0, 0.1) for w in loadings]
            far = [rng.gauss(0, 20) if rng.random() < outliers else None for _ in cells]
            gone = [rng.random() < missing for _ in cells]
            if warp:
                cells = [x ** 3 if j % 2 else math.exp(2 * x) for j, x in enumerate(cells)]
            cells = [x if y is None else y for x, y in zip(cells, far)]
            label = "up" if sum(a * b for a, b in zip(slope, z)) > 0 else "down"
            full.append([repr(x) for x in cells] + [label])
            holes.append(["" if g else repr(x) for g, x in zip(gone, cells)] + [label])
        return holes, full

    def accuracy(self, holes, *options):
        names = [f"x{j}" for j in range(len(holes[0]) - 1)] + ["target"]
        self.write_csv("holes.csv", names, holes[:len(holes) // 2])
        self.write_csv("new.csv", names, holes[len(holes) // 2:])
        self.train("subspace", "--subspace-rank", "3", *options)
        return self.ok("eval", "m.karma", "new.csv", "--json").json()["accuracy"]

    def test_columns_that_are_not_normal(self):
        for seed in 1, 2:
            plain, warped = self.rows(800, seed)[0], self.rows(800, seed, warp=True)[0]
            values, ranks = self.accuracy(warped), self.accuracy(warped, "--space", "ranks")
            self.assertGreater(ranks, values + 0.03, (seed, values, ranks))
            self.assertGreater(ranks, 0.94)
            # as good as on the columns before they were warped
            self.assertLess(abs(ranks - self.accuracy(plain)), 0.02)
            outliers = self.rows(800, seed, outliers=0.05)[0]
            values, ranks = self.accuracy(outliers), self.accuracy(outliers, "--space", "ranks")
            self.assertGreater(ranks, values + 0.03, (seed, values, ranks))

    def test_increasing_maps_change_nothing(self):
        """Scores of training values are the same, so predictions of training rows are, too."""
        for warp in False, True:
            holes = self.rows(300, 5, warp=warp)[0]
            if warp:  # cubes and exponentials increase
                self.assertNotEqual(plain[0][:-1], holes[0][:-1])
            else:
                plain = holes
            self.write_csv("holes.csv", [f"x{j}" for j in range(12)] + ["target"], holes)
            self.train("subspace(space=ranks)", "--subspace-rank", "3")
            scores = [float(row[-1]) for row in self.ok("predict", "m.karma", "holes.csv").rows()[1:]]
            if warp:
                for a, b in zip(scores, before):
                    self.assertAlmostEqual(a, b, delta=1e-4 * (1 + abs(b)))
            before = scores

    def errors_of(self, holes, full, *options):
        """Root mean squared error of the missing cells in units of their columns' spread, and the share within 2 errors."""
        names = [f"x{j}" for j in range(12)] + ["target"]
        self.write_csv("holes.csv", names, holes)
        self.train("subspace", "--subspace-rank", "3", "--subspace-noise", "column", *options)
        self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv", "--errors", "se.csv")
        done, errors = self.read_rows("out.csv")[1:], self.read_rows("se.csv")[1:]
        squares, within, n = [], 0, 0
        for j in range(12):
            truth = [float(row[j]) for row in full]
            mean = sum(truth) / len(truth)
            spread = sum((x - mean) ** 2 for x in truth) / len(truth)
            rest = [(float(done[i][j]) - truth[i], float(errors[i][j])) for i, row in enumerate(holes) if not row[j]]
            squares.append(sum(r * r for r, _ in rest) / len(rest) / spread)
            within += sum(abs(r) <= 2 * e for r, e in rest)
            n += len(rest)
            low = min(float(row[j]) for row in holes if row[j])
            high = max(float(row[j]) for row in holes if row[j])
            if "ranks" in options:
                self.assertGreaterEqual(min(float(row[j]) for row in done), low - 1e-6 * abs(low))
                self.assertLessEqual(max(float(row[j]) for row in done), high + 1e-6 * abs(high))
        return math.sqrt(sum(squares) / 12), within / n

    def test_completions_come_back_through_the_quantiles(self):
        for seed in 1, 2:
            holes, full = self.rows(600, seed, warp=True, missing=0.3)
            values, _ = self.errors_of(holes, full)
            ranks, within = self.errors_of(holes, full, "--space", "ranks")
            self.assertLess(ranks, 0.75 * values)
            self.assertTrue(0.93 <= within <= 0.97, within)
            alone = self.read("out.csv")
            self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv")  # the same without their errors
            self.assertEqual(self.read("out.csv"), alone)

    def test_in_formulas_explanations_and_reports(self):
        self.synth()
        self.train("subspace + 0.5*subspace(outer=rbf,space=ranks)", "--subspace-rank", "2")
        self.assertGreater(self.ok("eval", "m.karma", "holes.csv", "--json").json()["accuracy"], 0.85)
        self.assertIn("space=ranks", self.ok("inspect", "m.karma", "--json").json()["options"]["kernel"])
        rows = self.ok("explain", "m.karma", "holes.csv", "--json").json()
        self.assertTrue(rows)
        report = self.ok("inspect", "holes.csv", "--target", "target", "--lowrank", "--space", "ranks", "--json").json()
        self.assertEqual(report["verdict"], "holds")
        self.fails("train", "holes.csv", "--target", "target", "--kernel", "rank(space=ranks)", "-o", "x.karma",
                   code=2, says="only subspace has a space")

    def test_columns_named_linear_and_categories(self):
        """A column named linear keeps its values; categories are indicators in any space."""
        rng = random.Random(2)
        rows = []
        for _ in range(200):
            z = rng.gauss(0, 1)
            rows.append([repr(math.exp(3 * z)), repr(z + rng.gauss(0, 0.1)), "hot" if z > 0 else "cold",
                         "" if rng.random() < 0.3 else repr(2 * z), "up" if z > 0.3 else "down"])
        self.write_csv("holes.csv", ["e", "x", "c", "w", "target"], rows)
        self.train("subspace(space=ranks)", "--subspace-rank", "1", "--linear", "w")
        out = self.ok("complete", "m.karma", "holes.csv").rows()[1:]
        for before, after in zip(rows, out):
            self.assertEqual((float(after[0]), float(after[1]), after[2]), (float(before[0]), float(before[1]), before[2]))
        self.assertGreater(self.ok("eval", "m.karma", "holes.csv", "--json").json()["accuracy"], 0.9)


class Refine(Subspace):
    """The label depends on a short direction, and the given rank is too small for it."""

    def table(self, label):
        rng = random.Random(4)
        rows = []
        for _ in range(400):
            long, short = rng.gauss(0, 1), rng.gauss(0, 1)
            cells = [round(long * (1 + j % 3) + 0.5 * short * (-1) ** j + rng.gauss(0, 0.1), 4) for j in range(8)]
            rows.append(["" if rng.random() < 0.3 else c for c in cells] + [label(rng, long, short)])
        self.write_csv("holes.csv", [f"x{j}" for j in range(8)] + ["target"], rows)

    def accuracy(self, *more, notes):
        self.ok("train", "holes.csv", "--target", "target", "--kernel", "subspace", "--subspace-rank", "1", "-o",
                "m.karma", *more, notes=notes)
        return self.ok("eval", "m.karma", "holes.csv", "--json").json()["accuracy"]

    def test_gains_are_kept_and_reported(self):
        self.table(lambda rng, long, short: "up" if short > 0 else "down")
        plain = self.accuracy(notes=[])
        refined = self.accuracy("--refine", "100", notes=["the subspace was refined by"])
        self.assertLess(plain, 0.7)
        self.assertGreater(refined, 0.8)  # by the model that was read from the file
        self.assertEqual(self.ok("inspect", "m.karma", "--json").json()["options"]["refine"], 100)

    def test_several_classes_and_numbers(self):
        self.table(lambda rng, long, short: "low" if short < -0.4 else "high" if short > 0.4 else "middle")
        self.assertGreater(self.accuracy("--refine", "100", notes=["the subspace was refined by"]), self.accuracy(notes=[]))
        self.table(lambda rng, long, short: "" if rng.random() < 0.1 else round(short, 4))
        r2 = []
        for steps, notes in ("0", ["have no label"]), ("100", ["have no label", "the subspace was refined by"]):
            self.ok("train", "holes.csv", "--target", "target", "--task", "regress", "--kernel", "subspace",
                    "--subspace-rank", "1", "--refine", steps, "-o", "m.karma", notes=notes)
            r2.append(self.ok("eval", "m.karma", "holes.csv", "--json").json()["r2"])
        self.assertGreater(r2[1], r2[0] + 0.2)

    def test_chance_is_not_kept_and_the_model_is_the_same(self):
        self.table(lambda rng, long, short: rng.choice(["up", "down"]))
        for steps, notes in ("0", []), ("30", ["it stays as estimated"]):
            self.ok("train", "holes.csv", "--target", "target", "--kernel", "subspace", "--subspace-rank", "1", "--refine",
                    steps, "-o", "m.karma", notes=notes)
            self.ok("predict", "m.karma", "holes.csv", "-o", f"p{steps}.csv")
        self.assertEqual(self.read("p0.csv"), self.read("p30.csv"))


class Complete(Subspace):
    def test_completes_what_is_missing_and_nothing_else(self):
        self.synth(noise="0", dim="12")
        self.train("union", "--subspace-rank", "2")
        run = self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv", "--errors", "se.csv", "--json").json()
        holes, full = self.read_rows("holes.csv"), self.read_rows("full.csv")
        out, errors = self.read_rows("out.csv"), self.read_rows("se.csv")
        self.assertEqual(out[0], holes[0])
        self.assertEqual(errors[0], holes[0][:-1])
        self.assertEqual(len(out), len(holes))
        n_missing, n_close = 0, 0
        for before, truth, after, error in zip(holes[1:], full[1:], out[1:], errors[1:]):
            self.assertEqual(after[-1], before[-1])
            for a, b, c, e in zip(before[:-1], truth, after, error):
                if a:
                    self.assertEqual((c, e), (a, "0"))
                else:
                    n_missing += 1
                    n_close += abs(float(c) - float(b)) < 1e-3
                    self.assertGreater(float(e), 0)
        self.assertEqual({key: run[key] for key in ("output", "errors", "rows", "attributes", "completed", "rank")},
                         {"output": "out.csv", "errors": "se.csv", "rows": 300, "attributes": 12,
                          "completed": n_missing, "rank": 2})
        self.assertGreater(n_close, 0.95 * n_missing)

    def missing_cells(self, *train):
        """Root mean squared error of the missing cells, in units of that of the columns' means, and the share within 2 errors."""
        self.train("subspace", "--subspace-noise", "column", *train)
        self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv", "--errors", "se.csv")
        holes, full, out, errors = (self.read_rows(name)[1:] for name in ("holes.csv", "full.csv", "out.csv", "se.csv"))
        squares = spread = within = n = 0
        for j in range(len(out[0]) - 1):
            seen = [float(row[j]) for row in holes if row[j]]
            mean = sum(seen) / len(seen)
            for truth, after, error in ((float(f[j]), float(o[j]), float(e[j]))
                                        for h, f, o, e in zip(holes, full, out, errors) if not h[j]):
                squares += (after - truth) ** 2
                spread += (mean - truth) ** 2
                within += abs(after - truth) <= 2 * error
                n += 1
        return math.sqrt(squares / spread), within / n

    def test_nine_of_ten_cells_missing(self):
        """Two cells in a row: completions are better than means, as with soft-impute (0.88 of the error of means); the rank
        was once 0."""
        for seed in "1", "2":
            self.synth("--seed", seed, rows="400", dim="20", rank="3", noise="0.1", missing="0.9")
            error, _ = self.missing_cells()
            self.assertLess(error, 0.85, seed)

    def test_errors_hold_what_they_promise(self):
        """+- 2 standard errors contain 93 to 97% of the missing cells."""
        for noise, missing in ("0.05", "0.4"), ("0.3", "0.3"), ("0.3", "0.5"):
            self.synth("--seed", "5", rows="500", dim="12", noise=noise, missing=missing)
            _, within = self.missing_cells()
            self.assertTrue(0.93 <= within <= 0.97, (noise, missing, within))

    def test_standard_output_and_json_agree(self):
        self.synth()
        self.train("subspace")
        text = self.ok("complete", "m.karma", "holes.csv").out
        self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv", "--threads", "3")
        self.assertEqual(text.encode(), self.read("out.csv"))
        object = self.ok("complete", "m.karma", "holes.csv", "--json").json()
        self.assertIsNone(object["output"])
        rows = list(csv.reader(io.StringIO(text)))
        self.assertEqual(object["columns"], rows[0])
        for cells, row in zip(object["cells"], rows[1:]):
            self.assertEqual(cells[:-1], [float(cell) for cell in row[:-1]])
        errors = self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv", "--errors", "-").rows()
        self.assertEqual(len(errors), 301)

    def test_categories_ids_and_other_columns(self):
        rows = [[f"r{i}", i, 2 * i + 1 if i % 4 else None, "abc"[i // 10] if i % 5 else None, "x" if i % 2 else "y"]
                for i in range(30)]
        self.write_csv("t.csv", ["who", "a", "b", "kind", "y"], rows)
        self.ok("train", "--effort", "off", "t.csv", "--target", "y", "--id", "who", "--kernel", "subspace", "--subspace-rank", "1",
                "-o", "m.karma", "--quiet")
        self.write_csv("new.csv", ["kind", "stray", "who", "a"], [["a", 1, "p", None], [None, 2, "q", 28], ["new", 3, "r", 15]])
        out = self.ok("complete", "m.karma", "new.csv", "--id", "who", "--errors", "e.csv", "-o", "-",
                      notes=["does not know.*'stray'", "lack.*'b'"]).rows()
        self.assertEqual(out[0], ["who", "a", "b", "kind"])
        self.assertEqual([row[0] for row in out[1:]], ["p", "q", "r"])
        self.assertEqual([row[3] for row in out[1:]], ["a", "c", "new"])
        self.assertLess(float(out[1][1]), 14)
        self.assertGreater(float(out[2][2]), 40)
        errors = self.read_rows("e.csv")
        self.assertEqual(errors[0], ["who", "a", "b", "kind"])
        self.assertEqual((errors[1][3], errors[3][3], errors[2][1]), ("0", "0", "0"))
        self.assertTrue(0 < float(errors[2][3]) <= 1, errors)

    def test_refusals(self):
        self.synth()
        self.train("linear")
        self.fails("complete", "m.karma", "holes.csv", says="m.karma: .*no subspace.*--kernel union")
        self.train("union")
        self.fails("complete", "gone.karma", "holes.csv", says="gone.karma")
        self.fails("complete", "m.karma", "gone.csv", says="gone.csv")
        self.fails("complete", "holes.csv", "m.karma", says="holes.csv: not a usable model")
        self.fails("complete", "m.karma", "holes.csv", "-o", "holes.csv", code=2, says="would overwrite the input")
        self.fails("complete", "m.karma", "holes.csv", "-o", "o.csv", "--errors", "m.karma", code=2,
                   says="--errors m.karma would overwrite the input")
        self.fails("complete", "m.karma", "holes.csv", "-o", "o.csv", "--errors", "o.csv", code=2, says="the same file")
        self.fails("complete", "m.karma", "holes.csv", "--errors", "-", code=2, says="--errors -.*-o FILE")
        self.fails("complete", "m.karma", "holes.csv", "-o", "o.csv", "--errors", "nowhere/e.csv", says="nowhere/e.csv")
        self.fails("complete", "m.karma", "holes.csv", "-o", "nowhere/o.csv", "--errors", "e.csv", says="nowhere/o.csv")
        self.write("other.csv", "u,v\n1,2\n")
        self.fails("complete", "m.karma", "other.csv", says="none of the model's columns")


class Lowrank(Subspace):
    def test_known_rank(self):
        self.synth(dim="10", missing="0.3")
        said = ["inspect", "holes.csv", "--target", "target", "--lowrank", "--standardise", "off"]
        report = self.ok(*said, "-o", "rows.csv", "--json").json()
        self.assertEqual((report["kind"], report["rank"], report["verdict"]), ("lowrank", 2, "holds"))
        self.assertGreater(report["explained"], 0.8)
        self.assertEqual(len(report["spectrum"]), 2)
        self.assertIn(2, [trial["rank"] for trial in report["trials"]])
        rows = self.read_rows("rows.csv")
        self.assertEqual(rows[0], ["row", "observed", "lambda", "reconstructible"])
        self.assertEqual(sum(row[3] == "yes" for row in rows[1:]), report["reconstructible"])
        self.assertEqual(report["reconstructible_share"], report["reconstructible"] / 300)
        holes = self.read_rows("holes.csv")
        for number, (row, cells) in enumerate(zip(rows[1:], holes[1:]), 1):
            self.assertEqual((int(row[0]), int(row[1])), (number, sum(cell != "" for cell in cells[:-1])))
        positive = sorted(float(row[2]) for row in rows[1:] if float(row[2]) > 0)
        self.assertAlmostEqual(report["regularity"]["min"]["lambda"], positive[0])
        self.assertAlmostEqual(report["regularity"]["max"]["lambda"], positive[-1])
        median = report["regularity"]["median"]
        theory = self.ok("theory", "--lambda", repr(median["lambda"]), "--dim", "10", "--epsilon", "0.1", "--json").json()
        self.assertEqual(median["gamma"], theory["gamma"])
        self.assertAlmostEqual(median["log10_Gamma"], theory["log10_Gamma"])
        self.assertGreater(self.ok(*said, "--epsilon", "0.001", "--json").json()["regularity"]["median"]["gamma"],
                           median["gamma"])
        text = self.ok(*said).out
        for words in ("rank 2, the smallest that predicts", "The low-rank assumption holds:", "are reconstructible", "gamma"):
            self.assertIn(words, text)
        self.assertIn("rank 4, as given", self.ok(*said, "--subspace-rank", "4").out)

    def test_noise(self):
        rng = random.Random(1)
        self.write_csv("noise.csv", list("abcd"), [[round(rng.gauss(0, 1), 4) for _ in range(4)] for _ in range(200)])
        self.assertIn("does not hold", self.ok("inspect", "noise.csv", "--lowrank").out)
        report = self.ok("inspect", "noise.csv", "--lowrank", "--json").json()
        self.assertEqual((report["rank"], report["verdict"], report["explained"]), (0, "no", 0))
        self.assertIsNone(report["regularity"]["median"]["lambda"])

    def test_the_rank_of_standardised_columns(self):
        """Equal noise in columns of other lengths is unequal after standardising: with a noise per column the rank is right."""
        self.ok("synth", "--rows", "400", "--dim", "12", "--rank", "2", "--noise", "0.05", "--missing", "0.5", "--seed", "1",
                "-o", "unequal.csv")
        report = ["inspect", "unequal.csv", "--target", "target", "--lowrank", "--json"]
        self.assertEqual(self.ok(*report).json()["rank"], 2)
        self.assertGreater(self.ok(*report, "--subspace-noise", "equal").json()["rank"], 2)

    def test_refusals_of_lowrank(self):
        self.synth()
        self.train("linear")
        self.fails("inspect", "m.karma", "--lowrank", code=2, says="--lowrank needs a table")
        self.fails("inspect", "holes.csv", "-o", "x.csv", code=2, says="-o needs --lowrank")
        self.fails("inspect", "holes.csv", "--lowrank", "-o", "-", code=2, says="name a file")
        self.fails("inspect", "holes.csv", "--lowrank", "-o", "nowhere/x.csv", says="nowhere/x.csv")
        self.fails("inspect", "gone.csv", "--lowrank", says="gone.csv")
        self.write("e.csv", "a,b\n,\n,\n")
        self.fails("inspect", "e.csv", "--lowrank", says="e.csv: .*nothing to learn from")

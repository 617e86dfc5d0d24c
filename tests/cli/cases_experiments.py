"""experiments/run and experiments/report: whether they run, on which rows, and whether the page agrees with the scores."""
import csv
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from case import HUNG, KARMA, SOURCE, Case

FOLDER = os.path.join(SOURCE, "experiments")
sys.path.insert(0, FOLDER)
import tables

DRAW = ("--draw-figures", os.path.join(os.path.dirname(KARMA), "draw-figures"))
SECTIONS = ["synthetic", "ratings", "published", "rows", "gamma"]
COLUMNS = "experiment,setting,x,seed,method,score,error,worse,majority,rows,seconds,commit"


class Experiments(Case):
    whole = said = None  # a copy of the scores of a run without data, and its output

    @classmethod
    def tearDownClass(cls):
        if cls.whole:
            cls.whole.cleanup()

    def script(self, name, *args, code=0):
        done = subprocess.run([sys.executable, os.path.join(FOLDER, name), *args], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=HUNG, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def measure(self, *args, **more):
        return self.script("run", "--quick", "--karma", KARMA, "--out", "out", "--data", "data", *args, **more)

    def measure_all(self):
        """Runs everything that needs no data. This is slow, so only the first test that needs it does it."""
        if not Experiments.whole:
            run = self.measure()
            Experiments.whole = tempfile.TemporaryDirectory(prefix="karma-cli-")
            Experiments.said = run
            shutil.copytree(self.path("out"), os.path.join(Experiments.whole.name, "out"))
        else:
            shutil.copytree(os.path.join(Experiments.whole.name, "out"), self.path("out"))
        return Experiments.said

    def results(self, part):
        with open(self.path(f"out/{part}.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def report(self, results="out"):
        self.write("page.md", "".join(f"<!-- begin: written by experiments/report: {s} -->\nold {s}\n"
                                      f"<!-- end: written by experiments/report: {s} -->\n" for s in SECTIONS))
        said = self.script("report", "--results", results, "--page", "page.md", "--figures", "figures", *DRAW).stderr
        return self.read("page.md").decode(), said

    def movielens(self, folder, layout, n=90):
        """Women like the even films, men the odd ones, and the old give more stars; everyone rates some 12 of 24 films."""
        rng, ratings, users = random.Random(1), [], []
        for user in range(1, n + 1):
            is_woman, age = rng.random() < .5, rng.choice([1, 18, 25, 35, 45, 50, 56])
            users.append((user, "F" if is_woman else "M", age))
            ratings += [(user, film, (4 if (film % 2 == 0) == is_woman else 2) + (age >= 35), 978300000 + film)
                        for film in range(1, 25) if rng.random() < .5]
        os.mkdir(self.path(folder))
        if layout == "1M":
            self.write(f"{folder}/ratings.dat", "".join("::".join(map(str, r)) + "\n" for r in ratings))
            self.write(f"{folder}/users.dat", "".join(f"{u}::{g}::{a}::7::02139\n" for u, g, a in users))
        else:
            self.write(f"{folder}/u.data", "".join("\t".join(map(str, r)) + "\n" for r in ratings))
            self.write(f"{folder}/u.user", "".join(f"{u}|{a}|{g}|writer|02139\n" for u, g, a in users))
        self.write(f"{folder}/movies.dat", "1::Les Mis\xe9rables (1995)::Drama\n".encode("latin-1"))

    def triplets(self, name, n_users=90, n_items=20, low=1, high=5):
        """Two kinds of users who like opposite things."""
        rng = random.Random(2)
        rows = [(u, f"{i}", (high if (i + u) % 2 else low)) for u in range(n_users) for i in range(n_items) if rng.random() < .6]
        self.write_csv(name, ["user", "item", "rating"], rows)

    # --- runs ---

    def test_without_data(self):
        """Experiments without files run; the others print a notice and write no results."""
        run = self.measure_all()
        self.assertEqual(self.files(), ["out/curves.csv", "out/synthetic.csv"])
        self.assertRegex(run.stdout, "(?m)^ratings: nothing was measured$")
        for name in ("jester", "food", "senate"):
            self.assertRegex(run.stderr, rf"(?m)^experiments/run: skipped {name}: no \w+\.csv or \.csv\.gz in data$")
        self.assertRegex(run.stderr, r"(?m)^experiments/run: skipped movielens: --movielens DIR names the directory")
        self.assertRegex(run.stderr, r"(?m)^experiments/run: skipped horse_colic: no horse_colic\.csv or")
        lines = self.results("synthetic")
        self.assertEqual(",".join(lines[0]), COLUMNS)
        self.assertEqual({line["experiment"] for line in lines}, {"holes", "noisy holes", "rank", "noise"})
        self.assertEqual({line["setting"] for line in lines if line["experiment"] == "holes"}, {"mcar", "mar", "mnar", "block"})
        self.assertTrue(all(.2 <= float(line["score"]) <= 1 for line in lines))
        by_cell = {}
        for line in lines:
            by_cell.setdefault((line["experiment"], line["setting"], line["x"]), set()).add(line["method"])
        self.assertEqual(len({frozenset(methods) for methods in by_cell.values()}), 1, by_cell)  # the same methods everywhere
        self.assertLess({"mc-1", "geom", "polar"}, next(iter(by_cell.values())))
        page, said = self.report()
        self.assertIn("no scores of ratings in out", said)
        self.assertRegex(page, r"\| mcar 30% \| 0\.\d{3} ")
        self.assertRegex(page, r"\*\*Rows in the subspace\*\* \(5 cells\)")
        for method in ("mc-1", "geom", "polar"):
            self.assertRegex(page, rf"\| rows \|.* {method} \|")
            self.assertEqual(len(re.findall(rf"(?m)^\| {method} \| 0\.", page)), 2, method)
        self.assertIn("\nold ratings\n", page)
        self.assertNotIn("old gamma", page)
        for name in ("holes", "holes-noisy", "rank-noise", "rows", "gamma"):
            figure = xml.etree.ElementTree.fromstring(self.read(f"figures/experiments-{name}.svg"))
            paths = figure.iter("{http://www.w3.org/2000/svg}path")
            self.assertTrue([path for path in paths if path.get("class").startswith("mark s")], name)

    def test_unmeasured_sections_stay(self):
        """Scores cut off after any line, as by an interruption: incomplete sections stay, with a notice, and the rest is
        written."""
        self.measure_all()
        curves, synthetic = (self.read(f"out/{part}.csv").decode().splitlines(True) for part in ("curves", "synthetic"))
        n_rows = sum(line.startswith("rows,") for line in curves)
        for n, written in ((1, []), (n_rows, []), (n_rows + 1, ["rows"]), (len(curves), ["rows", "gamma"])):
            self.write("out/curves.csv", "".join(curves[:n]))
            self.write("out/synthetic.csv", "".join(synthetic[:n]))
            page, said = self.report()
            for section in ("synthetic", "rows", "gamma"):
                self.assertEqual(f"old {section}\n" not in page, section in written, (n, section))
                self.assertEqual(f"section {section} stays as it is; experiments/run --resume" not in said, section in written)
        self.assertIn(" noisy holes, ", said)

    def test_seeds_are_missing(self):
        """A cell that another seed has and this one does not, and a cell that was cut off."""
        line = "rows,mcar,{},{},{},0.9,0.01,no,0.5,400,1,abc\n"
        whole = [line.format(x, seed, method) for seed in (1, 2) for x in (50, 100) for method in ("zero", "train-union")]
        os.mkdir(self.path("out"))
        for n, says in ((8, None), (7, "rows mcar 100:"), (6, "rows mcar 100:"), (3, "rows mcar 100:"), (0, "rows:")):
            self.write("out/curves.csv", COLUMNS + "\n" + "".join(whole[:n]))
            page, said = self.report()
            self.assertEqual("old rows" in page, bool(says))
            self.assertIn(f"of {says} section rows stays" if says else "section gamma stays", said)

    def test_resume(self):
        """Scores of this commit are kept and the rest is measured; otherwise everything is measured again."""
        self.measure("--only", "curves")
        before = self.read("out/curves.csv")
        again = self.measure("--only", "curves", "--resume")
        self.assertNotIn("seed 301", again.stdout)
        self.assertEqual(self.read("out/curves.csv"), before)
        lines = before.decode().splitlines(True)
        self.write("out/curves.csv", "".join(lines[:-1]))
        self.assertIn("gamma", self.measure("--only", "curves", "--resume").stdout)
        self.assertEqual(len(self.results("curves")), len(lines) - 1)
        self.assertIn("rows", self.measure("--only", "curves").stdout)

    def test_interrupted(self):
        """The old scores stay until all new ones exist; --resume continues with those that were measured."""
        self.measure("--only", "curves")
        before = self.read("out/curves.csv")
        os.mkdir(self.path("data"))
        self.write("data/titanic.csv", "a,b\n1,2\n")  # the last table
        self.measure("--only", "curves", code=1)
        self.assertEqual(self.read("out/curves.csv"), before)
        self.assertEqual(len(self.read_rows("out/curves.csv.unfinished")), len(before.splitlines()))
        self.assertIn("run of curves was interrupted; experiments/run --resume goes on", self.report()[1])
        os.remove(self.path("data/titanic.csv"))
        self.assertNotIn("seed 301", self.measure("--only", "curves", "--resume").stdout)
        self.assertEqual([f for f in self.files() if f.startswith("out")], ["out/curves.csv"])
        self.assertNotIn("interrupted", self.report()[1])

    def test_scores_of_absent_data_stay(self):
        """Scores that cannot be measured again without their data are kept; the others are measured."""
        os.mkdir(self.path("out"))
        tail = ",1,zero,0.6,0.01,no,0.5,40,1,abc"
        self.write("out/curves.csv", "\n".join([COLUMNS, "rows,mnar,100" + tail, "rows,yrbss,100" + tail, "gamma,titanic,2" + tail, ""]))
        self.write("out/ratings.csv", "\n".join([COLUMNS, "food,gender,5" + tail, "senate,party,10" + tail, ""]))
        os.mkdir(self.path("data"))
        self.triplets("data/food_world_cup.csv")
        self.write_csv("data/food_world_cup_users.csv", ["user", "gender"], [(u, "mf"[u % 2]) for u in range(90)])
        for options in ((), ("--resume",)):
            run = self.measure("--only", "curves,ratings", *options)
            for part, stay in (("curves", ["yrbss", "titanic"]), ("ratings", ["party"])):
                self.assertEqual([line["setting"] for line in self.results(part) if line["commit"] == "abc"], stay)
                self.assertGreater(len(self.results(part)), 4)
            for name in ("yrbss", "titanic", "senate"):
                self.assertIn(f"experiments/run: kept the scores of {name} from commit abc\n", run.stderr)
            self.assertEqual(run.stderr.count("kept"), 3)

    def test_ratings(self):
        self.triplets("jester1.csv", low=-9.5, high=8)
        os.mkdir(self.path("data"))
        os.rename(self.path("jester1.csv"), self.path("data/jester1.csv"))
        self.triplets("data/food_world_cup.csv")
        self.write_csv("data/food_world_cup_users.csv", ["user", "age", "gender"],
                       [(u, "30-44", ["Male", "Female"][u % 2] if u > 3 else "") for u in range(90)])
        self.write_csv("data/senate109_rollcall.csv", [f"v{i}" for i in range(30)] + ["target"],
                       [[[1, -1][(i + u) % 2] if (i + 2 * u) % 5 else None for i in range(30)] + ["DR"[u % 2]]
                        for u in range(50)])
        self.movielens("films", "1M")
        run = self.measure("--only", "ratings", "--movielens", "films")
        self.assertEqual(run.stderr, "")
        lines = self.results("ratings")
        self.assertEqual({line["experiment"] for line in lines}, {"jester", "food", "senate", "movielens"})
        for line in lines:
            self.assertEqual(line["rows"], "40", line)
            if line["method"] == "karma-2" and line["setting"] != "age group":
                self.assertGreater(float(line["score"]), float(line["majority"]) + .15, line)
        page, _ = self.report()
        for words in (r"\*\*Jester: is a joke liked\?\*\* \(joke \d+; 40 users", r"\*\*MovieLens: age group\*\*",
                      r"\*\*MovieLens: is a film liked\?\*\*", r"\| ratings per user \| majority \|"):
            self.assertRegex(page, words)

    def test_published(self):
        os.mkdir(self.path("data"))
        rng = random.Random(3)
        for name in ("horse_colic", "banknote"):
            rows = [(x, rng.gauss(0, 1), "b" if x > 0 else "a") for x in (rng.gauss(0, 1) for _ in range(60))]
            self.write_csv(f"data/{name}.csv", ["x", "y", "target"], rows)
        self.measure("--only", "published")
        self.assertEqual({(line["experiment"], line["setting"]) for line in self.results("published")},
                         {("real holes", "horse_colic"), ("half removed", "banknote")})
        page, _ = self.report()
        self.assertRegex(page, r"\| horse colic \| `horse_colic` \| 0\.\d{3} \| 0\.826 \| 0\.864 \| 0\.\d{3} ± 0\.\d{3} \|")
        self.assertRegex(page, r"Not available: .*hepatitis \(`hepatitis\.csv`\)")

    def test_refusals(self):
        for args, says in ((["--only", "synthetc"], "no part 'synthetc'; there are synthetic, ratings"),
                           (["--karma", "nowhere/karma"], "no tool at nowhere/karma")):
            self.assertIn(says, self.script("run", *args, code=2).stderr)
        os.mkdir(self.path("data"))
        self.write("data/horse_colic.csv", "a,b\n1,2\n")
        self.assertEqual(self.measure("--only", "published", code=1).stderr.splitlines()[-1],
                         "experiments/run: data/horse_colic.csv has no column 'target'")
        self.write("page.md", "nothing is marked\n")
        self.write("out/ratings.csv", COLUMNS + "\nfood,gender,5,1,train-union,0.6,0.01,no,0.5,40,1,abc\n")
        self.assertIn("no section '<!-- begin", self.script("report", "--results", "out", "--page", "page.md", "--figures", "figures",
                                                            *DRAW, code=1).stderr)

    # --- the page ---

    def test_verdicts(self):
        """With made-up scores: paired differences decide between first, tied and behind, also for the loss of γ."""
        os.mkdir(self.path("out"))
        lines = [COLUMNS]
        wobble = [-.02, -.01, 0, .01, .02]  # the seeds differ by much, the methods within a seed by little
        cells = {"holes": ("mcar", {"0.1": (.9, .8, .8), "0.3": (.8, .803, .8), "0.5": (.8, .85, .85)}),
                 "noisy holes": ("mcar", {"0.1": (.9, .8, .7)}), "rank": ("half missing", {"2": (.9, .8, .8)}),
                 "noise": ("half missing", {"1": (.9, .8, .8)})}
        for experiment, (setting, by_x) in cells.items():
            for x, (union, soft, gamma) in by_x.items():
                for seed, shift in enumerate(wobble):
                    noise = [.004, -.004, .002, -.002, .001][seed]
                    for method, score in (("train-union", union), ("soft-impute", soft + noise), ("zero", .8 + noise), ("karma-2", gamma)):
                        lines.append(f"{experiment},{setting},{x},{seed},{method},{score + shift:.6f},0.01,no,0.5,400,1,abc")
        self.write("out/synthetic.csv", "\n".join(lines) + "\n")
        page, _ = self.report()
        for row in (r"\| mcar 10% \|.*\| \*\*0\.900\*\* \| first \|", r"\| mcar 30% \|.*\| tied with soft-impute, 0\.003 ± 0\.001 \|",
                    r"\| mcar 50% \|.*\| behind \S.*, 0\.050 ± 0\.00\d \|"):
            self.assertRegex(page, row)
        self.assertRegex(page, r"\*\*Rows in the subspace\*\* \(4 cells\)\n\n.*\n.*\n\| union \| 0\.850 \| 2 \| 1 \| 1 \| 0\.050 \(mcar 50%\) \|")
        self.assertRegex(page, r"\* γ = 2, 6 cells: ahead of 0-imputation by more than noise in 1, behind it by more than noise in 1"
                               r" \(mcar 10%, noise 0\.1 by 0\.100 ± 0\.001\); its worst cell is mcar 10%, noise 0\.1, -0\.100")

    # --- figures ---

    def draw(self, *lines, code=0):
        """What draw-figures prints of lines of fields, or says."""
        text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
        done = subprocess.run([DRAW[1]], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=HUNG, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code else done.stdout

    AXES = [("figure", "f", 300, 200), ("x", "linear", "x", 0, 10), ("y", "linear", "y", -1, 1)]

    def test_drawn_points_are_where_they_belong(self):
        """Points have places that are linear in their values; text is text."""
        drawn = self.draw(("series", "a<b>&"), *self.AXES, *(("point", 0, x, y) for x, y in ((0, -1), (10, 1), (5, 0))))
        svg = xml.etree.ElementTree.fromstring(drawn)
        marks = svg.findall(".//{http://www.w3.org/2000/svg}path[@class='mark s0']")[:3]
        low, high, middle = ([float(word) for word in re.match(r"M([\d.]+) ([\d.]+)m", mark.get("d")).groups()] for mark in marks)
        for axis in (0, 1):
            self.assertAlmostEqual(middle[axis], (low[axis] + high[axis]) / 2, delta=.11)
        self.assertLess([low[0], high[1]], [high[0], low[1]])
        self.assertTrue(0 < low[0] and high[0] <= 300 and 0 < high[1] and low[1] <= 200)
        self.assertIn("a<b>&", [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")])

    def test_long_names_keep_both_ends(self):
        """Names that differ only at their ends stay different when they are cut."""
        names = ["measured quantity number 1 in mg/l", "measured quantity number 2 in mg/l", "Größe", "x" * 22]
        drawn = self.draw(("series", "a"), ("figure", "f", 300, 200), ("x", "linear", "x", 0, 10), ("y", "bands", "y", *names), ("point", 0, 1, 1))
        texts = [text.text for text in xml.etree.ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
        for shown in ("measured qu… 1 in mg/l", "measured qu… 2 in mg/l", "Größe", "x" * 22):
            self.assertIn(shown, texts)

    def test_wrong_drawings_are_refused(self):
        for lines, says in (([], "there is no figure"), ([("circle", 1)], "line 1: it begins with no known word"),
                            ([("figure", "f", 300)], "line 1: it ends too early"), ([("figure", "f", "wide", 200)], "a field is no number"),
                            ([*self.AXES, ("point", 0, 1, 1)], "line 4: there is no such series or band"),
                            ([("series", "a"), ("figure", "f", 300, 200), ("point", 0, 1, 1)], "marks need a figure with both axes"),
                            ([("series", "a"), *self.AXES, ("line", 0, 1, 2)], "line 5: a point is not whole"),
                            ([("series", "a"), *self.AXES, ("cell", 0, 0, 1, "t")], "cells need bands"),
                            ([*self.AXES, ("x", "linear", "x", 0, 1)], "an axis belongs right after its figure, once"),
                            ([("figure", "f", 300, 200), ("x", "round", "x", 0, 1)], "no such kind of axis"),
                            ([*self.AXES], "the figure before has no marks")):
            self.assertIn(says, self.draw(*lines, code=1))

    def test_figures_of_why_not_complete(self):
        """They are what their script draws."""
        os.mkdir(self.path("figures"))
        subprocess.run([sys.executable, os.path.join(SOURCE, "dev", "draw-why-not-complete"), self.path("figures")], check=True,
                       env={**os.environ, "DRAW_FIGURES": DRAW[1]}, timeout=HUNG)
        for name in ("plane.svg", "populations.svg"):
            with open(os.path.join(SOURCE, "docs", "figures", name), "rb") as file:
                self.assertEqual(self.read(f"figures/{name}"), file.read(), name)

    # --- tables ---

    def test_ratings_are_taken_out(self):
        ratings = tables.Ratings({u: {str(i): str(i % 5) for i in range(12)} for u in "abcdef"}, {})
        labels, others = tables.liking(ratings, "3", lambda r: r >= 3)
        self.assertEqual(labels, dict.fromkeys("abcdef", "yes"))
        self.assertTrue(all("3" not in rated and len(rated) == 11 for rated in others.by_user.values()))

        def written(count):
            tables.write_ratings((self.path("r"), self.path("u")), others, labels, 4, count, 1)
            self.assertEqual(len(self.read_rows("u")), 5)
            return {tuple(row) for row in self.read_rows("r")[1:]}
        few, more = written(3), written(7)
        self.assertEqual([len(few), len(more), len(written(99))], [12, 28, 44])
        self.assertLess(few, more)

    def test_movielens_layouts(self):
        """Both layouts, the same people: the same ratings and labels."""
        self.movielens("large", "1M")
        self.movielens("small", "100k")
        large, small = (tables.read_movielens(self.path(name)) for name in ("large", "small"))
        self.assertEqual(large, small)
        self.assertEqual(len(large.users), 90)
        self.assertEqual({known["age group"] for known in large.users.values()}, {"under 25", "25 to 34", "35 or more"})
        self.assertEqual({known["gender"] for known in large.users.values()}, {"F", "M"})
        os.mkdir(self.path("none"))
        with self.assertRaisesRegex(tables.Absent, r"no ratings\.dat \(MovieLens 1M\) and no u\.data \(100k\)"):
            tables.read_movielens(self.path("none"))

    def test_most_rated(self):
        by_user = {"a": {"10": "1", "9": "1"}, "b": {"10": "1", "9": "1", "2": "1"}, "c": {"3": "1"}}
        self.assertEqual(tables.most_rated(tables.Ratings(by_user, {}), 3), ["9", "10", "2"])

    def test_cells_are_removed(self):
        table = [["a", "b", "target"], *([str(i), "" if i < 4 else "x", "t"] for i in range(20))]
        self.assertEqual([row[1] for row in tables.fill(table, "0")[1:6]], ["0"] * 4 + ["x"])
        cut = tables.remove(tables.fill(table, "0"), .5, 1)
        self.assertEqual(sum(cell == "" for row in cut[1:] for cell in row), 20)
        self.assertEqual([row[-1] for row in cut], ["target"] + ["t"] * 20)
        self.assertNotEqual(cut, tables.remove(tables.fill(table, "0"), .5, 2))
        self.write("t.csv", "target,a\nyes,1\nno,\n")
        self.assertEqual(tables.read(self.path("t.csv")), [["a", "target"], ["1", "yes"], ["", "no"]])

    def test_page_is_of_the_results(self):
        """docs/experiments.md and its figures agree with the scores in docs/results."""
        docs = os.path.join(SOURCE, "docs")
        with open(os.path.join(docs, "experiments.md"), encoding="utf-8") as file:
            page = file.read()
        self.write("page.md", page)
        self.script("report", "--page", "page.md", "--figures", "figures", *DRAW)
        self.assertEqual(self.read("page.md").decode(), page)
        for name in re.findall(r'figures/(experiments-[\w-]+\.svg)', page):
            with open(os.path.join(docs, "figures", name), "rb") as file:
                self.assertEqual(self.read(f"figures/{name}"), file.read(), name)

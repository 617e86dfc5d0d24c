"""Tables in, models and predictions out: train, predict, eval, inspect and all ways of reading."""
import csv
import gzip
import io
import math
import random

from case import Case


class Learning(Case):
    def test_binary_with_text_labels(self):
        rows = self.two_classes(ids=True)
        run = self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--id", "who", "-o", "m.karma")
        self.assertIn("learned from 120 rows and 3 columns", run.out)
        self.assertIn("2 classes", run.out)
        self.assertEqual(self.files(), ["m.karma", "two.csv"])
        out = self.ok("predict", "m.karma", "two.csv", "--id", "who").rows()
        self.assertEqual(out[0], ["who", "prediction", "score"])
        self.assertEqual([row[0] for row in out[1:]], [row[0] for row in rows])
        for row in out[1:]:
            self.assertEqual(row[1], "yes" if float(row[2]) > 0 else "no")
        right = sum(a[1] == b[-1] for a, b in zip(out[1:], rows))
        self.assertGreater(right / len(rows), 0.8)

    def test_numbers_and_categories_both_count(self):
        rng = random.Random(5)
        rows = [[round(rng.gauss(0, 1), 3), colour, "up" if colour in ("red", "pink") else "down"]
                for colour in (rng.choice(["red", "pink", "blue", "grey"]) for _ in range(80))]
        self.write_csv("c.csv", ["x", "colour", "y"], rows)
        self.ok("train", "--effort", "off", "c.csv", "--target", "y", "-o", "m.karma", "--quiet")
        out = self.ok("predict", "m.karma", "c.csv").rows()[1:]
        self.assertGreater(sum(a[0] == b[-1] for a, b in zip(out, rows)), 76)
        self.ok("train", "--effort", "off", "c.csv", "--target", "y", "--ignore", "colour", "-o", "n.karma", "--quiet")
        self.assertEqual([c["name"] for c in self.ok("inspect", "n.karma", "--json").json()["columns"]], ["x"])

    def test_multiclass(self):
        rows = self.three_classes()
        self.ok("train", "--effort", "off", "three.csv", "--target", "tree", "-o", "m.karma", "--quiet")
        out = self.ok("predict", "m.karma", "three.csv").rows()
        self.assertEqual(out[0], ["prediction", "score:ash", "score:birch, white", "score:elm"])
        classes = ["ash", "birch, white", "elm"]
        for row in out[1:]:
            scores = [float(cell) for cell in row[1:]]
            self.assertEqual(row[0], classes[scores.index(max(scores))])
        self.assertGreater(sum(a[0] == b[-1] for a, b in zip(out[1:], rows)) / len(rows), 0.9)

    def test_long_class_names(self):
        names = ["n" * 900 + end for end in ("one", "three", "two")]
        self.write_csv("l.csv", ["x", "y"], [[i % 3, names[i % 3]] for i in range(30)])
        self.ok("train", "--effort", "off", "l.csv", "--target", "y", "-o", "m.karma", "--quiet")
        self.assertEqual(self.ok("predict", "m.karma", "l.csv").rows()[0][1:], ["score:" + name for name in names])

    def test_regression(self):
        rows = self.quantity()
        run = self.ok("train", "--effort", "off", "price.csv", "--target", "price", "--passes", "30", "-o", "m.karma", "--json",
                      notes=["taken as a quantity.*--task classify"])
        self.assertEqual(run.json()["task"], "regress")
        out = self.ok("predict", "m.karma", "price.csv").rows()
        self.assertEqual(out[0], ["prediction", "score"])
        truth = [row[-1] for row in rows]
        guess = [float(row[0]) for row in out[1:]]
        self.assertEqual([row[0] for row in out[1:]], [row[1] for row in out[1:]])
        mean = sum(truth) / len(truth)
        error = sum((g - t) ** 2 for g, t in zip(guess, truth))
        self.assertLess(error, 0.3 * sum((t - mean) ** 2 for t in truth))

    def test_task_can_be_forced(self):
        rng = random.Random(8)
        rows = [[round(rng.gauss(k, 0.3), 3), k] for k in (rng.randrange(4) for _ in range(80))]
        self.write_csv("k.csv", ["x", "k"], rows)
        run = self.ok("train", "--effort", "off", "k.csv", "--target", "k", "-o", "m.karma", "--json", notes=["taken as classes"])
        self.assertEqual(run.json()["classes"], ["0", "1", "2", "3"])
        run = self.ok("train", "--effort", "off", "k.csv", "--target", "k", "--task", "regress", "-o", "m.karma", "--json")
        self.assertEqual(run.json()["task"], "regress")
        self.two_classes()
        self.fails("train", "--effort", "off", "two.csv", "--target", "answer", "--task", "regress", "-o", "x.karma",
                   says="two.csv.*'answer'.*categories")

    def test_label_spelling_is_kept(self):
        for labels in (("0.0", "1.0"), ("no", "yes"), ("01", "02"), ("-1", "+1"), ("1e0", "2E0"), ("FALSE", "TRUE"),
                       ("été", "ночь"), ("a,b", 'c"d')):
            with self.subTest(labels=labels):
                self.two_classes(n=40, labels=labels)
                self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "m.karma", "--quiet")
                out = self.ok("predict", "m.karma", "two.csv").rows()[1:]
                self.assertEqual({row[0] for row in out}, set(labels))
                rows = self.ok("eval", "m.karma", "two.csv", "--json").json()["confusion"]
                self.assertEqual(set(rows), set(labels))

    def test_ids_pass_through(self):
        self.trained()
        ids = [["1", 'say "hi"', "a,b"], ["", " spaces ", "two\nlines"], ["NA", "é", "'"], ["0007", "x;y", "tab\there"]]
        rows = [row + [1.0, 2.0, "red"] for row in ids]
        self.write_csv("new.csv", ["one", "two, really", "three", "a", "b", "colour"], rows)
        out = self.ok("predict", "m.karma", "new.csv", "--id", "three", "--id", "one", "--id", "two, really").rows()
        self.assertEqual(set(out[0][:3]), {"one", "two, really", "three"})
        for got, given in zip(out[1:], ids):
            named = dict(zip(out[0], got))
            self.assertEqual([named["one"], named["three"]], [given[0], given[2]])
            self.assertEqual(named["two, really"].strip(), given[1].strip())
        self.assertEqual(len(out), 5)
        objects = self.ok("predict", "m.karma", "new.csv", "--id", "one", "--id", "three", "--json",
                          notes=["two, really"]).json()["predictions"]
        self.assertEqual([o["three"] for o in objects], [row[2] for row in ids])

    def test_rows_keep_their_order(self):
        rows = self.trained(ids=True, n=300)
        self.write_csv("new.csv", ["who", "a", "b", "colour"], [row[:-1] for row in rows])
        scores = dict((row[0], row[1:]) for row in self.ok("predict", "m.karma", "new.csv", "--id", "who").rows()[1:])
        random.Random(1).shuffle(rows)
        self.write_csv("mixed.csv", ["colour", "who", "b", "a"], [[row[3], row[0], row[2], row[1]] for row in rows])
        out = self.ok("predict", "m.karma", "mixed.csv", "--id", "who", "-o", "out.csv")
        self.assertEqual(out.out, "")
        got = self.read_rows("out.csv")[1:]
        self.assertEqual([row[0] for row in got], [row[0] for row in rows])
        for row in got:
            self.assertEqual(row[1:], scores[row[0]])

    def test_unlabelled_rows_are_left_out(self):
        rows = self.two_classes()
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "all.karma", "--quiet")
        extra = rows[:50] + [[9.0, 9.0, "violet", None]] + rows[50:] + [[-9.0, 1.0, "red", "NA"]]
        self.write_csv("holes.csv", ["a", "b", "colour", "answer"], extra)
        run = self.ok("train", "--effort", "off", "holes.csv", "--target", "answer", "-o", "m.karma", "--json",
                      notes=["2 of 122 rows have no label in column 'answer'"])
        self.assertEqual([run.json()["rows"], run.json()["rows_without_label"]], [120, 2])
        self.assertEqual(self.ok("predict", "m.karma", "two.csv").out, self.ok("predict", "all.karma", "two.csv").out)
        report = self.ok("eval", "m.karma", "holes.csv", "--json").json()
        self.assertEqual([report["rows"], report["rows_without_label"]], [120, 2])
        self.assertEqual(len(self.ok("predict", "m.karma", "holes.csv").rows()), 123)

    def test_unseen_category_is_missing(self):
        self.trained()
        self.write("new.csv", "a,b,colour\n0.5,6,purple\n0.5,6,\n0.5,6,red\n")
        out = self.ok("predict", "m.karma", "new.csv").rows()[1:]
        self.assertEqual(out[0], out[1])
        self.assertNotEqual(out[0], out[2])

    def test_cells_unlike_the_training_rows(self):
        """One note of predict and eval counts them, --flags names them; rows like the training rows cause no note."""
        rows = self.trained()
        low, high = min(r[0] for r in rows if r[0] is not None), max(r[0] for r in rows if r[0] is not None)
        self.write("new.csv", f"a,b,colour,answer\n{high + 5},oops,purple,yes\n{low - 1},5,violet,no\n{high},5,red,no\n")
        said = (rf"cells unlike the training rows: 'a' 2 outside the training range, {low} to {high}; "
                r"'colour' 2 with an unseen category \(read as missing\)$")
        run = self.ok("predict", "m.karma", "new.csv", "--flags", notes=["'b' has 1 cell that is not a number", said])
        self.assertEqual([row[-1] for row in run.rows()],
                         ["flags", "a: above; colour: unseen; b: text", "a: below; colour: unseen", ""])
        plain = self.ok("predict", "m.karma", "new.csv", notes=["'b'", said]).rows()
        self.assertEqual([row[:-1] for row in run.rows()], plain)
        self.ok("eval", "m.karma", "new.csv", notes=["'b'", said])
        run = self.ok("predict", "m.karma", "new.csv", "--flags", "--json", "--quiet")
        self.assertEqual([row["flags"] for row in run.json()["predictions"]],
                         [{"a": "above", "colour": "unseen", "b": "text"}, {"a": "below", "colour": "unseen"}, {}])
        run = self.ok("predict", "m.karma", "two.csv", "--flags")
        self.assertEqual(run.notes(about_cells=True), [])
        self.assertEqual({row[-1] for row in run.rows()[1:]}, {""})

    def test_many_columns_unlike_the_training_rows(self):
        names = [f"x{j}" for j in range(20)]
        self.write_csv("wide.csv", names + ["y"], [[i % 7] * 20 + [i % 2] for i in range(60)])
        self.ok("train", "wide.csv", "--target", "y", "--effort", "off", "-o", "w.karma", "--quiet")
        self.write_csv("new.csv", names, [[9] * 20])
        self.ok("predict", "w.karma", "new.csv", notes=["cells unlike the training rows: 'x0' 1 .*'x7' 1 .*12 more columns$"])

    def test_units_percentages_and_long_texts(self):
        """A spreadsheet of a clinic: byte order mark, semicolons, decimal commas, Windows line ends, percentages, units."""
        rng = random.Random(8)
        rows = [(rng.gauss(170, 10), rng.gauss(70, 12), rng.random()) for _ in range(60)]
        lines = ["\ufeffPatient;Größe;Gewicht;Anteil;Preis;Notiz;Ergebnis"]
        lines += [f"P{i:03d};{h:.1f};{g:.0f} kg;{100 * p:.0f} %;€{g:.2f};\"eins\nzwei\"\"{i}\"\"\";{'ja' if p > 0.5 else 'nein'}"
                  .replace(".", ",") for i, (h, g, p) in enumerate(rows)]
        self.write("clinic.csv", "\r\n".join(lines) + "\r\n")
        got = self.ok("inspect", "clinic.csv", "--target", "Ergebnis", "--json", notes=["decimal commas", "'Preis'.*currency sign of 60 cells"]).json()
        self.assertEqual({c["name"]: c["type"] for c in got["columns"]},
                         {"Patient": "category", "Größe": "number", "Gewicht": "category", "Anteil": "number",
                          "Preis": "number", "Notiz": "category"})
        found = " ".join(got["findings"])
        self.assertRegex(found, r"'Gewicht' looks like numbers with a unit \('\d+ kg'\)")
        self.assertNotRegex(found, "'(Gewicht|Preis)' looks like an identifier")
        self.assertRegex(found, "'Patient' looks like an identifier")
        text = self.ok("inspect", "clinic.csv", "--target", "Ergebnis", notes=["decimal commas", "currency"]).out.splitlines()
        start = next(i for i, line in enumerate(text) if line.startswith("  column"))
        table = text[start:start + 7]
        self.assertEqual({line.index(word) for line in table[1:] for word in ("number ", "category ") if word in line},
                         {text[start].index("type")})  # columns align, also below accents and line breaks
        run = self.ok("train", "clinic.csv", "--target", "Ergebnis", "--id", "Patient", "--ignore", "Notiz", "--effort", "off",
                      "-o", "m.karma", notes=["decimal commas", "currency", "'Gewicht' looks like numbers"])
        self.assertRegex(run.out, r"target +Ergebnis, 2 classes: \w+ \d+, \w+ \d+\n")

    def test_copies_of_the_label_with_exceptions(self):
        rng = random.Random(3)
        rows = [[rng.gauss(0, 1), "pq"[i % 2], "pq"[i % 2]] for i in range(300)]
        rows[7][1] = "q" if rows[7][1] == "p" else "p"
        self.write_csv("d.csv", ["a", "copy", "y"], rows)
        self.assertRegex(self.ok("inspect", "d.csv", "--target", "y").out, "'copy' determines the target 'y' in almost all rows")
        rare = [[rng.gauss(0, 1), "uv"[i % 2], "rare" if i % 100 == 5 else "often"] for i in range(300)]
        self.write_csv("d.csv", ["a", "b", "y"], rare)  # 99% are of one class: no column determines that
        self.assertNotIn("determines", self.ok("inspect", "d.csv", "--target", "y").out)

    def test_unknown_and_absent_columns(self):
        self.trained()
        self.write("plain.csv", "a,b,colour\n0.5,6,\n-1,4,\n")
        plain = self.ok("predict", "m.karma", "plain.csv")
        self.write("new.csv", "a,weight,b,mood\n0.5,80,6,good\n-1,70,4,bad\n")
        run = self.ok("predict", "m.karma", "new.csv", notes=["does not know.*'weight', 'mood'", "lack.*'colour'"])
        self.assertEqual(run.out, plain.out)
        run = self.ok("predict", "m.karma", "new.csv", "--ignore", "weight", "--ignore", "mood", notes=["lack.*'colour'"])
        self.assertEqual(run.out, plain.out)
        self.assertEqual(self.ok("predict", "m.karma", "new.csv", "--quiet").out, plain.out)

    def test_row_with_everything_missing(self):
        self.trained()
        self.write("new.csv", "a,b,colour\n,,\n1,5,red\n?,NA,null\n")
        out = self.ok("predict", "m.karma", "new.csv").rows()[1:]
        self.assertEqual(len(out), 3)
        self.assertEqual(out[0], out[2])
        self.assertTrue(math.isfinite(float(out[0][1])))
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--bias", "0", "-o", "n.karma", "--quiet")
        out = self.ok("predict", "n.karma", "new.csv").rows()[1:]
        self.assertEqual(float(out[0][1]), 0.0)
        self.assertEqual(out[0][0], "no")  # a tie goes to the first class

    def test_training_row_with_everything_missing(self):
        rows = self.two_classes() + [[None, None, None, "yes"]]
        self.write_csv("more.csv", ["a", "b", "colour", "answer"], rows)
        self.assertEqual(self.ok("train", "--effort", "off", "more.csv", "--target", "answer", "-o", "m.karma", "--json").json()["rows"], 121)

    def test_the_share_of_missing_cells_is_of_the_columns_learned(self):
        """A column at the end of every line that has no cell is not learned from and is not counted."""
        lines = ["a,b,y,"] + [f"{i % 7},{'' if i % 4 == 0 else i % 5},{'p' if i * 13 % 11 > 5 else 'q'}," for i in range(60)]
        self.write("d.csv", "\n".join(lines) + "\n")
        run = self.ok("train", "d.csv", "--target", "y", "--effort", "off", "-o", "m.karma", notes=["without an observed cell are left out: 'c4'"])
        self.assertIn("learned from 60 rows and 2 columns, 12.5% of the cells missing", run.out)

    def test_column_without_observed_cells(self):
        rows = self.two_classes()
        self.write_csv("more.csv", ["a", "b", "empty", "colour", "answer"], [r[:2] + [None] + r[2:] for r in rows])
        run = self.ok("train", "--effort", "off", "more.csv", "--target", "answer", "-o", "m.karma", "--json", notes=["'empty'"])
        self.assertEqual(run.json()["attributes"], 3)
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "n.karma", "--quiet")
        self.assertEqual(self.ok("predict", "m.karma", "two.csv").out, self.ok("predict", "n.karma", "two.csv").out)

    def test_losses_and_schedules(self):
        self.two_classes(n=60)
        self.quantity(n=60)
        for loss in ("hinge", "squared-hinge", "logistic"):
            for schedule in ("pegasos", "regret"):
                with self.subTest(loss=loss, schedule=schedule):
                    run = self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--solver", "online", "--loss", loss,
                                  "--schedule", schedule, "-o", "m.karma", "--json")
                    self.assertTrue(0.0 < run.json()["rho"] < math.inf)
                    accuracy = self.ok("eval", "m.karma", "two.csv", "--json").json()["accuracy"]
                    self.assertGreater(accuracy, 0.7)
                    self.assertEqual(run.json()["loss"], loss)
        for loss in ("epsilon-insensitive", "absolute", "huber", "pinball", "squared"):
            for solver in self.solvers():
                with self.subTest(loss=loss, solver=solver):
                    self.ok("train", "--effort", "off", "price.csv", "--target", "price", "--task", "regress", "--loss", loss, "--solver",
                            solver, "-o", "m.karma")
                    self.assertEqual(self.ok("inspect", "m.karma", "--json").json()["loss"], loss)

    def test_loss_of_the_wrong_task(self):
        self.two_classes(n=40)
        run = self.run_karma("train", "--effort", "off", "two.csv", "--target", "answer", "--loss", "huber", "-o", "m.karma")
        self.assertIn(run.code, (1, 2), str(run))
        self.assertRegex(run.err, "huber")
        self.assertEqual(self.files(), ["two.csv"])


class Evaluating(Case):
    def check_classes(self, truth, predicted, report, classes):
        n = len(truth)
        table = {t: {p: 0 for p in classes} for t in classes}
        for t, p in zip(truth, predicted):
            table[t][p] += 1
        self.assertEqual(report["confusion"], table)
        self.close_to(report["accuracy"], sum(table[c][c] for c in classes) / n, 1e-12, "accuracy")
        recalls = [table[c][c] / sum(table[c].values()) for c in classes if sum(table[c].values())]
        self.close_to(report["balanced_accuracy"], sum(recalls) / len(recalls), 1e-12, "balanced accuracy")
        f1 = [2 * table[c][c] / (sum(table[c].values()) + sum(table[t][c] for t in classes)) for c in classes]
        self.close_to(report["f1"], sum(f1) / len(f1), 1e-12, "F1")

    @staticmethod
    def auc(positive, scores):
        pairs = [(p, q) for p, yes in zip(scores, positive) if yes for q, no in zip(scores, positive) if not no]
        return sum(1.0 if p > q else 0.5 if p == q else 0.0 for p, q in pairs) / len(pairs)

    def test_two_classes_against_own_computation(self):
        self.trained()
        rows = self.two_classes("test.csv", n=90, seed=7)
        report = self.ok("eval", "m.karma", "test.csv", "--json").json()
        out = self.ok("predict", "m.karma", "test.csv").rows()[1:]
        truth = [row[-1] for row in rows]
        self.check_classes(truth, [row[0] for row in out], report, ["no", "yes"])
        self.close_to(report["auc"], self.auc([t == "yes" for t in truth], [float(row[1]) for row in out]), 1e-12, "AUC")
        counts = self.ok("inspect", "m.karma", "--json").json()["classes"]
        commonest = max(sorted(counts), key=counts.get)
        self.close_to(report["majority"], truth.count(commonest) / len(truth), 1e-12, "majority")
        self.assertIsNone(report["log_loss"])
        self.assertEqual(report["rows"], 90)
        text = self.ok("eval", "m.karma", "test.csv").out
        for word in ("accuracy", "majority rate", "balanced accuracy", "F1", "AUC", "truth \\ prediction"):
            self.assertIn(word, text)
        self.assertIn(f"{100 * report['accuracy']:.1f}%", text)

    def test_three_classes_and_log_loss(self):
        self.three_classes()
        self.ok("train", "--effort", "off", "three.csv", "--target", "tree", "--loss", "logistic", "-o", "m.karma", "--quiet")
        rows = self.three_classes("test.csv", n=80, seed=9)
        report = self.ok("eval", "m.karma", "test.csv", "--json").json()
        out = self.ok("predict", "m.karma", "test.csv").rows()
        classes = [name[len("score:"):] for name in out[0] if name.startswith("score:")]
        self.assertEqual(out[0][4:], ["p:" + name for name in classes])
        truth = [row[-1] for row in rows]
        self.check_classes(truth, [row[0] for row in out[1:]], report, classes)
        scores = [[float(cell) for cell in row[1:4]] for row in out[1:]]
        areas = [self.auc([t == c for t in truth], [s[k] for s in scores]) for k, c in enumerate(classes)]
        self.close_to(report["auc"], sum(areas) / 3, 1e-12, "AUC")
        loss = 0.0
        for t, s in zip(truth, scores):
            p = [1 / (1 + math.exp(-z)) for z in s]
            loss -= math.log(p[classes.index(t)] / sum(p)) / len(truth)
        self.close_to(report["log_loss"], loss, 1e-9, "log loss")

    def test_binary_log_loss(self):
        self.two_classes()
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--loss", "logistic", "-o", "m.karma", "--quiet")
        rows = self.two_classes("test.csv", n=50, seed=4)
        out = self.ok("predict", "m.karma", "test.csv").rows()[1:]
        loss = sum(math.log1p(math.exp(-float(o[1]) if r[-1] == "yes" else float(o[1]))) for o, r in zip(out, rows)) / 50
        self.close_to(self.ok("eval", "m.karma", "test.csv", "--json").json()["log_loss"], loss, 1e-9, "log loss")

    def test_regression_against_own_computation(self):
        train = self.quantity()
        self.ok("train", "--effort", "off", "price.csv", "--target", "price", "-o", "m.karma", "--quiet")
        rows = self.quantity("test.csv", n=60, seed=11)
        report = self.ok("eval", "m.karma", "test.csv", "--json").json()
        guess = [float(row[0]) for row in self.ok("predict", "m.karma", "test.csv").rows()[1:]]
        truth = [row[-1] for row in rows]
        base = sum(row[-1] for row in train) / len(train)
        mean = sum(truth) / 60
        self.close_to(report["mae"], sum(abs(g - t) for g, t in zip(guess, truth)) / 60, 1e-9, "MAE")
        squares = sum((g - t) ** 2 for g, t in zip(guess, truth))
        self.close_to(report["rmse"], math.sqrt(squares / 60), 1e-9, "RMSE")
        self.close_to(report["r2"], 1 - squares / sum((t - mean) ** 2 for t in truth), 1e-9, "R2")
        self.close_to(report["baseline_mae"], sum(abs(base - t) for t in truth) / 60, 1e-9, "baseline MAE")
        self.close_to(report["baseline_rmse"], math.sqrt(sum((base - t) ** 2 for t in truth) / 60), 1e-9, "baseline RMSE")
        self.assertRegex(self.ok("eval", "m.karma", "test.csv").out, "training mean")

    def test_label_the_model_never_saw(self):
        self.trained()
        rows = self.two_classes("test.csv", n=30, seed=5)
        rows[3][-1] = rows[8][-1] = "perhaps"
        self.write_csv("test.csv", ["a", "b", "colour", "answer"], rows)
        report = self.ok("eval", "m.karma", "test.csv", "--json").json()
        self.assertEqual(report["rows"], 30)
        self.assertEqual(sum(sum(row.values()) for row in report["confusion"].values()), 30)
        strange = [row for name, row in report["confusion"].items() if name not in ("yes", "no")]
        self.assertEqual([sum(row.values()) for row in strange], [2])

    def test_data_without_labels(self):
        self.trained()
        self.write("new.csv", "a,b\n1,2\n")
        self.fails("eval", "m.karma", "new.csv", says="new.csv.*'answer'")
        self.write("new.csv", "a,b,answer\n1,2,\n")
        self.fails("eval", "m.karma", "new.csv", says="new.csv.*label")

    def test_regression_model_and_text_labels(self):
        self.quantity(n=60)
        self.ok("train", "--effort", "off", "price.csv", "--target", "price", "-o", "m.karma", "--quiet")
        self.write("new.csv", "a,b,c,price\n1,2,3,dear\n")
        self.fails("eval", "m.karma", "new.csv", says="new.csv.*'price'.*numbers")
        self.assertEqual(len(self.ok("predict", "m.karma", "new.csv").rows()), 2)


class Reading(Case):
    """One table in many formats gives the same model and the same predictions."""

    def setUp(self):
        super().setUp()
        self.rows = self.two_classes(n=60)
        self.reference = self.predictions("two.csv", "--target", "answer")

    def predictions(self, data, *options, reading=(), stdin=b"", notes=None):
        self.ok("train", "--effort", "off", data, *options, *reading, "-o", "m.karma", "--quiet", stdin=stdin)
        return self.ok("predict", "m.karma", data, *reading, stdin=stdin, notes=notes).out

    def test_standard_input(self):
        text = self.read("two.csv")
        self.assertEqual(self.predictions("-", "--target", "answer", stdin=text), self.reference)
        self.fails("train", "--effort", "off", "-", "--target", "answer", "-o", "x.karma", stdin=b"", says="standard input.*empty")
        self.fails("train", "--effort", "off", "-", "--target", "answer", "-o", "x.karma", stdin=b"a,answer\n1,x\n1\n",
                   says="standard input: line 3")

    def test_gzip(self):
        self.write("packed.csv.gz", gzip.compress(self.read("two.csv")))
        self.assertEqual(self.predictions("packed.csv.gz", "--target", "answer"), self.reference)
        text = self.read("two.csv")
        self.write("named-plainly.csv", gzip.compress(text[:1000]) + gzip.compress(text[1000:]))
        self.assertEqual(self.predictions("named-plainly.csv", "--target", "answer"), self.reference)
        self.assertEqual(self.predictions("-", "--target", "answer", stdin=gzip.compress(text)), self.reference)

    def test_tsv(self):
        self.write_csv("two.tsv", ["a", "b", "colour", "answer"], self.rows, "\t")
        self.assertEqual(self.predictions("two.tsv", "--target", "answer"), self.reference)

    def test_delimiters(self):
        for word, character in (("semicolon", ";"), ("pipe", "|"), ("tab", "\t"), ("comma", ","), (";", ";"), ("\\t", "\t")):
            with self.subTest(delimiter=word):
                self.write_csv("d.csv", ["a", "b", "colour", "answer"], self.rows, character)
                self.assertEqual(self.predictions("d.csv", "--target", "answer", reading=("--delimiter", word)),
                                 self.reference)
                self.assertEqual(self.predictions("d.csv", "--target", "answer"), self.reference)  # guessed
        rows = [["NA" if cell is None else cell for cell in row] for row in self.rows]
        self.write_csv("d.csv", ["a", "b", "colour", "answer"], rows, " ")
        self.assertEqual(self.predictions("d.csv", "--target", "answer", reading=("--delimiter", "space")), self.reference)

    def test_no_header(self):
        self.write_csv("bare.csv", None, self.rows)
        self.assertEqual(self.predictions("bare.csv", "--target", "c4", reading=("--header", "off")), self.reference)
        names = [c["name"] for c in self.ok("inspect", "bare.csv", "--header", "off", "--json").json()["columns"]]
        self.assertEqual(names, ["c1", "c2", "c3", "c4"])

    def test_line_ends_bom_quotes(self):
        text = self.read("two.csv")
        self.write("v.csv", text.replace(b"\n", b"\r\n"))
        self.assertEqual(self.predictions("v.csv", "--target", "answer"), self.reference)
        self.write("v.csv", b"\xef\xbb\xbf" + text.rstrip(b"\n"))
        self.assertEqual(self.predictions("v.csv", "--target", "answer"), self.reference)
        quoted = io.StringIO()
        writer = csv.writer(quoted, quoting=csv.QUOTE_ALL)
        writer.writerow(["a", "b", "colour", "answer"])
        writer.writerows([["" if cell is None else cell for cell in row] for row in self.rows])
        self.write("v.csv", quoted.getvalue())
        self.assertEqual(self.predictions("v.csv", "--target", "answer"), self.reference)

    def test_missing_tokens(self):
        usual = ["", "NA", "N/A", "NaN", "nan", "?", "null", "NULL", "None"]
        rng = random.Random(2)
        rows = [[rng.choice(usual) if cell is None else cell for cell in row] for row in self.rows]
        self.write_csv("t.csv", ["a", "b", "colour", "answer"], rows)
        self.assertEqual(self.predictions("t.csv", "--target", "answer"), self.reference)
        rows = [[rng.choice(["-999", "none given"]) if cell is None else cell for cell in row] for row in self.rows]
        self.write_csv("t.csv", ["a", "b", "colour", "answer"], rows)
        reading = ("--missing", "-999", "--missing=none given")
        self.assertEqual(self.predictions("t.csv", "--target", "answer", reading=reading), self.reference)

    def test_almost_a_number_column(self):
        lines = "".join(f"{i},{'yes' if i % 2 else 'no'}\n" for i in range(30))
        self.write("n.csv", "x,y\n" + lines + "lots,yes\n")
        run = self.ok("inspect", "n.csv", "--json", notes=["'x'.*'lots'.*--missing 'lots'.*--numeric 'x'.*--category 'x'"])
        self.assertEqual(run.json()["columns"][0]["type"], "category")
        run = self.ok("inspect", "n.csv", "--missing", "lots", "--json")
        self.assertEqual(run.json()["columns"][0]["type"], "number")
        # what usually means missing needs no option
        self.write("u.csv", "x,y\n" + lines + "unknown,yes\n")
        run = self.ok("inspect", "u.csv", "--json", notes=["'x' is numbers: 1 cell such as 'unknown' is read as missing"])
        self.assertEqual(run.json()["columns"][0]["type"], "number")

    def test_types_can_be_forced(self):
        self.write("f.csv", "zip,x,y\n" + "".join(f"{10 + i % 3},{i},{'up' if i % 3 else 'down'}\n" for i in range(30)))
        columns = self.ok("inspect", "f.csv", "--json").json()["columns"]
        self.assertEqual([c["type"] for c in columns], ["number", "number", "category"])
        run = self.ok("inspect", "f.csv", "--category", "zip", "--ignore", "x", "--target", "y", "--json").json()
        self.assertEqual([(c["name"], c["type"]) for c in run["columns"]], [("zip", "category")])
        self.assertEqual(run["target"], {"name": "y", "type": "category"})
        self.fails("inspect", "f.csv", "--numeric", "y", says="f.csv: line 2, column 'y': 'down' is not a number")
        self.ok("train", "--effort", "off", "f.csv", "--target", "y", "--category", "zip", "-o", "m.karma", "--quiet")
        # the model remembers that zip is a category, even if the file has numbers or other words there
        self.write("new.csv", "zip,x\n10,3\n11,3\nother,3\n,3\n")
        out = self.ok("predict", "m.karma", "new.csv").rows()[1:]
        self.assertEqual(out[2], out[3])
        self.assertEqual([out[0][0], out[1][0]], ["down", "up"])

    def test_several_targets(self):
        self.write("t.csv", "a,y,b,\"p,q\"\n1,u,2,3\n2,v,,4\n")
        for flags in (["--target", "b,y"], ["--target", "b", "--target", "y"], ["--target=b,y"]):
            run = self.ok("inspect", "t.csv", *flags, "--json").json()
            self.assertEqual(run["targets"], [{"name": "b", "type": "number"}, {"name": "y", "type": "category"}])
            self.assertEqual(run["target"], run["targets"][0])
            self.assertEqual([c["name"] for c in run["columns"]], ["a", "p,q"])
        run = self.ok("inspect", "t.csv", "--target", "p,q", "--json").json()
        self.assertEqual([t["name"] for t in run["targets"]], ["p,q"])
        self.assertEqual(self.ok("inspect", "t.csv", "--json").json()["targets"], [])
        self.assertRegex(self.ok("inspect", "t.csv", "--target", "b,y").out, "target b: numbers, 2 to 2\n  target y: 2 classes: u 1, v 1\n")
        self.fails("inspect", "t.csv", "--target", "y,bb", says="t.csv: no column 'bb'")
        self.fails("inspect", "t.csv", "--target", "y,y", code=2, says="'y' is named twice by --target")

    def test_row_weights_are_no_attribute(self):
        self.write("w.csv", "a,w,y\n1,2,u\n2,0,v\n-1,1,u\n")
        self.write("plain.csv", "a,y\n1,u\n2,v\n-1,u\n")
        run = self.ok("inspect", "w.csv", "--target", "y", "--row-weight", "w", "--json").json()
        self.assertEqual((run["row_weight"], [c["name"] for c in run["columns"]]), ("w", ["a"]))
        self.assertNotIn("row_weight", self.ok("inspect", "w.csv", "--json").json())
        self.assertEqual(self.ok("gram", "w.csv", "--target", "y", "--row-weight", "w").out,
                         self.ok("gram", "plain.csv", "--target", "y").out)
        self.fails("gram", "w.csv", "--row-weight", "y", says="w.csv: line 2, column 'y': 'u' is not a row weight")
        self.fails("gram", "w.csv", "--row-weight", "v", says="w.csv: no column 'v'")
        self.fails("gram", "w.csv", "--row-weight", "w", "--target", "w", code=2,
                   says="'w' cannot be both --target and --row-weight")
        self.ok("train", "--effort", "off", "plain.csv", "--target", "y", "-o", "m.karma", "--quiet")
        self.fails("predict", "m.karma", "w.csv", "--row-weight", "w", code=2, says="unknown option")

    def test_options_that_contradict(self):
        self.fails("train", "--effort", "off", "two.csv", "--target", "answer", "--ignore", "answer", "-o", "x.karma", code=2,
                   says="'answer' cannot be both")
        self.fails("train", "--effort", "off", "two.csv", "--target", "answer", "--numeric", "a", "--category", "a", "-o", "x.karma", code=2,
                   says="'a' cannot be both")

    def test_a_model_remembers_how_its_file_was_read(self):
        rng = random.Random(3)
        rows = []
        for i in range(80):
            x = [rng.gauss(0, 1) for _ in range(3)]
            cells = ["-999" if rng.random() < 0.3 else f"{v:.3f}" for v in x]
            rows.append([f"p{i}", *cells, "skip", "yes" if x[0] + x[1] > 0 else "no"])
        header = ["who", "a", "b", "c", "junk", "y"]
        self.write_csv("s.csv", header, rows)
        read = ["--missing", "-999", "--id", "who", "--ignore", "junk"]
        self.ok("train", "--effort", "off", "s.csv", "--target", "y", "-o", "m.karma", "--quiet", *read)
        whole = self.ok("predict", "m.karma", "s.csv", *read).out
        self.assertEqual(self.ok("predict", "m.karma", "s.csv", notes=[]).out, whole)  # without the options
        self.assertEqual(self.ok("eval", "m.karma", "s.csv", notes=[]).out, self.ok("eval", "m.karma", "s.csv", *read).out)
        self.assertEqual(self.ok("explain", "m.karma", "s.csv", notes=[]).out, self.ok("explain", "m.karma", "s.csv", *read).out)
        # columns that were not learned from need not be there, and may have another role now
        self.write_csv("few.csv", header[1:4], [row[1:4] for row in rows])
        scores = [line.split(",", 1)[1] for line in whole.splitlines()]
        self.assertEqual(self.ok("predict", "m.karma", "few.csv", notes=[]).out.splitlines(), scores)
        self.assertEqual(self.ok("predict", "m.karma", "s.csv", "--ignore", "who", notes=[]).out.splitlines(), scores)
        self.ok("predict", "m.karma", "s.csv", "--missing", "7",
                notes=["--missing is '7' here, but was '-999' when the model was learned"])
        self.ok("train", "--effort", "off", "s.csv", "--target", "y", "-o", "m.karma", "--quiet", *read[2:])
        self.ok("predict", "m.karma", "s.csv", *read[:2], notes=["--missing is '-999' here, but was not set when the model was learned"])

    def test_several_names_in_one_option(self):
        """A,B names two columns as in --target, unless a column is called A,B."""
        rows = [[f"p{i}", i % 5, i % 3, f"r{i % 2}", "yes" if i % 5 > 2 else "no"] for i in range(40)]
        header = ["who", "a", "b", "ward", "y"]
        self.write_csv("s.csv", header, rows)
        train = ["train", "--effort", "off", "s.csv", "--target", "y", "--quiet", "-o"]
        self.ok(*train, "one.karma", "--id", "who", "--id", "ward", "--ignore", "b")
        self.ok(*train, "two.karma", "--id", "who,ward", "--ignore", "b")
        wanted = self.ok("predict", "one.karma", "s.csv", notes=[]).rows()
        self.assertEqual(wanted[0][:3], ["who", "ward", "prediction"])
        self.assertEqual(self.ok("predict", "two.karma", "s.csv", notes=[]).rows(), wanted)
        self.write_csv("few.csv", header[:3], [row[:3] for row in rows])  # one of the two may be absent
        self.assertEqual([row[2:] for row in wanted], [row[1:] for row in self.ok("predict", "two.karma", "few.csv", notes=[]).rows()])
        table = self.ok("inspect", "s.csv", "--target", "y", "--ignore", "who,b", "--category", "a,ward", "--json").json()
        self.assertEqual([(c["name"], c["type"]) for c in table["columns"]], [("a", "category"), ("ward", "category")])
        self.fails("inspect", "s.csv", "--ignore", "who,wrad", says="no column 'wrad'; did you mean 'ward'")
        self.fails("train", "s.csv", "--target", "y", "--linear", "a,b", "-o", "x.karma",
                   says="there is no column 'a,b'; for several, give the option once for each")
        self.write_csv("comma.csv", ["a,b", "a", "b", "y"], [[i % 7, i % 5, i % 3, i % 2] for i in range(40)])
        table = self.ok("inspect", "comma.csv", "--target", "y", "--ignore", "a,b", "--json").json()
        self.assertEqual([c["name"] for c in table["columns"]], ["a", "b"])

    def test_decimal_commas_are_remembered(self):
        lines = ["a;b;y"] + [f"{i % 7},{i % 10};{i % 3};{'up' if i % 7 > 3 else 'down'}" for i in range(60)]
        self.write("comma.csv", "\n".join(lines) + "\n")
        self.ok("train", "--effort", "off", "comma.csv", "--target", "y", "-o", "m.karma", "--quiet")
        self.write("one.csv", "a;b\n1,000;2\n")  # without the model it could be a thousand
        self.write("same.csv", "a;b\n1,0;2\n")
        self.assertEqual(self.ok("predict", "m.karma", "one.csv").out, self.ok("predict", "m.karma", "same.csv").out)

    def test_number_column_of_the_model_with_words(self):
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "m.karma", "--quiet")
        self.write("new.csv", "a,b,colour\n1,2,red\nmany,2,red\n")
        run = self.ok("predict", "m.karma", "new.csv",
                      notes=["column 'a' has 1 cell that is not a number .'many'., read as missing"])
        self.write("hole.csv", "a,b,colour\n1,2,red\n,2,red\n")
        self.assertEqual(run.out, self.ok("predict", "m.karma", "hole.csv").out)
        self.fails("predict", "m.karma", "new.csv", "--strict", says="line 3, column 'a': 'many' is not a number")
        self.fails("predict", "m.karma", "--strict", "--quiet", "new.csv", says="line 3, column 'a': 'many' is not a number")
        self.fails("predict", "m.karma", "--strict", "new.csv", code=2, says="--strict takes on|--strict.* cannot be 'new.csv'")
        self.fails("predict", "m.karma", "new.csv", "--strict", "on",
                   says="new.csv: line 3, column 'a': 'many' is not a number")


class FirstLook(Case):
    """Files of first-time users: nothing is misread silently."""

    ROWS = [(i, 40 + 7 * ((i * 37) % 10) / 3, ((i * 53) % 19 - 9) / 4, "yes" if (i * 53) % 19 > 9 else "no") for i in range(60)]

    def lines(self, form="{},{:.2f},{:.2f},{}", header="id,age,b,out"):
        return [header] + [form.format(*row) for row in self.ROWS]

    def save(self, lines, name="d.csv"):
        return self.write(name, "\n".join(lines) + "\n")

    def columns(self, *options, notes=()):
        got = self.ok("inspect", "d.csv", "--target", "out", "--json", *options, notes=list(notes)).json()
        return {c["name"]: c for c in got["columns"]}, " ".join(got["findings"])

    def check_numbers(self, notes=(), scale=1.0):
        columns, _ = self.columns(notes=notes)
        for name, place in (("age", 1), ("b", 2)):
            self.assertEqual(columns[name]["type"], "number")
            self.assertAlmostEqual(columns[name]["max"], scale * round(max(row[place] for row in self.ROWS), 2), places=6)

    def test_first_lines_that_are_not_the_header(self):
        self.save(["sep=;"] + [line.replace(",", ";").replace(".", ",") for line in self.lines()])
        self.check_numbers(["decimal commas"])
        self.save(["# from the lab", "# 2024"] + self.lines())
        self.check_numbers(["2 lines above the header that start with # are skipped"])
        self.save(["# from the lab"] + self.lines(header="#id,age,b,out"))  # the last of them names the columns
        columns, _ = self.columns(notes=["1 line above"])
        self.assertIn("#id", columns)
        self.save(["Results", ""] + self.lines())
        self.fails("inspect", "d.csv", "--target", "out", says="no column 'out'; the only column is 'Results'.*remove them")
        self.fails("inspect", "d.csv", says="line 3: 4 fields, header has 1; if lines above the header")
        self.save(self.lines()[1:])
        self.ok("inspect", "d.csv", notes=["names of columns are numbers; if the first line is a row, set --header off"])
        self.save(["850,860,870.5,out"] + self.lines()[1:])  # wavelengths
        self.ok("inspect", "d.csv", "--target", "out")

    def test_files_that_are_no_tables(self):
        for start, says in ((b"PK\x03\x04\x14\0\0", "ZIP archive, as .xlsx"), (b"PAR1\x15\0", "Parquet"), (b"SQLite format 3\0", "SQLite"),
                            (b"\xd0\xcf\x11\xe0\0", "Excel"), (b'[\n {"id": 1, "out": "a"}\n]\n', "JSON"), (b'{"id": 1}\n{"id": 2}\n', "JSON"),
                            (b"<!DOCTYPE html>\n<html></html>\n", "web page"), (b"BZh91AY", "bzip2"), (b"\x28\xb5\x2f\xfd\0", "zstd")):
            self.write("d.csv", start)
            self.fails("inspect", "d.csv", says=f"d.csv: the file is .*{says}")

    def test_decimal_commas_with_three_digits(self):
        """1,148 alone may be a thousand; 0,125 cannot, nor can it in a file of semicolons without decimal points."""
        self.save([line.replace(",", ";").replace(".", ",") for line in self.lines("{},{:.3f},{:.3f},{}")])
        columns, _ = self.columns(notes=["decimal commas"])
        self.assertLess(columns["age"]["max"], 100)
        self.save(["id;age;out"] + [f"{i};{1 + i % 7},{100 + i};{'ab'[i % 2]}" for i in range(40)])
        columns, _ = self.columns(notes=["decimal commas"])
        self.assertLess(columns["age"]["max"], 10)
        self.save(["id;age;b;out"] + [f"{i};{1 + i % 7},{100 + i};{i / 8};{'ab'[i % 2]}" for i in range(40)])  # points elsewhere
        columns, _ = self.columns(notes=["'age' is numbers: 40 cells such as '1,100' are read with a separator of thousands"])
        self.assertGreater(columns["age"]["max"], 1000)

    def test_decimal_commas_in_quotes(self):
        self.save(["id,age,b,out"] + ['{},"{}","{}",{}'.format(row[0], *(f"{x:.2f}".replace(".", ",") for x in row[1:3]), row[3])
                                      for row in self.ROWS])
        self.check_numbers(["decimal commas"])

    def test_another_decimal_mark_than_the_rest(self):
        text = [f"{i};{a:.2f};{str(round(b, 2)).replace('.', ',')};{y}" for i, a, b, y in self.ROWS]
        self.save(["id;age;b;out"] + text)
        columns, found = self.columns("--decimal", ".", notes=["'b' is read as categories: .* numbers with decimal commas.*--decimal"])
        self.assertEqual(columns["b"]["type"], "category")
        self.assertNotIn("--id 'b'", found)

    def test_the_mark_of_a_new_file_comes_first(self):
        self.save([line.replace(",", ";").replace(".", ",") for line in self.lines()])
        self.ok("train", "d.csv", "--target", "out", "--id", "id", "--effort", "off", "-o", "m.karma", "--quiet")
        commas = self.ok("predict", "m.karma", "d.csv")
        self.save([line.replace(",", ";") for line in self.lines()], "points.csv")
        points = self.ok("predict", "m.karma", "points.csv", notes=["decimal points here, but had decimal commas when the model"])
        self.assertEqual(points.out, commas.out)
        self.ok("train", "points.csv", "--target", "out", "--id", "id", "--effort", "off", "-o", "m.karma", "--quiet")
        self.assertRegex(self.run_karma("predict", "m.karma", "d.csv", "--decimal", ",").err, "--decimal is ',' here, but was '.' when")

    def test_signs_around_numbers(self):
        self.save(self.lines("{},{:.2f}%,${:.2f},{}"))
        self.check_numbers(["'b' is numbers: the currency sign of 60 cells is left out"])
        self.save(self.lines("{},{:.2f},{:.2f},{}")[:-1] + ["60,12%,$1,yes"])
        self.columns(notes=["'age' is numbers: 1 of 60 have a percent sign", "'b' is numbers: the currency sign of 1 cell is"])
        self.save(self.lines()[:-2] + ["60,12,$1,yes", "61,13,€1,no"])
        self.columns(notes=["'b' is numbers with signs of several currencies"])
        self.save([line.replace("-", "\u2212") for line in self.lines()])
        self.check_numbers()

    def test_negative_numbers_in_parentheses(self):
        """Accounting: (1,234.50) is -1234.5. With a sign, nothing or another pair inside, it is not a number."""
        form = lambda x: f'"({-x:,.2f})"' if x < 0 else f"{x:.2f}"
        draw = random.Random(8)
        values = [draw.gauss(0, 2000) for _ in range(60)]
        self.save(["id,b,out"] + [f"{i},{form(x)},{'yes' if x > 0 else 'no'}" for i, x in enumerate(values)])
        n = sum(form(x).startswith('"') for x in values)
        columns, _ = self.columns("--id", "id", notes=[rf"'b' is numbers: {n} cells in parentheses or with a minus sign behind are read as negative\. Use --category 'b'"])
        self.assertEqual(columns["b"]["type"], "number")
        self.close_to(columns["b"]["min"], min(float(f"{x:.2f}") for x in values), 1e-9, "the least")
        for text in ("(-5)", "()", "((5))", "(+5)", "(<5)", "(x)"):
            self.save(["id,b,out"] + [f"{i},{text if i % 2 else i},{'yes' if i % 3 else 'no'}" for i in range(60)])
            self.assertEqual(self.columns("--id", "id", notes=["'b' is read as categories"])[0]["b"]["type"], "category")

    def test_codes_for_missing_values(self):
        draw = random.Random(9)
        answer = lambda i, code: code if i % 9 == 0 else draw.randint(1, 5)
        rows = [[answer(i, 99), draw.gauss(50, 20), i % 2 and 9 or draw.randint(0, 8), "yes" if i % 3 else "no"] for i in range(90)]
        self.write_csv("d.csv", ["q", "age", "count", "out"], rows)
        found = self.columns()[1]
        self.assertIn("column 'q' has 99 in 10 rows, far from all its other values", found)
        self.assertIn("'missing' '99'", found)
        self.assertNotRegex(found, "'(age|count)' has")
        run = self.run_karma("train", "d.csv", "--target", "out", "--effort", "off", "-o", "m.karma")
        self.assertRegex(run.err, "note: column 'q' has 99 in 10 rows")
        self.assertNotRegex(self.columns("--missing", "99")[1], "far from all")

    def test_dates_of_several_forms(self):
        forms = ["2023-{m:02d}-{d:02d}", "{d:02d}/{m:02d}/2023", "{m}/{d}/23"]
        rows = [[forms[i % 3].format(m=1 + i % 12, d=1 + i % 28), i % 7, "yes" if i % 5 else "no"] for i in range(90)]
        self.write_csv("d.csv", ["when", "a", "out"], rows)
        self.assertIn("column 'when' looks like dates ('01/05/2023'), but not all in a form that is read as dates", self.columns()[1])
        self.write_csv("d.csv", ["when", "a", "out"], [[f"10.0.{i % 9}.{i % 30}", i % 7, y] for i, (_, _, y) in enumerate(rows)])
        self.assertNotRegex(self.columns()[1], "looks like dates")

    def test_two_lines_of_header(self):
        self.save(["Patient,,Blood,Outcome"] + ["id,age,sodium,dead"] + self.lines()[1:])
        notes = ["'Patient' is read as", "'c2' is read as", "'Blood' is read as"]
        found = " ".join(self.ok("inspect", "d.csv", "--target", "Outcome", "--json", notes=notes).json()["findings"])
        self.assertIn("the first row looks like a second line of the header: it has texts where 3 columns", found)

    def test_one_class(self):
        self.save([line.replace("yes", "no") for line in self.lines()])
        self.assertIn("target 'out': all rows have the same label", self.columns()[1])

    def test_what_is_worth_a_look(self):
        self.save(self.lines() + ["Total,2640,3.5,"])
        _, found = self.columns(notes=["'id' is read as categories: 60 cells are numbers, but 1 is not"])
        self.assertIn("the last row looks like a total ('Total')", found)
        self.assertIn("1 of 61 rows has no label", found)
        self.assertNotRegex(found, "'id' looks like an identifier")
        self.save([line.replace("yes", "YES") if i % 2 else line for i, line in enumerate(self.lines())])
        self.assertRegex(self.columns()[1], "the classes 'YES' and 'yes' differ only in upper and lower case")
        self.save(self.lines("{},{},{},"))
        self.assertIn("no row has a label", self.columns()[1])

    def test_train_prints_what_inspect_finds_once(self):
        rng = random.Random(4)
        rows = [[rng.gauss(0, 1), 7, rng.choice("pq")] for _ in range(200)]
        full = [[a, a if i % 3 else None, same, None if y == "p" and i % 2 else 1 + i % 5, "Ab" if i % 2 else "aB", y]
                for i, (a, same, y) in enumerate(rows)]
        self.write_csv("d.csv", ["a", "twin", "same", "gap", "word", "y"], full)
        self.ok("train", "d.csv", "--target", "y", "--effort", "off", "-o", "m.karma",
                notes=["constant: 'same'; copies of other columns: 'twin'; missing values that go with the target: 'gap'; "
                       "categories that may mean the same: 'word'$"])

    def test_ordered_categories_at_predict(self):
        """A level of the order is not outside a range; one that is not in it is unseen; explain shows the level."""
        rows = [[i % 7, ["low", "mid", "high"][i % 3], "yes" if i % 7 > 3 else "no"] for i in range(60)]
        self.write_csv("d.csv", ["a", "size", "y"], rows)
        self.ok("train", "d.csv", "--target", "y", "--ordered", "size=low<mid<high", "--effort", "off", "-o", "m.karma", "--quiet")
        run = self.ok("predict", "m.karma", "d.csv", "--flags")
        self.assertEqual(run.notes(about_cells=True), [])
        self.assertEqual({row[-1] for row in run.rows()[1:]}, {""})
        self.write_csv("new.csv", ["a", "size"], [[1, "huge"], [2, "mid"]])
        said = r"cells unlike the training rows: 'size' 1 with an unseen category \(read as missing\)$"
        run = self.ok("predict", "m.karma", "new.csv", "--flags", notes=[said])
        self.assertEqual([row[-1] for row in run.rows()[1:]], ["size: unseen", ""])
        parts = self.ok("explain", "m.karma", "new.csv", notes=[said]).rows()
        self.assertEqual([row[3] for row in parts if row[2] == "size"], ["mid"])

    def test_a_model_shows_how_it_reads(self):
        self.save(self.lines("{},{:.2f},-999,{}"))
        self.ok("train", "d.csv", "--target", "out", "--id", "id", "--missing", "-999", "--effort", "off", "-o", "m.karma", "--quiet")
        self.assertIn("reads new files with --id 'id', --missing '-999', --decimal '.'", self.ok("inspect", "m.karma").out)
        self.assertEqual(self.ok("inspect", "m.karma", "--json").json()["reading"], {"id": "id", "missing": "-999", "decimal": "."})


class Libsvm(Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(4)
        lines = []
        for _ in range(60):
            x = [rng.gauss(0, 1) for _ in range(4)]
            kept = [i for i in range(4) if rng.random() < 0.7]
            label = "+1" if x[0] + x[1] > 0 else "-1"
            lines.append(label + "".join(f" {i + 1}:{x[i]:.4f}" for i in kept) + (" # remark" if rng.random() < 0.2 else ""))
        self.write("d.svm", "# head\n\n" + "\n".join(lines) + "\n")
        self.lines = lines

    def test_absent_is_required(self):
        self.fails("train", "--effort", "off", "d.svm", "--target", "target", "-o", "m.karma", code=2, says="--absent zero or --absent missing")
        self.fails("gram", "d.svm", code=2, says="--absent")

    def test_absent_zero_and_missing(self):
        table = {}
        for absent, hole in (("zero", 0.0), ("missing", None)):
            rows = []
            for line in self.lines:
                cells = dict(pair.split(":") for pair in line.split("#")[0].split()[1:])
                rows.append([cells.get(str(i), hole) for i in range(1, 5)] + [line.split()[0]])
            self.write_csv("same.csv", ["1", "2", "3", "4", "target"], rows)
            self.ok("train", "--effort", "off", "d.svm", "--target", "target", "--absent", absent, "-o", "m.karma", "--quiet")
            self.ok("train", "--effort", "off", "same.csv", "--target", "target", "-o", "n.karma", "--quiet")
            table[absent] = self.ok("predict", "m.karma", "d.svm", "--absent", absent).out
            self.assertEqual(table[absent], self.ok("predict", "n.karma", "same.csv").out)
            share = self.ok("inspect", "d.svm", "--absent", absent, "--json").json()["missing"]
            self.assertEqual(share == 0.0, absent == "zero")
        self.assertNotEqual(table["zero"], table["missing"])
        self.assertEqual({row.split(",")[0] for row in table["zero"].splitlines()[1:]}, {"+1", "-1"})

    def test_formats(self):
        self.ok("train", "--effort", "off", "d.svm", "--target", "target", "--absent", "missing", "-o", "m.karma", "--quiet")
        expected = self.ok("predict", "m.karma", "d.svm", "--absent", "missing").out
        self.write("d.libsvm.gz", gzip.compress(self.read("d.svm")))
        self.assertEqual(self.ok("predict", "m.karma", "d.libsvm.gz", "--absent", "missing").out, expected)
        run = self.ok("predict", "m.karma", "-", "--format", "libsvm", "--absent", "missing", stdin=self.read("d.svm"))
        self.assertEqual(run.out, expected)
        self.ok("eval", "m.karma", "d.svm", "--absent", "missing")


class Ratings(Case):
    """Two tastes: the first half of the items is liked by one kind of user, the second half by the other."""
    items = 16
    reading = ("--format", "ratings")

    def setUp(self):
        super().setUp()
        rng = random.Random(6)
        self.kinds, triplets = {}, []
        for user in rng.sample(range(1000), 90):
            self.kinds[str(user)] = kind = rng.choice("fm")
            for item in rng.sample(range(self.items), rng.randrange(6, 12)):
                liked = (item < self.items / 2) == (kind == "f")
                triplets.append([user, item + 1, round((4 if liked else 2) + rng.gauss(0, 0.5), 1)])
        rng.shuffle(triplets)
        self.triplets = triplets
        self.write_csv("r.csv", ["viewer", "film", "stars"], triplets)
        people = [[user, rng.randrange(20, 70), kind] for user, kind in self.kinds.items()]
        self.people = people + [["nobody", 33, ""]]
        self.write_csv("users.csv", ["id", "age", "sex"], self.people)

    def test_label_of_users(self):
        given = (*self.reading, "--users", "users.csv")
        run = self.ok("train", "--effort", "off", "r.csv", *given, "--target", "sex", "-o", "m.karma", notes=["1 of 91 rows has no label"])
        self.assertIn(f"learned from 90 rows and {self.items + 1} columns", run.out)
        columns = self.ok("inspect", "m.karma", "--json").json()["columns"]
        self.assertEqual([c["name"] for c in columns], ["age"] + [str(i + 1) for i in range(self.items)])
        out = self.ok("predict", "m.karma", "r.csv", *given).rows()
        self.assertEqual(out[0], ["viewer", "prediction", "score"])
        self.assertEqual([row[0] for row in out[1:]], [str(person[0]) for person in self.people])
        self.assertGreater(sum(self.kinds.get(row[0]) == row[1] for row in out[1:]), 85)
        self.assertGreater(self.ok("eval", "m.karma", "r.csv", *given, "--json").json()["accuracy"], 0.95)
        alone = self.ok("predict", "m.karma", "r.csv", *self.reading, notes=["the data lack count as missing: 'age'$"]).rows()
        self.assertEqual([row[0] for row in alone[1:]], list(dict.fromkeys(str(t[0]) for t in self.triplets)))
        self.fails("eval", "m.karma", "r.csv", *self.reading, code=2, says="column of the label 'sex': --users FILE")

    def test_same_as_a_wide_table(self):
        """A table of ratings equals a CSV file with one column per item."""
        wide = {str(person[0]): {} for person in self.people}
        for user, item, rating in self.triplets:
            wide[str(user)][item] = rating
        rows = [person + [wide[str(person[0])].get(i + 1) for i in range(self.items)] for person in self.people]
        self.write_csv("wide.csv", ["viewer", "age", "sex"] + [str(i + 1) for i in range(self.items)], rows)
        for options in ([], ["--ignore", "age", "--ignore", "5"]):
            a = self.ok("gram", "wide.csv", "--id", "viewer", "--target", "sex", *options).out
            b = self.ok("gram", "r.csv", *self.reading, "--users", "users.csv", "--target", "sex", *options).out
            self.assertEqual(a, b)

    def test_two_targets_and_weights(self):
        """They come from the file of users; a user who is not in it has no label and the weight 1."""
        rng = random.Random(7)
        people = [person + [rng.choice([0, 1, 2.5])] for person in self.people[1:]]
        self.write_csv("weighed.csv", ["id", "age", "sex", "n"], people)
        wide = {str(person[0]): {} for person in self.people}
        for user, item, rating in self.triplets:
            wide[str(user)][item] = rating
        rows = [person + [wide[str(person[0])].get(i + 1) for i in range(self.items)]
                for person in people + [[self.people[0][0], "", "", 1]]]
        self.write_csv("wide.csv", ["viewer", "age", "sex", "n"] + [str(i + 1) for i in range(self.items)], rows)
        users = (*self.reading, "--users", "weighed.csv")
        said = ("--target", "sex,age", "--row-weight", "n")
        self.assertEqual(self.ok("gram", "r.csv", *users, *said).out, self.ok("gram", "wide.csv", "--id", "viewer", *said).out)
        report = self.ok("inspect", "r.csv", *users, *said, "--json").json()
        self.assertEqual(([t["name"] for t in report["targets"]], report["row_weight"]), (["sex", "age"], "n"))
        self.ok("train", "--effort", "off", "r.csv", *users, *said, "-o", "a.karma", "--quiet")
        self.ok("train", "--effort", "off", "wide.csv", "--id", "viewer", *said, "-o", "b.karma", "--quiet")
        out = self.ok("predict", "a.karma", "r.csv", *users, "--ignore", "n").rows()
        self.assertEqual(out[0], ["viewer", "prediction:sex", "score:sex", "prediction:age", "score:age"])
        self.assertEqual(out, self.ok("predict", "b.karma", "wide.csv", "--id", "viewer", "--ignore", "n").rows())
        weighed = self.ok("eval", "a.karma", "r.csv", *users, "--row-weight", "n", "--json").json()
        self.assertEqual(weighed, self.ok("eval", "b.karma", "wide.csv", "--id", "viewer", "--row-weight", "n", "--json").json())
        self.assertGreater(weighed["targets"]["sex"]["accuracy"], 0.9)
        self.assertNotEqual(weighed, self.ok("eval", "a.karma", "r.csv", *users, "--ignore", "n", "--json").json())
        liked = ("--item", "3", "--like", "3", "--row-weight", "n")
        self.ok("train", "--effort", "off", "r.csv", *users, *liked, "-o", "c.karma", "--quiet")
        self.ok("eval", "c.karma", "r.csv", *users, *liked)

    def test_like(self):
        said = (*self.reading, "--item", "3", "--like", "3")
        raters = {str(user): rating >= 3 for user, item, rating in self.triplets if item == 3}
        left_out = f"{90 - len(raters)} of 90 rows have no label in column 'like:3'"
        run = self.ok("train", "--effort", "off", "r.csv", *said, "-o", "m.karma", "--json", notes=[left_out])
        self.assertEqual((run.json()["target"], run.json()["classes"]), ("like:3", ["no", "yes"]))
        self.assertEqual(run.json()["attributes"], self.items - 1)
        out = self.ok("predict", "m.karma", "r.csv", *self.reading).rows()[1:]
        self.assertGreater(sum(("yes" if raters[user] else "no") == guess for user, guess, _ in out if user in raters),
                           0.9 * len(raters))
        self.assertEqual(self.ok("predict", "m.karma", "r.csv", *said).rows()[1:], out)
        report = self.ok("eval", "m.karma", "r.csv", *said, "--json").json()
        self.assertEqual((report["rows"], report["rows_without_label"]), (len(raters), 90 - len(raters)))
        self.fails("eval", "m.karma", "r.csv", *self.reading, code=2, says="column of the label 'like:3': .*--item ID")

    def test_ways_of_writing(self):
        self.ok("train", "--effort", "off", "r.csv", *self.reading, "--item", "3", "--like", "3", "-o", "m.karma", "--quiet")
        expected = self.ok("predict", "m.karma", "r.csv", *self.reading).rows()[1:]
        text = self.read("r.csv").decode()
        body = text.split("\n", 1)[1]
        for name, content, options in (("r.csv.gz", gzip.compress(text.encode()), []),
                                       ("r.dat", body.replace(",", "::"), ["--header", "off"]),
                                       ("r.data", body.replace(",", "\t"), ["--header", "off"]),
                                       ("r.txt", text.replace(",", "::"), ["--delimiter", "::"]),
                                       ("r.pipe", text.replace(",", "|").replace("\n", "|9\r\n"), [])):
            with self.subTest(name):
                self.write(name, content)
                self.assertEqual(self.ok("predict", "m.karma", name, *self.reading, *options).rows()[1:], expected)
        self.assertEqual(self.ok("predict", "m.karma", "-", *self.reading, stdin=text).rows()[1:], expected)

    def test_packed_users(self):
        self.write("users.csv.gz", gzip.compress(self.read("users.csv")))
        a, b = (self.ok("gram", "r.csv", *self.reading, "--users", users, "--target", "sex").out
                for users in ("users.csv", "users.csv.gz"))
        self.assertEqual(a, b)

    def test_wrong_usage(self):
        train = ("train", "--effort", "off", "r.csv", "-o", "m.karma")
        for options, says in ((["--users", "users.csv"], "--users is for rating data, which need --format ratings"),
                              (["--item", "3"], "--item is for rating data"), (["--like", "3"], "--like is for rating data"),
                              ([*self.reading], "--target COL, or --item ID and --like THRESHOLD"),
                              ([*self.reading, "--target", "sex"], "--target .* needs --users"),
                              ([*self.reading, "--row-weight", "n"], "--row-weight .* needs --users"),
                              ([*self.reading, "--item", "3"], "--item needs --like"),
                              ([*self.reading, "--like", "x"], "--like takes THRESHOLD, numbers from")):
            with self.subTest(options):
                self.fails(*train, *options, code=2, says=says)
        self.fails(*train, *self.reading, "--item", "33", "--like", "3", says="r.csv: no item '33'")
        self.fails(*train, *self.reading, "--users", "no.csv", "--target", "sex", says="no.csv: ")
        self.fails("predict", "m.karma", "r.csv", *self.reading, "--users", "users.csv", "-o", "users.csv", code=2,
                   says="would overwrite the input")
        self.write("bad.csv", "u,i,r\n1,2,3\n1,3,great\n")
        self.fails("inspect", "bad.csv", *self.reading, says="bad.csv: line 3, column 'r': 'great' is not a number")


class Inspecting(Case):
    def test_table(self):
        rows = self.two_classes()
        report = self.ok("inspect", "two.csv", "--target", "answer", "--json").json()
        self.assertEqual([report["kind"], report["rows"], report["attributes"]], ["table", 120, 3])
        holes = [sum(row[j] is None for row in rows) for j in range(3)]
        self.close_to(report["missing"], sum(holes) / 360, 1e-12)
        for j, column in enumerate(report["columns"]):
            cells = [row[j] for row in rows if row[j] is not None]
            self.assertEqual([column["name"], column["observed"]], [["a", "b", "colour"][j], len(cells)])
            self.close_to(column["missing"], holes[j] / 120, 1e-12)
            if j < 2:
                self.assertEqual(column["type"], "number")
                self.assertEqual([column["min"], column["max"]], [min(cells), max(cells)])
                self.close_to(column["mean"], sum(cells) / len(cells), 1e-9)
            else:
                self.assertEqual([column["type"], column["levels"]], ["category", 3])
        patterns = {}
        for row in rows:
            key = tuple(name for name, cell in zip(["a", "b", "colour"], row) if cell is None)
            patterns[key] = patterns.get(key, 0) + 1
        self.assertEqual({tuple(p["missing"]): p["rows"] for p in report["patterns"]}, patterns)
        self.assertEqual(report["distinct_patterns"], len(patterns))
        counts = [p["rows"] for p in report["patterns"]]
        self.assertEqual(counts, sorted(counts, reverse=True))
        text = self.ok("inspect", "two.csv", "--target", "answer").out
        for word in ("120 rows", "colour", "category", "3 levels", "patterns of missing values", "target answer"):
            self.assertIn(word, text)

    def test_norms(self):
        self.write("n.csv", "a,b\n3,4\n0,0.5\n")
        norms = self.ok("inspect", "n.csv", "--standardise", "off", "--json").json()["norms"]
        self.assertEqual([norms["above_one"], norms["rows"]], [1, 2])
        self.close_to(norms["largest"], 5.0)
        norms = self.ok("inspect", "n.csv", "--standardise", "off", "--unit-ball", "on", "--json").json()["norms"]
        self.assertEqual(norms["above_one"], 0)
        self.close_to(norms["largest"], 1.0)

    def test_all_missing_table_can_be_looked_at(self):
        self.write("e.csv", "a,b\n,\nNA,?\n")
        self.assertEqual(self.ok("inspect", "e.csv", "--json").json()["missing"], 1.0)
        self.assertIn("none observed", self.ok("inspect", "e.csv").out)

    def test_model(self):
        rows = self.two_classes()
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--gamma", "3", "--C", "7.5", "-o", "m.karma", "--quiet")
        report = self.ok("inspect", "m.karma", "--json").json()
        self.assertEqual([report["kind"], report["target"], report["task"]], ["model", "answer", "classify"])
        self.assertEqual([report["rows"], report["C"], report["options"]["gamma"]], [120, 7.5, 3])
        self.assertEqual(report["columns"], [{"name": "a", "type": "number"}, {"name": "b", "type": "number"},
                                             {"name": "colour", "type": "category"}])
        self.assertEqual(report["classes"], {c: sum(row[-1] == c for row in rows) for c in ("no", "yes")})
        text = self.ok("inspect", "m.karma").out
        for word in ("'answer'", "gamma 3", "category of 3 levels", "no ", "yes"):
            self.assertIn(word, text)

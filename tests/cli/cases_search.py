"""Choosing a model: what train, inspect and cv report, as text and JSON, and which options turn the search on or off."""
import math
import os
import random
import re
import signal

from case import KARMA, Case

QUICK = ("--effort", "quick")


class Searching(Case):
    def searched(self, *more, table="two.csv", target="answer"):
        """The only notes are about the table, a target of numbers or no subspace, and a shortened last fit."""
        run = self.run_karma("train", table, "--target", target, "-o", "m.karma", *more)
        self.assertEqual([run.code, run.complaints()], [0, []], str(run))
        for note in run.notes():
            self.assertRegex(note, r"taken as a quantity|GB of memory|no subspace was found|did not converge: its objective may be (up to \d+%|far) above")
        return run

    def check_account(self, cv, rows, folds=5):
        """Checks that the numbers of an account agree."""
        self.assertEqual([cv["rows"], cv["rows_searched"], cv["n_folds"]], [rows, rows, folds])
        self.assertEqual(len(cv["folds"]), folds * cv["n_repeats"])
        self.close_to(sum(cv["folds"]) / len(cv["folds"]), cv["score"], 1e-9, "the mean of the folds")
        n = len(cv["folds"])
        squares = sum((value - cv["score"]) ** 2 for value in cv["folds"])
        self.close_to(math.sqrt(squares / (n - 1) / folds), cv["error"], 1e-9, "its error")
        zero = cv["zero_imputation"]
        self.assertEqual(len(zero["folds"]), n)
        self.close_to(sum(zero["folds"]) / n, zero["score"], 1e-9, "0-imputation")
        self.assertGreaterEqual(cv["kernels"], cv["kernels_to_the_end"])
        self.assertGreater(cv["candidates_tried"], cv["kernels"])
        self.assertEqual(sum(c["chosen"] for c in cv["candidates"]), cv["members"])
        for gain in cv["gains"].values():
            self.assertEqual(set(gain), {"gain", "error"})
        self.assertIs(cv["cut_short"], False)

    def test_a_large_table_is_checked(self):
        self.two_classes(n=1300)
        run = self.run_karma("train", "two.csv", "--target", "answer", "-o", "m.karma", *QUICK, "--json")
        cv = run.json()["cv"]
        self.assertEqual(cv["rows_searched"] + cv["check"]["rows_learned"], 1300)
        self.assertEqual(cv["check"]["rows"], cv["rows_searched"])
        self.assertGreaterEqual(cv["check"]["score"], cv["score"] - 0.1)
        self.assertEqual(self.run_karma("inspect", "m.karma", "--json").json()["cv"]["check"], cv["check"])
        self.assertRegex(self.run_karma("inspect", "m.karma").out, r"check +0\.\d{4} \+- ")

    def test_memory_is_held(self):
        """12,000 rows against 1,049 landmarks: kernel values and matrices take 75 MB, and with --memory 20."""
        self.ok("synth", "--rows", "12000", "--dim", "12", "--rank", "3", "--missing", "0.3", "--seed", "1", "-o", "l.csv")
        command = ("train", "l.csv", "--target", "target", "-o", "l.karma", "--effort", "off", "--outer", "rbf", "--gamma", "1",
                   "--solver", "nystrom", "--threads", "1", "--json")
        free = self.run_karma(*command).json()
        held = self.run_karma(*command, "--memory", "0.02").json()
        self.assertEqual([free["stop"], held["stop"]], ["converged", "converged"])
        self.assertLess(held["landmarks"]["count"], free["landmarks"]["count"])
        if "sanitize" not in KARMA:  # which keeps freed memory
            self.assertLess(held["peak_bytes"], free["peak_bytes"] / 2)

    def test_what_did_not_converge_is_the_first_line(self):
        self.two_classes(n=200)
        command = ("train", "two.csv", "--target", "answer", "-o", "m.karma", "--effort", "off", "--outer", "rbf", "--C", "1e7",
                   "--passes", "1", "--solver", "batch")
        run = self.run_karma(*command)
        self.assertRegex(run.out.splitlines()[0], r"^warning: the model did not converge: its objective may be (up to \d+%|far) above the minimum, .*--passes")
        self.assertIn("did not converge", self.run_karma(*command, "--json").json()["warning"])
        self.assertIn("did not converge", self.run_karma("inspect", "m.karma", "--json").json()["warning"])

    def test_train_searches_by_default(self):
        rows = self.two_classes(n=60)
        run = self.searched()
        number = r"(-?\d+\.\d+)"
        score = re.search(rf"(?m)^  accuracy +{number} \+- {number} +cross-validated; optimistic", run.out)
        self.assertTrue(score, run.out)
        constant = re.search(rf"(?m)^  baseline +{number} +always the most common class$", run.out)
        zero = re.search(rf"(?m)^  0-imputation +{number} \+- {number} +", run.out)
        self.assertTrue(constant and zero, run.out)
        self.assertRegex(run.out, r"(?m)^  (Not clearly b|B)etter than 0-imputation \(by -?\d")
        self.assertRegex(run.out, r"(?m)^  target +answer, 2 classes with probabilities: \w+ \d+, \w+ \d+$")
        self.assertRegex(run.out, r"(?m)^  Next: karma predict m.karma NEW; karma cv two.csv ")
        self.assertLessEqual(len(run.out.splitlines()), 8)  # kernels and weights are for --verbose and inspect
        self.assertNotRegex(run.out, "gamma=|C times")
        told = self.searched("--verbose")
        self.assertRegex(told.err, r"this may take up to \S+ GB of memory; --memory limits")
        told = told.out
        self.assertRegex(told, r"(?m)^  tried          \d+ candidates of \d+ kernels on \d x 5 folds, ")
        folds = re.search(r"(?m)^  folds          (.*)$", told).group(1).replace("...", "").split()
        self.assertGreaterEqual(len(folds), 5)
        self.assertRegex(told, r"(?m)^  gains          the score of .*\n    gamma > 1 +[+-]\d")
        self.assertRegex(told, r"(?m)^    any of ranks, outer maps, trees +[+-]\d+\.\d+ \+- ")
        members = re.search(r"(?m)^  learned        (\d+) of the candidates together\n +\d+\.\d%  \S", told)
        self.assertTrue(members, told)
        answers = [row[-1] for row in rows]
        majority = max(answers.count("yes"), answers.count("no")) / 60
        self.close_to(float(constant.group(1)), majority, 1e-3, "the constant prediction")
        # inspect shows the same, and JSON agrees with the text
        verbose, told = told, self.ok("inspect", "m.karma").out
        for line in verbose.splitlines()[1:-2]:
            self.assertIn(re.sub(r"(folds.*), \d+\.\d s", r"\1", line), told)  # files do not keep the time
        cv = self.ok("inspect", "m.karma", "--json").json()["cv"]
        self.close_to(cv["score"], float(score.group(1)), 1e-4, "score")
        self.close_to(cv["error"], float(score.group(2)), 1e-4, "error")
        self.assertEqual(cv["members"], int(members.group(1)))
        self.close_to(cv["constant_answer"], majority, 1e-9, "the constant prediction")
        self.close_to(cv["zero_imputation"]["score"], float(zero.group(1)), 1e-4, "0-imputation")
        self.check_account(cv, 60)
        self.assertEqual(cv["n_repeats"], 3)  # few rows are left out more than once
        # and the model predicts
        self.assertEqual(len(self.ok("predict", "m.karma", "two.csv").rows()), 61)

    def test_compact_models_keep_few_rows(self):
        self.two_classes(n=300, holes=0.1)
        full = self.searched(*QUICK).out
        rows = int(re.search(r"The file contains (\d+) of the 300 training rows", full).group(1))
        score = float(re.search(r"accuracy +(\d\.\d+)", full).group(1))
        run = self.searched(*QUICK, "--compact").out
        self.assertIn("The file contains 30 of the 300 training rows.", run)
        self.assertLess(30, rows)
        self.assertGreater(float(re.search(r"accuracy +(\d\.\d+)", run).group(1)), score - 0.05)
        got = self.ok("inspect", "m.karma", "--json").json()
        self.assertEqual([got["solver"], got["support_rows"]], ["nystrom", 30])
        self.assertIn("cv", got)
        run = self.searched(*QUICK, "--compact", "--landmarks", "12").out
        self.assertIn("The file contains 12 of the 300 training rows.", run)
        self.fails("train", "two.csv", "--target", "answer", "-o", "x.karma", "--compact", "--solver", "batch", code=2,
                   says="--compact needs --solver nystrom")

    def test_leaves_are_no_training_rows(self):
        """A model of boosted trees has a support row for each leaf, often more than there were rows to learn from."""
        self.two_classes(n=200)
        for kernel, kept in (("boost @ 0:1", 0), ("rank(outer=rbf)", None), ("rank(outer=rbf) @ 1:0.5 | boost @ 0:0.5", None)):
            run = self.ok("train", "two.csv", "--target", "answer", "-o", "m.karma", "--kernel", kernel)
            found = re.search(r"The file contains (\d+) of the (\d+) training rows", run.out)
            n = int(found.group(1)) if found else 0
            self.assertLessEqual(n, 200, run.out)
            self.assertIn(f"learned from 200 rows, keeps {n} of them", self.ok("inspect", "m.karma").out)
            if kept is None:
                self.assertGreater(n, 20)
            else:
                self.assertEqual(n, kept)
                self.assertGreater(self.ok("inspect", "m.karma", "--json").json()["support_rows"], 0)

    def test_a_time_limit_is_reported_once(self):
        """The words agree with the counts, whatever the machine had time for."""
        self.two_classes(n=400)
        hurried = ("two.csv", "--target", "answer", "--time", "0.05", "--effort", "thorough")
        run = self.run_karma("train", *hurried, "-o", "m.karma")
        self.assertEqual([run.code, run.complaints()], [0, []], str(run))
        cv = self.ok("inspect", "m.karma", "--json").json()["cv"]
        self.assertIs(cv["cut_short"], True)
        n, of = len(cv["folds"]), cv["n_folds"] * cv["n_repeats"]
        said = re.findall(r"(?m)^  Cut short by the time limit(.*)$", run.out)
        self.assertEqual(len(said), 1, run.out)
        self.assertEqual(said[0].startswith(f" after {n} of {of} folds: more time"), n < of, run.out)
        self.assertEqual(said[0].startswith(": some kernels were not tried on all folds."), n == of, run.out)
        line = re.search(r"(?m)^  accuracy .*$", run.out).group()
        self.assertEqual("+-" in line, n > 1, line)  # one fold has no standard error
        self.assertEqual(cv["error"] is None, n == 1, str(cv["error"]))
        self.assertNotRegex(run.out, r"\bnan\b")
        self.assertLessEqual((run.out + run.err).count("did not converge"), 1, str(run)) # said once
        run = self.run_karma("cv", *hurried, "--folds", "2")
        self.assertIn("the search was cut short by the time limit in 2 of 2 folds", run.out)
        run = self.run_karma("compare", "two.csv", "--target", "answer", "--methods", "karma-auto,zero", "--folds", "2", "--time", "0.3",
                             "--effort", "thorough")
        self.assertRegex(run.out, r"karma-auto +(failed: out of time|its search was cut short by the time limit in [12] of 2 folds)")

    def test_one_plain_sentence(self):
        """Whether missing cells and kernels mattered: with noise, with a linear rule, and where ranks are needed."""
        rng = random.Random(5)
        rows = [[round(rng.gauss(0, 1), 3), round(rng.gauss(0, 1), 3)] for _ in range(80)]
        self.write_csv("noise.csv", ["a", "b", "y"], [r + [rng.choice("pq")] for r in rows])
        run = self.searched(*QUICK, table="noise.csv", target="y")
        self.assertRegex(run.out, r"(?m)^  Not clearly better than a constant prediction: ")
        self.assertRegex(self.ok("cv", "noise.csv", "--target", "y", "--effort", "off").out,
                         r"(?m)^  Not clearly better than a constant prediction: ")
        self.write_csv("line.csv", ["a", "b", "y"], [r + ["p" if r[0] + r[1] > 0 else "q"] for r in rows])
        run = self.searched(*QUICK, table="line.csv", target="y")
        self.assertRegex(run.out, r"(?m)^  Not (clearly )?better than 0-imputation .*: no cell is missing, and nonlinear kernels did not")
        self.write_csv("ring.csv", ["a", "b", "y"], [r + ["p" if r[0] ** 2 + r[1] ** 2 > 1 else "q"] for r in rows])
        run = self.searched(*QUICK, table="ring.csv", target="y")
        self.assertRegex(run.out, r"(?m)^  Better than 0-imputation \(by 0\.\d+ \+- 0\.\d+\): nonlinear kernels mattered")
        self.write_csv("holes.csv", ["a", "b", "c", "y"],
                       [["" if rng.random() < 0.1 else cell for cell in r[:2] + [rng.random()]] + ["p" if r[0] ** 2 + r[1] ** 2 > 1 else "q"]
                        for r in rows])
        run = self.searched(*QUICK, "--verbose", table="holes.csv", target="y")
        self.assertIn(": nonlinear kernels mattered (ranks, outer maps, trees), but the treatment of missing values did not.", run.out)
        # ranks, maps and trees replace each other here: what they add shows in the group
        group = re.search(r"(?m)^    any of ranks, outer maps, trees +\+(\d\.\d+) \+- (\d\.\d+)$", run.out)
        self.assertGreater(float(group.group(1)), 2 * float(group.group(2)))

    def test_several_targets_have_a_line_each(self):
        """Accuracy and R2 are not averaged; each target has its own scores, also in JSON and in the file."""
        rows = self.quantity(n=60)
        self.write_csv("both.csv", ["a", "b", "c", "price", "dear"],
                       [row + ["yes" if row[-1] > 100 else "no"] for row in rows])
        run = self.searched(*QUICK, table="both.csv", target="price,dear")
        self.assertNotIn("accuracy and R2", run.out)
        number = r"(-?\d+\.\d+)"
        r2 = re.search(rf"(?m)^  R2 +{number} \+- {number} +baseline {number}, 0-imputation {number} \+- ", run.out)
        accuracy = re.search(rf"(?m)^  accuracy +{number} \+- {number} +baseline {number}, 0-imputation {number} \+- ", run.out)
        self.assertTrue(r2 and accuracy, run.out)
        cv = self.ok("inspect", "m.karma", "--json").json()["cv"]
        self.assertEqual([t["goal"] for t in cv["targets"]], ["R2", "accuracy"])
        for found, told in zip((r2, accuracy), cv["targets"]):
            self.close_to(float(found.group(1)), told["score"], 1e-4)
            self.close_to(float(found.group(3)), told["constant_answer"], 1e-4)
            self.close_to(float(found.group(4)), told["zero_imputation"]["score"], 1e-4)
        self.close_to(sum(t["score"] for t in cv["targets"]) / 2, cv["score"], 1e-9, "the mean that chose")
        share = sum(row[-1] > 100 for row in rows) / len(rows)
        self.close_to(cv["targets"][1]["constant_answer"], max(share, 1 - share), 1e-9)

    def test_quantiles_have_a_baseline(self):
        rows = self.quantity(n=100)
        got = self.ok("cv", "price.csv", "--target", "price", "--quantile", "0.2,0.8", "--effort", "off", "--json",
                      notes=["quantity"]).json()
        target = got["targets"][0]
        self.assertEqual(target["goal"], "pinball loss")
        labels = sorted(row[-1] for row in rows)
        constants = [labels[math.ceil(q * 100) - 1] for q in (0.2, 0.5, 0.8)]
        whole = sum(max(q * (y - c), (q - 1) * (y - c)) for y in labels for q, c in zip((0.2, 0.5, 0.8), constants)) / 300
        mean = sum(target["constant_answer"]) / len(target["constant_answer"])
        self.assertLess(abs(mean - whole), 0.1 * whole)  # that of all rows, seen; folds are other rows
        self.assertLess(target["score"], 0.5 * mean)
        self.assertRegex(self.ok("cv", "price.csv", "--target", "price", "--quantile", "0.2,0.8", "--effort", "off",
                                 "--quiet").out, r"pinball loss .*a constant prediction: \d+\.\d+, less is better\n")

    def test_log_loss_has_a_baseline(self):
        """Always giving the shares of the classes: in cv those of the training rows, on the rows that are left out."""
        rows = self.three_classes(n=90)
        command = ("three.csv", "--target", "tree", "--goal", "log-loss", "--effort", "off")
        run = self.ok("cv", *command, "--probabilities", "sigmoid")
        said = re.search(r"log loss +(\d\.\d+) .*a constant prediction: (\d\.\d+), less is better", run.out)
        shares = [sum(row[-1] == kind for row in rows) / len(rows) for kind in {row[-1] for row in rows}]
        entropy = -sum(p * math.log(p) for p in shares)
        self.close_to(float(said.group(2)), entropy, 0.02, "stratified folds have the shares of all rows, almost")
        self.assertLess(float(said.group(1)), entropy)
        self.fails("cv", *command, code=2, says="log loss needs probabilities, which these options do not learn: set --probabilities sigmoid")
        run = self.searched(*QUICK, "--goal", "log-loss", table="three.csv", target="tree")
        said = re.search(r"baseline +(\d\.\d+) +always the shares of the classes", run.out)
        self.close_to(float(said.group(1)), entropy, 1e-3, "of the training rows")

    def test_json_of_a_search(self):
        self.quantity(n=60)
        got = self.searched(*QUICK, "--json", table="price.csv", target="price").json()
        self.assertEqual([got["cv"]["goal"], got["cv"]["less_is_better"]], ["R2", False])
        self.check_account(got["cv"], 60)
        self.assertGreater(got["cv"]["score"], 0.5)
        self.close_to(got["cv"]["constant_answer"], 0.0, 1e-6, "the constant prediction")
        self.assertGreater(got["cv"]["seconds"], 0.0)
        self.assertEqual(self.ok("inspect", "m.karma", "--json").json()["cv"], {**got["cv"], "seconds": None})
        self.assertIn("@", got["options"]["kernel"])

    def test_effort_off_is_a_plain_fit(self):
        self.two_classes(n=60)
        plain = self.searched("--effort", "off")
        self.assertNotIn("cross-validated", plain.out)
        self.assertRegex(plain.out, r"(?m)^  kernel         linear")
        scores = self.ok("predict", "m.karma", "two.csv").out
        self.assertNotIn("cv", self.ok("inspect", "m.karma", "--json").json())
        self.searched("--gamma", "2")  # the default value, but given: there is no search
        self.assertEqual(self.ok("predict", "m.karma", "two.csv").out, scores)

    def test_options_of_kernel_and_solver_turn_it_off(self):
        self.two_classes(n=40)
        for option in (["--kernel", "rank"], ["--gamma", "1"], ["--C", "2"], ["--outer", "rbf"], ["--solver", "batch"],
                       ["--bias", "0"], ["--scale", "paper"]):
            with self.subTest(option=option):
                self.assertNotIn("cv", self.searched(*option, "--json").json())
        for option in (["--seed", "2"], ["--threads", "1"], ["--id", "b"], ["--folds", "3"]):
            with self.subTest(option=option):
                self.assertIn("cv", self.searched(*option, "--json").json())

    def test_options_without_effect_are_named(self):
        """Each option with a model that does not use it, and with one that does."""
        self.write("n.csv", "a,b,y,z\n" + "".join(f"{i % 7},{i % 5},{'pq'[i % 7 > 3]},{i % 11}.5\n" for i in range(40)))
        pairs = [("--degree 3", "", "--outer poly"), ("--offset 2", "", "--outer poly"), ("--width 2", "--outer poly", "--outer laplace"),
                 ("--series 1,1", "", "--outer series"), ("--gamma 3", "--kernel boost", "--kernel rank"), ("--scale 3", "--kernel subspace", ""),
                 ("--rank-form centred", "", "--kernel rank"), ("--mu 2", "--kernel subspace", "--kernel union"),
                 ("--subspace-rank 1", "", "--kernel subspace"), ("--subspace-noise column", "", "--kernel subspace"),
                 ("--space ranks", "", "--kernel subspace"), ("--refine 2", "--kernel rank", "--kernel subspace"),
                 ("--trees 9", "", "--kernel boost"), ("--leaves 9", "--kernel rank", "--kernel forest"),
                 ("--landmarks 9", "", "--solver nystrom"), ("--schedule regret", "", "--solver online"), ("--shuffle off", "", "--solver online"),
                 ("--average off", "--solver batch", "--solver online"), ("--rho 2", "--solver online", "--solver online --schedule regret"),
                 ("--B 2", "--solver online --schedule regret --rho 1", "--solver online --schedule regret"),
                 ("--tolerance 0.01", "--solver online", "--solver batch"), ("--time 9", "", "--effort quick"),
                 ("--goal auc", "", "--effort quick"), ("--choose best", "", "--effort quick")]
        def told(*args):
            run = self.run_karma(*args)
            self.assertEqual(run.code, 0, str(run))
            return re.findall(r"(--\S+) has no effect", run.err)

        for option, idle, used in pairs:
            name, *value = option.split()
            for command in (["train", "n.csv", "-o", "m.karma"], ["cv", "n.csv", "--folds", "2"]):
                plain = [*command, "--target", "y", "--ignore", "z", name, *value]
                judged = command[0] == "cv" and name == "--goal"  # cv prints the metric that is the goal
                self.assertEqual(told(*plain, *(idle or "--effort off").split()), [] if judged else [name], (option, idle))
            self.assertEqual(told("train", "n.csv", "-o", "m.karma", "--target", "y", "--ignore", "z", name, *value, *(used or "--effort off").split()), [], (option, used))
        numbers = ["train", "n.csv", "-o", "m.karma", "--target", "z", "--task", "regress", "--ignore", "y", "--effort", "off"]
        for option, idle, used in (("--tube", "huber", "epsilon-insensitive"), ("--huber", "absolute", "huber")):
            self.assertEqual(told(*numbers, option, "2", "--loss", idle), [option])
            self.assertEqual(told(*numbers, option, "2", "--loss", used), [])
        self.assertEqual(told(*numbers, "--quantile", "0.1,0.9"), [])

    def test_options_beside_an_effort_are_kept(self):
        self.two_classes(n=40)
        got = self.searched(*QUICK, "--kernel", "rank", "--json").json()
        for candidate in got["cv"]["candidates"]:
            self.assertTrue(candidate["kernel"].startswith("rank"), candidate)
        self.assertNotIn("linear", got["options"]["kernel"])
        self.assertNotIn("zero_imputation", got["cv"])
        got = self.searched(*QUICK, "--C", "3", "--loss", "logistic", "--json").json()
        self.assertEqual({c["C_factor"] for c in got["cv"]["candidates"]}, {1.0})
        self.assertEqual([got["loss"], got["C"]], ["logistic", 3.0])
        got = self.searched(*QUICK, "--gamma", "3", "--json").json()
        self.assertFalse([c for c in got["cv"]["candidates"] if "gamma" in c["kernel"]])

    def test_rules_and_goals(self):
        self.two_classes(n=40)
        for rule in ("best", "one-se"):
            got = self.searched(*QUICK, "--choose", rule, "--json").json()
            self.assertEqual(got["cv"]["members"], 1)
            self.assertNotIn("|", got["options"]["kernel"])
        for rule in ("committee", "stack"):
            self.assertGreaterEqual(self.searched(*QUICK, "--choose", rule, "--json").json()["cv"]["members"], 1)
        for goal, word in (("accuracy", "accuracy"), ("balanced-accuracy", "balanced accuracy"), ("auc", "AUC"), ("f1", "F1"),
                           ("log-loss", "log loss")):
            cv = self.searched(*QUICK, "--goal", goal, "--json").json()["cv"]
            self.assertEqual([cv["goal"], cv["less_is_better"]], [word, goal == "log-loss"])

    def test_same_seed_same_model(self):
        self.two_classes(n=40)
        predictions = []
        for threads, seed in (("1", "1"), ("2", "1"), ("1", "2")):
            self.searched(*QUICK, "--threads", threads, "--seed", seed, "--quiet")
            predictions.append(self.ok("predict", "m.karma", "two.csv").out)
        self.assertEqual(predictions[0], predictions[1])
        self.assertNotEqual(predictions[0], predictions[2])

    def test_bad_values(self):
        self.two_classes(n=20)
        self.write("one.csv", "a,answer\n1,yes\n")
        base = ["two.csv", "--target", "answer"]
        for command in (["train", *base, "-o", "x.karma"], ["cv", *base]):
            self.fails(*command, "--effort", "heroic", code=2, says="--effort")
            self.fails(*command, "--time", "0", code=2, says="--time")
            self.fails(*command, "--time", "soon", code=2, says="--time")
            self.fails(*command, "--goal", "fame", code=2, says="--goal")
            self.fails(*command, "--choose", "me", code=2, says="--choose")
            self.fails(*command, "--goal", "rmse", code=2, says="--goal")
            self.fails(*command, *QUICK, "--kernel", "linear | rank", code=2, says="committee")
            self.fails(*command, "--kernel", "linear @ 2,1", code=2, says="ascending")
        self.fails("train", *base, "-o", "x.karma", *QUICK, "--goal", "log-loss", "--loss", "hinge", code=2, says="logistic")
        self.fails("cv", *base, "--rounds", "0", code=2, says="--rounds")
        self.fails("cv", *base, "--folds", "1", code=2, says="--folds")
        self.fails("cv", "two.csv", code=2, says="--target")
        self.fails("cv", "one.csv", "--target", "answer", says="at least two labelled rows")

    def test_trouble_in_a_fold_is_called_that(self):
        self.write("part.csv", "a,b,answer\n1,2,yes\n,,no\n")
        self.write("none.csv", "answer\nyes\nno\nyes\nno\n")
        self.fails("train", "part.csv", "--target", "answer", "-o", "x.karma", says="fold [12] of 2 of the search left out.*missing.*--effort off")
        self.fails("train", "none.csv", "--target", "answer", "-o", "x.karma", says="csv: there is no column to learn from$")

    def test_interrupting_keeps_what_was_tried(self):
        self.ok("synth", "--rows", "1000", "--dim", "20", "-o", "d.csv")
        code, _, text = self.on_terminal("train", "d.csv", "--target", "target", "--effort", "thorough", "-o", "m.karma",
                                         until=rb"fold 1 of \d+, kernel \d+ of",
                                         act=lambda process: process.send_signal(signal.SIGINT))
        self.assertIn(code, (0, 130), text[-500:])
        self.assertTrue(os.path.exists(self.path("m.karma")), text[-500:])
        self.assertIn("karma: interrupted; the best model so far is in m.karma", text)
        cv = self.ok("inspect", "m.karma", "--json").json()["cv"]
        self.assertIs(cv["cut_short"], True)
        self.assertLess(len(cv["folds"]), cv["n_folds"] * cv["n_repeats"])


    def test_one_more_row_costs_no_accuracy(self):
        """Above 700 rows there are fewer candidates. y = sign(z1 z2) of rows in a hidden subspace needs one of them."""
        draw = random.Random(5)
        basis = [[draw.gauss(0, 1) for _ in range(15)] for _ in range(2)]
        rows = []
        for _ in range(1700):
            z = [draw.gauss(0, 1), draw.gauss(0, 1)]
            cells = [z[0] * basis[0][j] + z[1] * basis[1][j] + draw.gauss(0, 0.1) for j in range(15)]
            rows.append(["" if draw.random() < 0.5 else f"{x:.4f}" for x in cells] + ["p" if z[0] * z[1] > 0 else "q"])
        names = [f"x{j}" for j in range(15)] + ["y"]
        self.write_csv("new.csv", names, rows[701:])
        scores = []
        for n in (700, 701):
            self.write_csv("grown.csv", names, rows[:n])
            self.ok("train", "grown.csv", "--target", "y", "-o", "m.karma", "--quiet")
            scores.append(self.ok("eval", "m.karma", "new.csv", "--json").json()["accuracy"])
        self.assertGreater(scores[0], 0.85)
        self.assertGreater(scores[1], scores[0] - 0.02)


class Validating(Case):
    def test_text_and_json(self):
        self.two_classes(n=60)
        text = self.ok("cv", "two.csv", "--target", "answer", "--effort", "off").out
        got = self.ok("cv", "two.csv", "--target", "answer", "--effort", "off", "--json").json()
        self.assertRegex(text, r"^two.csv: 60 rows, each left out once, in 5 folds\n")
        target = got["targets"][0]
        self.assertEqual([got["goal"], got["rows"], got["n_folds"], got["n_repeats"], got["folds_judged"]],
                         ["accuracy", 60, 5, 1, 5])
        self.assertEqual([target["name"], target["goal"], len(target["folds"]), len(got["kernels"])], ["answer", "accuracy", 5, 5])
        self.close_to(sum(target["folds"]) / 5, target["score"], 1e-9, "score")
        self.assertIn(f"  accuracy           {target['score']:.4f} +- {target['error']:.4f}   a constant prediction: ", text)
        self.assertIn("  ".join(f"{value:.4f}" for value in target["folds"]), text)
        for name in ("balanced accuracy", "AUC", "F1"):
            self.assertRegex(text, rf"(?m)^  {name} +{target['metrics'][name]['mean']:.4f} ")
        self.assertNotIn("RMSE", target["metrics"])

    def test_it_equals_train_and_eval(self):
        """One fold by hand: learned from the other folds, and judged."""
        rows = self.two_classes(n=40)
        header = ["a", "b", "colour", "answer"]
        got = self.ok("cv", "two.csv", "--target", "answer", "--effort", "off", "--folds", "40", "--json").json()["targets"][0]
        for left in (0, 17, 39):
            self.write_csv("rest.csv", header, rows[:left] + rows[left + 1:])
            self.write_csv("one.csv", header, [rows[left]])
            self.ok("train", "--effort", "off", "rest.csv", "--target", "answer", "-o", "m.karma", "--quiet")
            wanted = self.ok("eval", "m.karma", "one.csv", "--json").json()["accuracy"]
            self.assertIn(wanted, got["folds"])
        right = 0
        for left in range(40):
            self.write_csv("rest.csv", header, rows[:left] + rows[left + 1:])
            self.write_csv("one.csv", header, [rows[left]])
            self.ok("train", "--effort", "off", "rest.csv", "--target", "answer", "-o", "m.karma", "--quiet")
            right += self.ok("predict", "m.karma", "one.csv").rows()[1][0] == rows[left][-1]
        self.close_to(got["score"], right / 40, 1e-9, "rows left out one at a time")

    def test_folds_of_one_row(self):
        """One row has no R2, and rows of one class have no AUC: neither the text nor the page shows NaN."""
        self.write("d.csv", "a,y\n" + "".join(f"{i % 5},{i / 4}\n" for i in range(6)))
        self.write("c.csv", "a,y\n" + "".join(f"{i % 5},{'yes' if i % 2 else 'no'}\n" for i in range(6)))
        for table, goal in (("d.csv", "R2"), ("c.csv", "AUC")):
            run = self.run_karma("cv", table, "--target", "y", "--effort", "off", "--folds", "6", "--goal", goal.lower(), "--task",
                                 "regress" if goal == "R2" else "classify", "--report", "cv.html")
            self.assertEqual(run.code, 0, str(run))
            self.assertRegex(run.out, rf"(?m)^  {goal} +-   cannot be computed.*--folds")
            self.assertRegex(run.out, r"(?m)^  folds +-  -  -  -  -  -$")
            self.assertNotRegex(run.out + self.read("cv.html").decode(), r"\bnan\b")
        mixed = self.run_karma("cv", "d.csv", "--target", "y", "--effort", "off", "--folds", "4", "--goal", "r2")
        self.assertRegex(mixed.out, r"(?m)^  R2 +-?\d")
        self.assertRegex(mixed.out, r"(?m)^  folds .* -( |$)")

    def test_choices_are_made_without_the_fold(self):
        self.two_classes(n=45)
        run = self.ok("cv", "two.csv", "--target", "answer", *QUICK, "--folds", "3")
        self.assertIn("each model was chosen without them", run.out)
        got = self.ok("cv", "two.csv", "--target", "answer", *QUICK, "--folds", "3", "--json").json()
        self.assertEqual(len(got["kernels"]), 3)
        self.assertGreater(len(set(got["kernels"])), 1)

    def test_the_only_row_of_a_class(self):
        self.write("lone.csv", "a,y\n" + "".join(f"{i},{'q' if i == 3 else 'p'}\n" for i in range(20)))
        for effort in ("off", "quick"):
            self.fails("cv", "lone.csv", "--target", "y", "--effort", effort,
                       says=r"lone.csv: with fold \d of 5 of the rows left out: column 'y' has only one class, 'p'")

    def test_rounds_threads_and_seeds(self):
        self.two_classes(n=40)
        base = ["cv", "two.csv", "--target", "answer", "--effort", "off", "--json"]
        once = self.ok(*base, "--threads", "1").json()["targets"][0]["folds"]
        self.assertEqual(self.ok(*base, "--threads", "2").json()["targets"][0]["folds"], once)
        twice = self.ok(*base, "--rounds", "2").json()
        self.assertEqual([twice["n_repeats"], twice["folds_judged"]], [2, 10])
        self.assertEqual(twice["targets"][0]["folds"][:5], once)
        self.assertNotEqual(twice["targets"][0]["folds"][5:], once)
        self.assertNotEqual(self.ok(*base, "--seed", "9").json()["targets"][0]["folds"], once)

    def test_targets_of_both_kinds(self):
        rows = self.two_classes(n=40, holes=0)
        self.write_csv("both.csv", ["a", "b", "colour", "answer"], rows)
        text = self.ok("cv", "both.csv", "--target", "answer,b", "--effort", "off", notes=["'b'"]).out
        self.assertRegex(text, r"(?m)^target 'answer'\n  accuracy ")
        self.assertRegex(text, r"(?m)^target 'b'\n  R2 ")
        run = self.run_karma("train", "both.csv", "--target", "answer,b", *QUICK, "-o", "m.karma", "--json")
        self.assertEqual(run.code, 0, str(run))
        self.assertEqual(run.json()["cv"]["goal"], "accuracy and R2")

"""What the tool prints: JSON, notes, progress, wrong usage, help, manual, completion; and Ctrl-C."""
import fcntl
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

from case import COMMANDS, HUNG, KARMA, SOURCE, Case


class Messages(Case):
    def test_json_of_every_command(self):
        self.two_classes()
        wanted = {
            "train": (["--effort", "off", "two.csv", "--target", "answer", "-o", "m.karma"],
                      {"model", "target", "task", "rows", "rows_without_label", "attributes", "missing", "loss", "stop",
                       "support_rows", "rounds", "C", "scale", "options", "seconds", "peak_bytes", "classes", "majority"}),
            "predict": (["m.karma", "two.csv"], {"target", "predictions"}),
            "eval": (["m.karma", "two.csv"], {"rows", "accuracy", "majority", "balanced_accuracy", "f1", "auc", "log_loss",
                                              "confusion"}),
            "report": (["m.karma", "two.csv", "-o", "r.html"], {"output", "targets", "rows"}),
            "explain": (["m.karma", "two.csv"], {"targets", "method", "rows", "explanations"}),
            "complete": (["s.karma", "two.csv"], {"output", "rows", "attributes", "completed", "rank", "columns", "cells"}),
            "cv": (["--effort", "off", "two.csv", "--target", "answer"], {"goal", "rows", "n_folds", "n_repeats", "folds_judged",
                                                                          "targets", "kernels"}),
            "compare": (["two.csv", "--target", "answer", "--methods", "zero,mean", "--inner", "2"],
                        {"goal", "less_is_better", "rows", "folds_judged", "constant_answer", "methods"}),
            "inspect": (["two.csv"], {"kind", "rows", "columns", "patterns"}),
            "gram": (["two.csv", "-o", "g.csv"], {"rows", "scale", "output"}),
            "online": (["--regret", "--rounds", "20"], {"options", "gamma", "log10_Gamma", "log10_rho", "smallest_lambda",
                                                        "magnitude", "missing", "checkpoints"}),
            "theory": ([], {"gamma", "log10_Gamma", "log10_sample_size", "log10_regret_bound"}),
            "synth": (["--rows", "9", "-o", "s.csv"], {"rows", "attributes", "missing", "options"}),
        }
        self.assertEqual(list(wanted), COMMANDS)
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--kernel", "union", "--subspace-rank", "1", "-o", "s.karma", "--quiet")
        for command, (args, keys) in wanted.items():
            with self.subTest(command=command):
                got = self.ok(command, *args, "--json").json()
                self.assertLessEqual(keys, set(got), command)
        got = self.ok("inspect", "m.karma", "--json").json()
        self.assertEqual(got["kind"], "model")
        self.assertEqual(got["options"]["gamma"], 2)
        self.assertEqual(got["options"]["scale"], "mean")

    def test_json_predictions_equal_csv(self):
        self.trained()
        rows = self.ok("predict", "m.karma", "two.csv").rows()[1:]
        got = self.ok("predict", "m.karma", "two.csv", "--json").json()
        self.assertEqual(got["target"], "answer")
        self.assertEqual([[p["prediction"], p["score"]] for p in got["predictions"]], [[a, float(b)] for a, b in rows])
        self.three_classes()
        self.ok("train", "--effort", "off", "three.csv", "--target", "tree", "-o", "n.karma", "--quiet")
        rows = self.ok("predict", "n.karma", "three.csv").rows()
        got = self.ok("predict", "n.karma", "three.csv", "--json").json()["predictions"]
        classes = [name[6:] for name in rows[0][1:]]
        for a, b in zip(rows[1:], got):
            self.assertEqual([a[0], [float(v) for v in a[1:]]], [b["prediction"], [b["scores"][c] for c in classes]])
        self.quantity(n=60)
        self.ok("train", "--effort", "off", "price.csv", "--target", "price", "-o", "q.karma", "--quiet")
        rows = self.ok("predict", "q.karma", "price.csv").rows()[1:]
        got = self.ok("predict", "q.karma", "price.csv", "--json").json()["predictions"]
        self.assertEqual([p["prediction"] for p in got], [float(row[0]) for row in rows])

    def test_json_and_output_file(self):
        """With -o the result is in the file and stdout still has one object."""
        self.trained()
        rows = self.ok("predict", "m.karma", "two.csv").out
        got = self.ok("predict", "m.karma", "two.csv", "--json", "-o", "p.csv").json()
        self.assertEqual([got["output"], got["rows"], got["target"]], ["p.csv", 120, "answer"])
        self.assertEqual(self.read("p.csv").decode(), rows)

    def test_json_never_shares_stdout(self):
        """Without an output file, the object contains what would go to standard output."""
        self.two_classes(n=20)
        for output in ([], ["-o", "-"]):
            table = self.ok("synth", "--rows", "5", "--dim", "4", *output, "--json").json()
            self.assertEqual(table["columns"], ["x1", "x2", "x3", "x4", "target"])
            self.assertEqual([len(row) for row in table["cells"]], [5] * 5)
            text = self.ok("synth", "--rows", "5", "--dim", "4").out.splitlines()[1:]
            for row, line in zip(table["cells"], text):
                self.assertEqual([None if c is None else float(c) for c in row],
                                 [float(c) if c else None for c in line.split(",")])
            matrix = self.ok("gram", "two.csv", "--target", "answer", *output, "--json").json()["gram"]
            lines = self.ok("gram", "two.csv", "--target", "answer").out.splitlines()
            self.assertEqual(len(matrix), 20)
            for row, line in zip(matrix, lines):
                for a, b in zip(row, line.split(",")):
                    self.assertAlmostEqual(a, float(b), delta=1e-6 * max(1.0, abs(a)))

    def test_json_with_a_name_that_is_not_utf8(self):
        self.two_classes(n=40)
        name = b"m\xff.karma"
        run = self.run_karma("train", "--effort", "off", "two.csv", "--target", "answer", "-o", name, "--json")
        self.assertEqual([run.code == 0, run.out != ""], [True, True] if run.code == 0 else [False, False], str(run))
        self.assertEqual(run.err != "", run.code != 0, str(run))

    def test_nan_is_null_in_json(self):
        self.trained()
        self.write("one.csv", "a,b,answer\n1,2,yes\n2,3,yes\n")
        got = self.ok("eval", "m.karma", "one.csv", "--json", notes=["lack"]).json()
        self.assertIsNone(got["auc"])

    def test_quiet(self):
        rows = self.two_classes()
        self.write_csv("h.csv", ["a", "b", "colour", "empty", "answer"],
                       [r[:3] + [None] + r[3:] for r in rows] + [[1, 2, "red", None, None]])
        noisy = self.ok("train", "--effort", "off", "h.csv", "--target", "answer", "-o", "m.karma", notes=["no label", "'empty'"])
        self.assertNotEqual(noisy.out, "")
        run = self.ok("train", "--effort", "off", "h.csv", "--target", "answer", "-o", "m.karma", "--quiet")
        self.assertEqual([run.out, run.err], ["", ""])
        self.write("new.csv", "a,other\n1,2\n")
        for args in (["predict", "m.karma", "new.csv"], ["eval", "m.karma", "two.csv"], ["inspect", "h.csv"],
                     ["gram", "new.csv", "--gamma", "1000", "--scale", "0.001"], ["theory"], ["synth", "--rows", "5"]):
            with self.subTest(args=args):
                run = self.ok(*args, "--quiet")
                self.assertEqual(run.err, "")
                self.assertNotEqual(run.out, "")
        self.fails("train", "--effort", "off", "gone.csv", "--target", "y", "-o", "x", "--quiet", says="gone.csv")

    def test_no_progress_without_terminal(self):
        self.ok("synth", "--rows", "500", "--dim", "5", "-o", "d.csv")
        for solver in self.solvers():
            run = self.ok("train", "--effort", "off", "d.csv", "--target", "target", "--solver", solver, "--passes", "3", "-o", "m.karma")
            self.assertEqual(run.err, "")
        self.assertEqual(self.ok("gram", "d.csv", "-o", "g.csv").err, "")

    def test_progress_on_a_terminal(self):
        """The first report is always shown, whatever the time; the line is gone when the command ends."""
        self.ok("synth", "--rows", "500", "--dim", "5", "-o", "d.csv")
        code, out, text = self.on_terminal("train", "--effort", "off", "d.csv", "--target", "target", "-o", "m.karma")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"^\r\x1b\[Klearning")
        self.assertEqual(text.split("\r\x1b[K")[-1], "", "the line is not removed")
        self.assertNotIn("\n", text)
        self.assertIn("learned from 500 rows", out)
        code, _, text = self.on_terminal("gram", "d.csv", "-o", "g.csv")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"rows \d+ of 500")
        self.assertEqual(text.split("\r\x1b[K")[-1], "")

    def test_quiet_on_a_terminal(self):
        self.ok("synth", "--rows", "1000", "--dim", "10", "-o", "d.csv")
        code, out, text = self.on_terminal("train", "--effort", "off", "d.csv", "--target", "target", "-o", "m.karma", "--quiet")
        self.assertEqual([code, out, text], [0, "", ""])

    def test_notes_and_progress_do_not_mix(self):
        """A failing run on a terminal ends with its message on a line of its own."""
        self.ok("synth", "--rows", "600", "--dim", "10", "-o", "d.csv")
        code, _, text = self.on_terminal("train", "--effort", "off", "d.csv", "--target", "target", "-o", "nowhere/m.karma")
        self.assertEqual(code, 1)
        self.assertRegex(text, r"(^|\r\x1b\[K)karma: nowhere/m.karma: [^\r\n]*\r\n$")

    def test_interrupted_training_keeps_its_model(self):
        """Interrupted after some passes, long before the end; the progress line shows how far it is."""
        self.ok("synth", "--rows", "1000", "--dim", "20", "-o", "d.csv")
        code, out, text = self.on_terminal("train", "--effort", "off", "d.csv", "--target", "target", "--solver", "online", "--passes",
                                           "100000", "-o", "m.karma", until=rb"rounds \d{4,} of 100000000 \(\d+%\)",
                                           act=lambda p: p.send_signal(signal.SIGINT))
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"\r\x1b\[Kkarma: interrupted[^\r\n]*m\.karma\r\n$")
        self.assertIn("learned from 1000 rows", out)
        self.assertGreater(self.ok("eval", "m.karma", "d.csv", "--json").json()["accuracy"], 0.7)
        self.assertRegex(self.ok("inspect", "m.karma").out, r"\((interrupted|cancelled)\)")

    def test_interrupted_without_terminal(self):
        self.ok("synth", "--rows", "200", "--dim", "5", "-o", "d.csv")
        process = subprocess.Popen([KARMA, "train", "--effort", "off", "d.csv", "--target", "target", "--solver", "online", "--passes",
                                    "100000", "-o", "m.karma", "--json"], cwd=self.dir, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.wait_for_work(process)  # a hundred times as long as reading takes, and far from the end
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HUNG)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(b"interrupted", err)
        self.assertEqual(json.loads(out)["stop"], "cancelled")
        self.ok("predict", "m.karma", "d.csv")

    def test_interrupted_gram_leaves_nothing(self):
        self.ok("synth", "--rows", "6000", "--dim", "5", "-o", "d.csv")
        code, _, text = self.on_terminal("gram", "d.csv", "-o", "g.csv", until=rb"rows [1-9]",
                                         act=lambda p: p.send_signal(signal.SIGINT))
        self.assertEqual(code, 1)
        self.assertRegex(text, r"karma: interrupted[^\r\n]*\r\n$")
        self.assertEqual(self.files(), ["d.csv"])


    def test_bars_are_for_terminals(self):
        self.write("d.csv", "x,z,y\n" + "".join(f"{i if i % 4 else ''},{i},{'ab'[i % 2]}\n" for i in range(40)))
        try:
            main, other = os.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminals here: {error}")
        done = subprocess.run([KARMA, "inspect", "d.csv"], cwd=self.dir, stdout=other, timeout=HUNG, check=False)
        os.close(other)
        text = os.read(main, 1 << 16).decode()
        os.close(main)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(text, r"  x +number +25.0% ###[.]{7}   1 to 39")
        self.assertRegex(text, r"  z +number +0.0% [.]{10}   0 to 39")
        self.assertNotIn("\033", text)
        self.assertRegex(self.ok("inspect", "d.csv").out, r"  x +number +25.0%   1 to 39")

    def open_terminal(self, width=80):
        try:
            main, other = os.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminals here: {error}")
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        return main, other

    def read_terminal(self, main):
        """Reads until the other side is closed."""
        text = b""
        while True:
            try:
                part = os.read(main, 1 << 16)
            except OSError:  # all of it was read
                break
            if not part:
                break
            text += part
        os.close(main)
        return text.decode().replace("\r\n", "\n")

    # Every report comes more than a tenth of a second after the one before, so all are shown, however fast the machine.
    ALL_PROGRESS = "tick:101:0"

    def seen_on_terminal(self, width, *args, env=None):
        """The lines that a command prints to a terminal of this width; of each line, the part after the last carriage return."""
        main, other = self.open_terminal(width)
        env = {name: value for name, value in (env or os.environ).items() if name != "COLUMNS"}
        process = subprocess.Popen([KARMA, *args], cwd=self.dir, stdout=other, stderr=other, env=env)
        os.close(other)
        text = self.read_terminal(main)
        self.assertEqual(process.wait(HUNG), 0)
        return text

    def test_tables_fit_the_terminal(self):
        long = "a rather long name of a column, with an accent: é"
        self.write("d.csv", f'"{long}",z,y\n' + "".join(f"{i if i % 4 else ''},w{i % 3}{'x' * 40},{'ab'[i % 8 > 3]}\n" for i in range(80)))
        narrow, wide, piped = (self.seen_on_terminal(60, "inspect", "d.csv"), self.seen_on_terminal(150, "inspect", "d.csv"),
                               self.ok("inspect", "d.csv").out)
        tables = [re.search(r"(?s)  column .*?\n\n", text).group(0).strip("\n").split("\n") for text in (narrow, wide, piped)]
        self.assertTrue(all(len(line) <= 60 for line in tables[0]), tables[0])
        self.assertTrue(all("..." in line for line in tables[0][1:3]))
        self.assertIn(f"  {long} number ", tables[1][1])  # the whole name, where there is room
        self.assertIn("  a rather long name of... number ", tables[2][1])  # a pipe gets the same text as always

    def test_results_fit_the_terminal(self):
        """No line of eval, cv, compare and train is wider than the terminal, nothing is lost, and a pipe has whole lines."""
        rng = random.Random(5)
        classes = [f"the class number {k}, Größe" for k in range(4)]
        rows = [[rng.gauss(k % 4, 1) if rng.random() > 0.2 else None, rng.gauss(-(k % 4), 1), classes[k % 4]] for k in range(120)]
        self.write_csv("d.csv", ["a column with a rather long name", "z", "the target, also long"], rows)
        how = ["d.csv", "--target", "the target, also long"]
        commands = {"train": ["train", *how, "--effort", "off", "-o", "m.karma"], "eval": ["eval", "m.karma", "d.csv"],
                    "cv": ["cv", *how, "--effort", "off", "--folds", "9"],
                    "compare": ["compare", *how, "--methods", "mean-indicator,zero", "--folds", "2", "--inner", "2"]}
        for name, command in commands.items():
            piped = self.ok(*command).out
            for width in (60, 80, 120):
                with self.subTest(command=name, width=width):
                    text = re.sub(r"\r\033\[K([^\r\n]*(?=\r\033))?", "", self.seen_on_terminal(width, *command))
                    long = [line for line in text.split("\n") if len(line) > width]
                    self.assertEqual(long, [])
                    if name in ("train", "cv"):  # these only break lines
                        words = " ".join(piped.split())
                        self.assertTrue(" ".join(text.split()).endswith(words), text)
        self.assertIn("truth \\ prediction", self.seen_on_terminal(90, *commands["eval"]))
        narrow = self.seen_on_terminal(60, *commands["eval"])
        self.assertRegex(narrow, r"(?m)^  truth +t[.]* +t[.]* |^  the cl[^ ]* ")
        self.assertRegex(self.seen_on_terminal(120, *commands["compare"]), r"method +accuracy difference +total s +fit s predict s")
        self.assertRegex(self.seen_on_terminal(60, *commands["compare"]), r"(?m)method +accuracy difference +total s$")

    def test_many_classes_show_the_most_common_mistakes(self):
        self.write_csv("d.csv", ["x", "y"], [[k % 20 + (5 if k in (3, 23) else 0), f"c{k % 20:02d}"] for k in range(200)])
        self.ok("train", "d.csv", "--target", "y", "--effort", "off", "--kernel", "rank", "-o", "m.karma", "--quiet")
        matrix = self.ok("eval", "m.karma", "d.csv", "--json").json()["confusion"]
        counts = sorted((-count, truth, taken) for truth, row in matrix.items() for taken, count in row.items()
                        if truth != taken and count)[:10]
        self.assertTrue(counts)
        shown = self.ok("eval", "m.karma", "d.csv").out
        found = re.findall(r"(?m)^  (c\d\d) +(c\d\d) +(\d+)$", shown)
        self.assertEqual([(-int(n), truth, taken) for truth, taken, n in found], counts)
        self.assertIn("The most common mistakes", shown)

    def test_rate_on_a_terminal(self):
        """The progress line shows how many rows were learned and how fast."""
        rows = "".join(f"{i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(900))
        main, other = self.open_terminal()
        process = subprocess.Popen([KARMA, "online", "--target", "y", "--warm-up", "50"], cwd=self.dir, stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=other, env=self.with_fault(self.ALL_PROGRESS))
        os.close(other)
        process.stdin.write(("x,z,y\n" + rows).encode())
        process.stdin.close()
        text = self.read_terminal(main)
        self.assertEqual(process.wait(HUNG), 0)
        self.assertRegex(text, r"rows learned: \d+, [\d.]+ (per second|s each)")

    def test_progress_and_importance_on_a_terminal(self):
        self.two_classes("two.csv", n=400)
        text = self.seen_on_terminal(50, "train", "two.csv", "--target", "answer", "--effort", "normal", "-o", "m.karma",
                                     env=self.with_fault(self.ALL_PROGRESS))
        shown = [part.removeprefix("\033[K") for part in text.split("\r")[1:-1]]
        self.assertTrue(shown and all(len(part) <= 49 for part in shown), shown)
        self.assertRegex(text, r"fold 1 of \d+, kernel \d+ of \d+, best accuracy 0")
        text = self.seen_on_terminal(80, "explain", "m.karma", "two.csv", "--importance").split("\r\033[K")[-2:]
        self.assertRegex("".join(text), r"(?m)^  a +-?0\.\d{4} ± 0\.\d{4}  #+-*$")
        self.assertRegex(self.ok("explain", "m.karma", "two.csv", "--importance").out, r"(?m)^  a +-?0\.\d{4} ± 0\.\d{4}$")


class Usage(Case):
    def setUp(self):
        super().setUp()
        self.two_classes(n=20)

    def wrong(self, *args, says):
        run = self.fails(*args, code=2, says=says)
        self.assertRegex(run.err, r"--help\)$")

    def test_nearest_option(self):
        for typed, meant in (("--gama", "--gamma"), ("--targte", "--target"), ("--pases", "--passes"), ("--Gamma", "--gamma"),
                             ("--standardize", "--standardise"), ("--treads", "--threads"), ("--qiet", "--quiet")):
            with self.subTest(typed=typed):
                self.wrong("train", "--effort", "off", "two.csv", typed, "3", says=f"{typed}; did you mean {meant}\\?")
        self.wrong("train", "--effort", "off", "two.csv", "--gama=3", says="--gama; did you mean --gamma")
        self.wrong("synth", "--row", "3", says="did you mean --rows")
        self.wrong("predict", "--xyzzy", says="unknown option --xyzzy \\(")
        self.wrong("train", "--effort", "off", "two.csv", "-x", says="unknown option -x")
        self.wrong("train", "--effort", "off", "two.csv", "--" + "g" * 300, says="unknown option")
        self.wrong("theory", "--passes", "3", says="unknown option --passes")

    def test_nearest_command(self):
        for typed, meant in (("trian", "train"), ("predcit", "predict"), ("Eval", "eval"), ("inspct", "inspect")):
            with self.subTest(typed=typed):
                self.wrong(typed, says=f"unknown command '{typed}'; did you mean {meant}\\?")
        self.wrong("frobnicate", says="unknown command 'frobnicate' \\(")
        self.wrong("--frobnicate", says="unknown")
        self.wrong("help", "trian", says="did you mean train")
        self.wrong("--completion", "tcsh", says="bash or fish")
        self.wrong("--manual", "trian", says="unknown command 'trian'")

    def test_values(self):
        train = ["train", "--effort", "off", "two.csv", "--target", "answer", "-o", "m.karma"]
        for words, says in ((["--gamma"], "--gamma needs a value"), (["-o"], "--output needs a value"),
                            (["--gamma", "0"], "--gamma .*1 to 1024.*'0'"), (["--gamma", "1025"], "'1025'"),
                            (["--gamma", "2.5"], "'2.5'"), (["--gamma", "two"], "'two'"), (["--gamma", ""], "''"),
                            (["--gamma=1e999"], "1e999"), (["--C", "-1"], "--C .*'-1'"), (["--C", "nan"], "'nan'"),
                            (["--scale", "0"], "--scale .*'0'"), (["--scale", "papr"], "'papr'"),
                            (["--seed", "-1"], "--seed"), (["--threads", "5000"], "--threads"),
                            (["--loss", "square"], "--loss .*hinge.*'square'"), (["--standardise", "yes"], "on|off.*'yes'"),
                            (["--solver", "magic"], "--solver .*online"), (["--header", "1"], "--header"),
                            (["--delimiter", "x"], "--delimiter .*comma"), (["--json=on"], "--json takes no value"),
                            (["--absent", "none"], "--absent"), (["--format", "xls"], "--format")):
            with self.subTest(words=words):
                self.wrong(*train, *words, says=says)
        self.wrong("synth", "--missing", "1", says="--missing .*0.999.*'1'")
        self.wrong("theory", "--lambda", "2", says="--lambda .*'2'")

    def test_arguments(self):
        self.wrong("train", "--effort", "off", says="usage: karma train DATA --target COL -o MODEL")
        self.wrong("train", "--effort", "off", "two.csv", "three.csv", says="unexpected argument 'three.csv'")
        self.wrong("predict", "m.karma", says="usage: karma predict MODEL DATA")
        self.wrong("predict", "a", "b", "c", says="unexpected argument 'c'")
        self.wrong("eval", says="usage: karma eval MODEL DATA")
        self.wrong("explain", "m.karma", says="usage: karma explain MODEL DATA")
        self.wrong("gram", says="usage: karma gram DATA")
        self.wrong("theory", "x", says="unexpected argument 'x'")
        self.wrong("synth", "x", says="unexpected argument 'x'")

    def test_output_and_target_are_required(self):
        self.wrong("train", "--effort", "off", "two.csv", "--target", "answer", says="-o MODEL")
        self.wrong("train", "--effort", "off", "two.csv", "-o", "m.karma", says="--target COL")
        self.wrong("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "-", says="not to standard output")

    def test_spellings_of_options(self):
        a = self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--gamma", "3", "-o", "m.karma", "--json").json()
        b = self.ok("train", "--effort", "off", "--gamma=3", "-om.karma", "--target=answer", "--json", "--", "two.csv").json()
        self.assertEqual(a["options"], b["options"])
        shutil.copy(self.path("two.csv"), self.path("-dash.csv"))
        self.ok("train", "--effort", "off", "--target", "answer", "--output", "m.karma", "--", "-dash.csv")
        self.assertEqual(self.ok("synth", "--rows", "3", "--rows", "5").out.count("\n"), 6)


class Helping(Case):
    common = {"json", "quiet"}
    reading = {"target", "numeric", "category", "ignore", "id", "missing", "format", "delimiter", "header", "absent",
               "row-weight", "users", "item", "like", "ordered"}
    kernel = {"kernel", "linear", "rank", "encoding", "rank-form", "gamma", "scale", "bias", "outer", "degree", "offset", "width",
              "series", "mu", "subspace-rank", "refine", "trees", "leaves", "standardise", "unit-ball"}
    learning = {"task", "gram", "loss", "tube", "huber", "quantile", "class-weight", "probabilities", "folds", "solver", "C",
                "schedule", "rho", "B", "passes", "shuffle", "average", "seed", "threads", "effort", "time", "goal", "choose"}
    expected = {
        "train": common | reading | kernel | learning | {"output"},
        "predict": common | reading - {"target", "row-weight", "numeric", "category", "ordered"} | {"output", "abstain", "gram", "threads"},
        "eval": common | reading - {"numeric", "category", "ordered"} | {"abstain", "gram", "threads"},
        "report": common | reading - {"row-weight", "numeric", "category", "ordered"} | {"output", "gram", "threads"},
        "explain": common | reading - {"numeric", "category", "ordered"} | {"output", "importance", "overlap", "top", "samples",
                                                                            "repeats", "seed", "threads"},
        "complete": common | reading - {"target", "row-weight", "numeric", "category", "ordered"} | {"output", "errors", "threads"},
        "cv": common | reading | kernel | learning | {"rounds"},
        "compare": common | reading | {"output", "methods", "folds", "rounds", "inner", "time", "goal", "effort", "choose", "task",
                                       "loss", "quantile", "class-weight", "tolerance", "memory", "seed", "threads"},
        "inspect": common | reading | {"standardise", "unit-ball"},
        "gram": common | reading | kernel | {"output", "against", "threads", "memory"},
        "online": common | {"regret", "dim", "rank", "lambda", "gamma", "rounds", "order", "label-noise", "seed", "threads"},
        "theory": common | {"lambda", "epsilon", "lipschitz", "dim", "delta", "rounds", "magnitude", "B"},
        "synth": common | {"output", "complete", "rows", "dim", "rank", "noise", "missing", "mechanism", "task", "classes", "seed"},
    }

    def options_in_help(self, command):
        names = re.findall(r"^  (?:-o, )?--([A-Za-z-]+)", self.ok(command, "--help").out, re.M)
        self.assertEqual(len(names), len(set(names)), "an option stands in two groups")
        return set(names)

    def test_version(self):
        with open(os.path.join(SOURCE, "VERSION"), encoding="utf-8") as file:
            self.assertEqual(self.ok("--version").out, f"karma {file.read().strip()}\n")

    def test_overview(self):
        text = self.ok("--help").out
        self.assertEqual([text, text], [self.ok("-h").out, self.ok("help").out])
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} +\S")
        self.assertIn("Exit codes: 0", text)

    def test_every_option_is_in_the_help(self):
        """What help lists is accepted. What it does not list, though others do, is refused: two commands try each name, in
        turn, since all commands look names up in the same way."""
        listed = {command: self.options_in_help(command) for command in COMMANDS}
        refusing = {command: [] for command in COMMANDS}
        for i, name in enumerate(sorted(set().union(*listed.values()))):
            strangers = [command for command in COMMANDS if name not in listed[command]]
            for k in range(min(2, len(strangers))):
                refusing[strangers[(i + k) % len(strangers)]].append(name)
        for command in COMMANDS:
            self.assertLessEqual(self.expected[command], listed[command], command)
            for name in sorted(listed[command]):
                with self.subTest(command=command, option=name):
                    self.assertNotIn("unknown option", self.run_karma(command, f"--{name}").err)
            for name in refusing[command]:
                with self.subTest(command=command, stranger=name):
                    self.assertRegex(self.run_karma(command, f"--{name}").err, f"unknown option --{name}[ ;]")

    def test_alone(self):
        """Without a command: stderr lists the four most useful commands, and the exit code is that of wrong usage."""
        run = self.run_karma()
        self.assertEqual([run.code, run.out], [2, ""])
        self.assertEqual(re.findall(r"(?m)^  karma (\w+)", run.err), ["inspect", "train", "predict", "report"])
        self.assertLess(max(map(len, run.err.splitlines())), 81)

    def test_help_of_commands(self):
        for command in COMMANDS:
            text = self.ok(command, "--help").out
            self.assertTrue(text.startswith(f"usage: karma {command} "), text[:80])
            self.assertIn("Example:\n  karma " + command, text)
            self.assertEqual(text, self.ok("help", command).out)
            self.assertEqual(text, self.ok(command, "-h").out)
            self.assertEqual(text, self.ok(command, "some", "--help").out if command not in ("online", "theory", "synth") else text)
            self.assertNotRegex(text, r"(?m) $")

    def test_defaults_in_help_are_those_used(self):
        self.two_classes(n=20)
        options = self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "m.karma", "--json").json()["options"]
        text = self.ok("train", "--help").out
        for name, value in options.items():
            if value == "":  # a text without a default
                continue
            shown = re.search(rf"^  --{name} .*\n(?:      .*\n)*?      .*\[([^\]]*)\]", text, re.M)
            self.assertTrue(shown, name)
            said = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
            if isinstance(said, str):
                self.assertEqual(shown.group(1), said, name)
            else:
                self.assertEqual(float(shown.group(1)), said, name)

    def test_manuals(self):
        pages = {"": self.ok("--manual").out, **{c: self.ok("--manual", c).out for c in COMMANDS}}
        for command in COMMANDS:
            plain = pages[command].replace("\\-", "-")
            for name in self.options_in_help(command):
                self.assertRegex(plain, rf"--{name}\b", command)
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        for command, text in pages.items():
            self.write("page.1", text)
            environment = dict(os.environ, LC_ALL="C.UTF-8", MANROFFSEQ="", MAN_KEEP_STDERR="1", MANWIDTH="80")
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", self.path("page.1")],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, timeout=HUNG)
            if not done.stdout and b"not available" in done.stderr:
                self.skipTest("man is a stub here")
            self.assertEqual([done.returncode, done.stderr.decode()], [0, ""], command)

    def test_completion(self):
        bash = self.ok("--completion", "bash").out
        self.assertEqual(bash, self.ok("--completion").out)
        self.assertIn("__fish_use_subcommand", self.ok("--completion", "fish").out)
        if not shutil.which("bash"):
            self.skipTest("bash is not installed")
        self.write("c.bash", bash)
        done = subprocess.run(["bash", "-n", self.path("c.bash")], stderr=subprocess.PIPE, timeout=HUNG)
        self.assertEqual([done.returncode, done.stderr], [0, b""])

        def complete(*words):
            script = (f"source c.bash; COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; _karma; "
                      'printf "%s\\n" "${COMPREPLY[@]}"')
            done = subprocess.run(["bash", "-c", script], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=HUNG)
            self.assertEqual(done.stderr, b"")
            return set(done.stdout.decode().split())

        self.assertLessEqual(set(COMMANDS), complete("karma", ""))
        self.assertEqual(complete("karma", "tr"), {"train"})
        for command in COMMANDS:
            self.assertEqual(complete("karma", command, "--"), {f"--{n}" for n in self.options_in_help(command)} | {"--help"})
        self.assertEqual(complete("karma", "train", "--effort", "off", "--loss", "h"), {"hinge", "huber"})
        self.assertEqual(complete("karma", "train", "--effort", "off", "c."), {"c.bash"})

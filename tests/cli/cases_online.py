"""karma online: rows of a stream are predicted before they are learned, in constant memory; checkpoints and continuing from
them."""
import gzip
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

from case import HUNG, KARMA, SOURCE, Case

GOES_ON = "has seen .* rows"


def lines(count, seed=3, first=0):
    """Rows of a table with missing cells, an unlabelled row now and then, and quotes with line feeds."""
    rng = random.Random(seed)
    rows = []
    for i in range(first + count):
        a, b, c = rng.gauss(0, 1), rng.gauss(5, 2), rng.choice(["red", "green", '"a, ""deep""\nblue"'])
        label = "" if rng.random() < 0.02 else "yes" if a + (b - 5) / 2 + (c == "red") + rng.gauss(0, 0.3) > 0 else "no"
        cells = ["" if rng.random() < 0.2 else text for text in (f"{a:.4f}", f"{b:.4f}", c)]
        rows.append(",".join(cells + [label]) + "\n")
    return rows[first:]


HEADER = "a,b,colour,answer\n"


class Online(Case):
    def learn(self, *args, text=None, rows=None, notes=None):
        return self.ok("online", *args, "--json", stdin=text if text is not None else HEADER + "".join(rows), notes=notes).json()

    def test_what_it_says(self):
        rows = lines(1500)
        n_unlabelled = sum(row.endswith(",\n") for row in rows)
        got = self.learn("--target", "answer", "--budget", "80", "--warm-up", "200", "-o", "m.karma", rows=rows)
        self.assertEqual((got["rows"], got["rows_without_label"], got["rows_of_unknown_class"]), (1500, n_unlabelled, 0))
        self.assertEqual(got["judged"], 1500 - n_unlabelled)
        self.assertEqual((got["landmarks"], got["target"], got["task"], got["loss"]), (80, "answer", "classify", "logistic"))
        most = max(sum(row.endswith(f",{label}\n") for row in rows) for label in ("yes", "no"))
        self.close_to(got["majority_error"], 1 - most / got["judged"], 1e-12)
        self.assertLess(got["progressive_error"], 0.6 * got["majority_error"])
        text = self.ok("online", "--target", "answer", "--budget", "80", "--warm-up", "200", stdin=HEADER + "".join(rows)).out
        self.assertRegex(text, r"rows +loss +errors")
        self.assertRegex(text, rf"(?m)^ +{got['judged']} ")
        self.assertIn(f"{100 * got['progressive_error']:.1f}%", text)
        self.assertIn("The model was not kept", text)
        # the model is one like any other
        self.write("new.csv", HEADER + "".join(lines(300, first=1500)))
        judged = self.ok("eval", "m.karma", "new.csv", "--json").json()
        self.assertGreater(judged["accuracy"], 1 - 1.3 * got["progressive_error"])
        counts = self.ok("inspect", "m.karma", "--json").json()["targets"][0]["classes"]
        self.assertEqual(sum(counts.values()) if isinstance(counts, dict) else sum(one["rows"] for one in counts), got["judged"])

    def test_the_account_is_that_of_predictions_before_learning(self):
        """Models that have seen the rows of whole blocks predict the next block: these are the errors that are counted."""
        rows = [row for row in lines(700) if not row.endswith(",\n")][:400]
        errors, start = 0, 200
        self.write("part.csv", HEADER + "".join(rows[:start]))
        how = ["--target", "answer", "--warm-up", "100", "--budget", "40"]
        before = self.ok("online", "part.csv", *how, "-o", "m.karma", "--json").json()
        t, block = 0, 1
        while t + block <= len(rows):  # blocks have 1 + t/8 rows
            if t >= start:
                break
            t, block = t + block, 1 + (t + block) // 8
        self.write("part.csv", HEADER + "".join(rows[:t]))
        self.write("next.csv", HEADER + "".join(rows[t:t + block]))
        first = self.ok("online", "part.csv", *how, "-o", "m.karma", "--json").json()
        predicted = [row[0] for row in self.ok("predict", "m.karma", "next.csv").rows()[1:]]
        errors = sum(got != row.strip().rpartition(",")[2] for got, row in zip(predicted, rows[t:t + block]))
        second = self.ok("online", "next.csv", "--continue", "m.karma", "--json", notes=[GOES_ON]).json()
        self.assertEqual(len(predicted), block)
        self.assertEqual(round(second["progressive_error"] * second["judged"]), round(first["progressive_error"] * first["judged"]) + errors)
        self.assertGreaterEqual(first["judged"], before["judged"])

    def test_errors_of_numbers_have_a_baseline(self):
        """Mean absolute errors in the units of the label: of predictions before learning, and of the mean of the labels before."""
        rng, start = random.Random(8), 200
        cells = [(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(400)]
        t, block = 0, 1
        while t < start:  # the next block begins behind t rows and has 1 + t/8
            t, block = t + block, 1 + (t + block) // 8

        def stream(first, end, unit):
            return "a,b,y\n" + "".join(f"{a!r},{b!r},{unit * (3 + a + b * b)!r}\n" for a, b in cells[first:end])

        def account(result, name):
            return result[name] * result["judged"]

        for unit in (1.0, 1000.0):
            first = self.learn("--target", "y", "--task", "regress", "--warm-up", "100", "-o", "m.karma", text=stream(0, t, unit))
            labels = [unit * (3 + a + b * b) for a, b in cells[:t]]
            means = [statistics.fmean(labels[:i] or labels[:100]) for i in range(t)]
            self.close_to(first["constant_error"], statistics.fmean(abs(y - mean) for y, mean in zip(labels, means)), 1e-9 * unit)
            self.assertLess(first["absolute_error"], 0.8 * first["constant_error"])
            self.write("next.csv", stream(t, t + block, unit))
            errors = sum(abs(float(row[0]) - unit * (3 + a + b * b))
                         for row, (a, b) in zip(self.ok("predict", "m.karma", "next.csv").rows()[1:], cells[t:]))
            second = self.ok("online", "next.csv", "--continue", "m.karma", "--json", notes=[GOES_ON]).json()
            self.close_to(account(second, "absolute_error"), account(first, "absolute_error") + errors, 1e-4 * unit)
            text = self.ok("online", "next.csv", "--continue", "m.karma", notes=[GOES_ON]).out
            self.assertRegex(text, r"error +\S+ on average \(mean absolute error\); always saying the mean so far: \S+")
        classes = self.learn("--target", "answer", "--warm-up", "100", "-o", "m.karma", rows=lines(200))
        self.assertEqual((classes["absolute_error"], classes["constant_error"]), (None, None))

    def test_the_rest_of_the_stream_gives_the_same_bytes(self):
        rows = lines(1300)
        for task in (["--target", "answer"], ["--target", "b", "--task", "regress", "--kernel", "linear(outer=rbf)"],
                     ["--target", "colour", "--loss", "squared-hinge", "--class-weight", "balanced"]):
            how = [*task, "--budget", "50", "--warm-up", "150"]
            whole = self.learn(*how, "-o", "whole.karma", rows=rows)
            for cut in (151, 640, 1299):
                with self.subTest(task=task, cut=cut):
                    self.learn(*how, "-o", "part.karma", "--threads", "2", rows=rows[:cut])
                    got = self.learn("--continue", "part.karma", "-o", "part.karma", rows=rows[cut:], notes=[GOES_ON])
                    self.assertEqual(self.read("part.karma"), self.read("whole.karma"))
                    whole["model"] = got["model"]
                    whole["seconds"] = got["seconds"]
                    self.assertEqual(got, whole)

    def test_report_and_curve(self):
        """The page of a stream and the printed table say the same: the errors of rows before they were learned."""
        self.write("d.csv", HEADER + "".join(lines(900)))
        for target, column in (("answer", 2), ("b", 1)):
            printed = self.ok("online", "d.csv", "--target", target, "--warm-up", "100", "--report", "r.html",
                              notes=["taken as a quantity"] if target == "b" else []).out
            table = [line.split() for line in printed.split("\n\n")[0].splitlines()[1:]]
            page = self.read("r.html").decode()
            drawn = re.findall(r"<tr><td>all rows so far<td>(\d+)<td>([^<\n]+)", page[page.index("<strong>Learning curve</strong>"):])
            self.assertGreater(len(drawn), 3)  # about 100, 200, 500 and all rows
            self.assertEqual([point[0] for point in drawn], [line[0] for line in table])
            for point, line in zip(drawn, table):
                self.assertAlmostEqual(float(point[1].rstrip("%")), float(line[column].rstrip("%")), delta=0.0051)
            self.assertIn("Learning from the stream", page)

    def test_train_goes_on_too(self):
        rows = lines(700)
        self.learn("--target", "answer", "--warm-up", "100", "-o", "whole.karma", rows=rows)
        self.learn("--target", "answer", "--warm-up", "100", "-o", "part.karma", rows=rows[:300])
        self.write("rest.csv", HEADER + "".join(rows[300:]))
        how = ["train", "rest.csv", "--continue", "part.karma", "-o", "both.karma"]
        self.ok(*how, "--solver", "online", notes=[GOES_ON])
        self.assertEqual(self.read("both.karma"), self.read("whole.karma"))
        self.fails(*how, code=2, says="--solver online")
        self.fails(*how, "--solver", "online", "--gamma", "3", code=2, says="--gamma cannot be changed")
        self.fails(*how, "--solver", "online", "--time", "3", code=2, says="--time cannot be changed")

    def test_the_division_of_a_pipe_changes_nothing(self):
        rows = lines(900)
        text = (HEADER + "".join(rows)).encode()
        how = ["online", "--target", "answer", "--warm-up", "100", "--budget", "50", "--quiet"]
        self.write("all.csv", text)
        self.write("all.csv.gz", gzip.compress(text))
        self.ok(*how, "all.csv", "-o", "whole.karma")
        self.ok(*how, "all.csv.gz", "-o", "packed.karma")
        self.assertEqual(self.read("packed.karma"), self.read("whole.karma"))
        process = subprocess.Popen([KARMA, *how, "-o", "pipe.karma", "--checkpoint", "100"], cwd=self.dir, stdin=subprocess.PIPE)
        rng = random.Random(1)
        at = 0
        while at < len(text):
            size = rng.choice([1, 7, 200, 3000])
            process.stdin.write(text[at:at + size])
            process.stdin.flush()
            at += size
            if size == 1:
                time.sleep(0.005)
        process.stdin.close()
        self.assertEqual(process.wait(timeout=HUNG), 0)
        self.assertEqual(self.read("pipe.karma"), self.read("whole.karma"))

    def test_memory_and_files_do_not_grow(self):
        sizes = []
        for count in (4000, 16000):
            self.write("long.csv", HEADER + "".join(lines(count)))
            process = subprocess.Popen([KARMA, "online", "long.csv", "--target", "answer", "--budget", "50", "--warm-up", "100",
                                        "--quiet", "--threads", "1", "-o", "m.karma"], cwd=self.dir)
            _, code, usage = os.wait4(process.pid, 0)
            process.returncode = code
            self.assertEqual(code, 0)
            sizes.append((usage.ru_maxrss * 1024, os.path.getsize(self.path("m.karma")), os.path.getsize(self.path("long.csv"))))
        grown = sizes[1][0] - sizes[0][0]
        # the text of a part is in memory; the rest does not grow
        if "sanitize" not in KARMA:  # the sanitizer keeps freed memory
            self.assertLess(grown, 6 * (sizes[1][2] - sizes[0][2]) + (4 << 20))
        self.assertLess(sizes[1][1], 1.5 * sizes[0][1])

    def test_a_budget_costs_little(self):
        """Compared with Algorithm 1, which keeps every row that it needs."""
        self.ok("synth", "--rows", "3000", "--dim", "12", "--rank", "3", "-o", "s.csv")
        free = self.ok("train", "s.csv", "--target", "target", "--solver", "online", "--passes", "1", "--shuffle", "off",
                       "--kernel", "rank", "-o", "free.karma", "--json").json()
        bound = self.ok("online", "s.csv", "--target", "target", "--budget", "100", "--json").json()
        self.assertLess(bound["progressive_error"], free["progressive_error"] + 0.01)

    def test_killed_at_any_moment(self):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "bench", "stream"), "kills", "--kills", "10", "--karma", KARMA],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HUNG)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("kills: every file whole", done.stdout)

    def test_signals_end_the_stream_and_keep_the_model(self):
        rows = lines(500)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([KARMA, "online", "--target", "answer", "--warm-up", "100", "-o", "m.karma"], cwd=self.dir,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            # the last line is incomplete, so it is not a row
            process.stdin.write(HEADER + "".join(rows) + "1.0,2")
            process.stdin.flush()
            self.assertRegex(process.stdout.readline(), "rows")
            time.sleep(0.3)
            process.send_signal(number)
            out, err = process.communicate(timeout=HUNG)  # before standard input is closed
            self.assertEqual(process.returncode, 0, err)
            self.assertRegex(err, r"interrupted after row \d+\n$")
            seen = int(err.split()[-1])
            self.assertLessEqual(seen, 500)
            self.write("rest.csv", HEADER + "".join(rows[seen:]) if seen < 500 else HEADER + rows[0])
            self.ok("online", "rest.csv", "--continue", "m.karma", "-o", "m.karma", "--quiet")

    def test_checkpoints_by_time_come_without_new_rows(self):
        process = subprocess.Popen([KARMA, "online", "--target", "answer", "--warm-up", "100", "-o", "m.karma", "--checkpoint", "0.2s",
                                    "--quiet"], cwd=self.dir, stdin=subprocess.PIPE)
        process.stdin.write((HEADER + "".join(lines(300))).encode())
        process.stdin.flush()
        deadline = time.monotonic() + HUNG
        while True:  # no more rows come, and the pipe stays open
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
            if os.path.exists(self.path("m.karma")):
                self.write("none.csv", HEADER)
                if "has seen 300 rows" in self.run_karma("online", "none.csv", "--continue", "m.karma").err:
                    break
        process.kill()
        process.stdin.close()
        process.wait()

    def test_new_classes_and_categories(self):
        rows = lines(400)
        more = ["1.0,5.0,violet,yes\n", "1.0,oops,red,maybe\n", ",,,perhaps\n"]
        run = self.run_karma("online", "--target", "answer", "--warm-up", "200", "--json", stdin=HEADER + "".join(rows + more))
        got = run.json()
        self.assertEqual((run.code, got["rows"], got["rows_of_unknown_class"]), (0, 403, 2), str(run))
        self.assertEqual(run.err.count("that these did not have"), 1, str(run))
        self.assertIn("'b'", run.err)  # 'oops' is no number

    def test_refusals(self):
        rows = HEADER + "".join(lines(60))
        self.write("d.csv", rows)
        self.fails("online", "d.csv", code=2, says="--target")
        self.fails("online", "d.csv", "--target", "nobody", says="no column 'nobody'")
        self.fails("online", "d.csv", "--target", "answer", "--budget", "0", code=2, says="budget")
        self.fails("online", "d.csv", "--target", "answer", "--loss", "hinge", code=2, says="second derivative")
        self.fails("online", "d.csv", "--target", "answer", "--kernel", "rank | linear", code=2, says="kernel")
        self.fails("online", "d.csv", "--target", "answer", "--checkpoint", "100", code=2, says="-o MODEL")
        for wrong in ("0", "-5", "ten", "5m", "1.5", "nan", "0s"):
            self.fails("online", "d.csv", "--target", "answer", "--checkpoint", wrong, "-o", "m.karma", code=2, says="--checkpoint")
        self.fails("online", "d.csv", "--target", "answer", "-o", "nowhere/m.karma", says="nowhere")
        self.fails("online", "--target", "answer", stdin=b"", says="empty")
        self.fails("online", "--target", "answer", stdin=HEADER, says="no row|no data|rows")
        self.fails("online", "--target", "answer", stdin=HEADER + "1,2,red,yes\n" * 30, says="only one class")
        self.ok("online", "d.csv", "--target", "answer", "--budget", "1", "-o", "one.karma", "--quiet")
        self.fails("online", "d.csv", "--continue", "one.karma", "--budget", "9", code=2, says="--budget cannot be changed")
        self.fails("online", "d.csv", "--continue", "one.karma", "--target", "colour", notes=1,
                   says="learns column 'answer', not 'colour': leave --target out")
        self.write("other.csv", "u,v\n1,2\n3,4\n")
        self.fails("online", "other.csv", "--continue", "one.karma", says="answer", notes=1)
        self.ok("train", "d.csv", "--target", "answer", "--kernel", "rank", "-o", "t.karma", "--quiet")
        self.fails("online", "d.csv", "--continue", "t.karma", says="not learned from a stream")
        whole = self.read("one.karma")
        for size in (0, 7, 300, len(whole) // 2, len(whole) - 1):
            self.write("cut.karma", whole[:size])
            self.fails("online", "d.csv", "--continue", "cut.karma", says="cut.karma")

    def test_first_rows_without_another_class(self):
        """The message says that more first rows may help: in the whole stream there are two classes."""
        rows = ["%.3f,no\n" % (i / 7) for i in range(40)] + ["%.3f,%s\n" % (i, "yes" if i % 2 else "no") for i in range(40)]
        self.write("late.csv", "a,y\n" + "".join(rows))
        self.fails("online", "late.csv", "--target", "y", "--warm-up", "30",
                   says="only one class, 'no'.*the first 30 rows.*--warm-up")
        self.ok("online", "late.csv", "--target", "y", "--warm-up", "60", "--quiet")
        self.write("none.csv", "a,y\n" + "".join(["%.3f,\n" % i for i in range(40)] + rows))
        self.fails("online", "none.csv", "--target", "y", "--warm-up", "30", says="no row has a label.*--warm-up")

    def test_a_quote_that_quotes_nothing(self):
        """5" in a cell is a text with a quote. It does not make the lines after it one record, for which a pipe would be
        waited for without end."""
        rows = ["%.3f,%s,%s\n" % (i % 13, '5" pipe' if i == 10 else '"a\nrod"' if i == 90 else "rod", "yes" if i % 3 else "no")
                for i in range(300)]
        how = ["online", "--target", "y", "--warm-up", "80", "-o", "m.karma"]
        for options in ([], ["--delimiter", "comma"]):
            with self.subTest(options=options):
                process = subprocess.Popen([KARMA, *how, *options, "--quiet", "--checkpoint", "100"], cwd=self.dir,
                                           stdin=subprocess.PIPE)
                process.stdin.write(("a,item,y\n" + "".join(rows[:200])).encode())
                process.stdin.flush()
                deadline = time.monotonic() + HUNG
                while not os.path.exists(self.path("m.karma")):  # the pipe stays open
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
                process.stdin.write("".join(rows[200:]).encode())
                process.stdin.close()
                self.assertEqual(process.wait(timeout=HUNG), 0)
                piped = self.read("m.karma")
                self.write("d.csv", "a,item,y\n" + "".join(rows))
                self.ok(*how, *options, "d.csv", "--quiet")
                self.assertEqual(self.read("m.karma"), piped)
                os.unlink(self.path("m.karma"))
        # the first rows end within no quoted cell, with any quotes before
        for warm_up in range(88, 94):
            self.ok(*how, "d.csv", "--warm-up", str(warm_up), "--quiet")

    def test_ctrl_c_before_the_model_begins(self):
        process = subprocess.Popen([KARMA, "online", "--target", "answer", "-o", "m.karma"], cwd=self.dir, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdin.write(HEADER + "".join(lines(100)))
        process.stdin.flush()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HUNG)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(err, r"interrupted after \d+ of the first 1001 lines, from which the model begins \(--warm-up\)")
        self.assertFalse(os.path.exists(self.path("m.karma")))

    def test_a_bad_row_keeps_what_came_before(self):
        self.write("bad.csv", HEADER + "".join(lines(200)) + "1,2,red\n1,2,red,yes,9,9\n")
        self.write("good.csv", HEADER + "".join(lines(150)))
        how = ["online", "--target", "answer", "--warm-up", "100", "-o", "m.karma", "--quiet"]
        process = subprocess.Popen([KARMA, *how], cwd=self.dir, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdin.write(HEADER + "".join(lines(300)))
        process.stdin.flush()
        time.sleep(0.5)
        try:
            process.stdin.write("1,2,red,yes,9,9\n")
            process.stdin.flush()
            process.stdin.close()
        except BrokenPipeError:
            pass
        err = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=HUNG), 1, err)
        self.assertRegex(err, r"line \d+")
        if "rows before the error" in err:  # unless everything was read at once
            seen = int(err.split(" rows before")[0].split()[-1])
            self.ok(*how, stdin=HEADER + "".join(lines(300)[:seen]))

    def test_a_huge_value_late_in_the_stream(self):
        """It would outweigh everything learned so far. The message names the row, and the rows before it are kept; ranks are
        not affected."""
        how = ["online", "d.csv", "--target", "answer", "--warm-up", "100", "-o", "m.karma"]
        for position in (450, 699):
            rows = lines(700)
            rows[position] = "1e308,5,red,yes\n"
            self.write("d.csv", HEADER + "".join(rows))
            for kernel in ("linear", "linear(outer=poly)", "linear(outer=rbf)"):
                run = self.run_karma(*how, "--kernel", kernel, "--quiet")
                self.assertEqual(run.code, 1, str(run))
                self.assertRegex(run.err, rf"row {position + 1}: the value in column 'a'", str(run))
                self.assertIn(f"m.karma has the {position} rows before the error", run.err)
                kept = self.read("m.karma")
                self.write("before.csv", HEADER + "".join(rows[:position]))
                self.ok("online", "before.csv", *how[2:], "--kernel", kernel, "--quiet")
                self.assertEqual(self.read("m.karma"), kept, kernel)
            self.ok(*how, "--kernel", "rank", "--quiet")

    def test_a_huge_label_late_in_the_stream(self):
        rng = random.Random(5)
        rows = [f"{a:.4f},{2 * a + rng.gauss(0, 0.1):.4f}\n" for a in (rng.gauss(0, 1) for _ in range(300))]
        for label in ("1e308", "-1e200", "1e12"):
            self.write("d.csv", "a,y\n" + "".join(rows[:250]) + f"1,{label}\n" + "".join(rows[250:]))
            for loss in ("huber", "squared"):
                run = self.run_karma("online", "d.csv", "--target", "y", "--warm-up", "100", "--loss", loss, "-o", "m.karma", "--quiet")
                self.assertEqual(run.code, 1, str(run))
                self.assertIn("row 251: its label is too far", run.err)
                self.assertIn("m.karma has the 250 rows before the error", run.err)
                self.assertIn("250 rows", self.ok("inspect", "m.karma").out)

    def test_a_label_that_is_no_number(self):
        self.write("d.csv", "a;y\n" + "".join(f"{i % 17};{i % 29},5\n" for i in range(300)) + "1;broken\n2;3,5\n")
        self.fails("online", "d.csv", "--target", "y", "--task", "regress", "--warm-up", "100", "--quiet",
                   says="labels that are no numbers, such as 'broken'")

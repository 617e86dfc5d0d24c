"""predict reads, predicts and writes part by part: the same answers, constant memory, output while it runs."""
import json
import os
import signal
import subprocess

from case import KARMA, Case

NAMES = "id,x,colour,seen,n"
PART_BYTES = 8 << 20  # what is read at a time
TRAINING = NAMES + ",y\n" + "".join(
    f"a{i},{(i * 37 % 101) / 7},{('red', 'green', 'blue')[i % 3]},2020-0{1 + i % 9}-1{i % 10},{i % 13},"
    f"{'yes' if (i * 37 % 101) > 50 else 'no'}\n" for i in range(120))


WIDE = NAMES + ",remark"  # which the model does not know


def rows(first, count, remark=200):
    """Rows with missing cells, unseen categories, texts among numbers, quotes with line feeds. The remark is long, so that
    few rows fill more than one part, 8 MB."""
    colours = ["red", '"green"', "blue", "", '"a, ""new""\none"']
    return [f"r{i},{'' if i % 4 == 0 else (i * 53 % 211) / 3},{colours[i % 5]},"
            f"{'' if i % 6 == 0 else '2021-0%d-0%d' % (1 + i % 9, 1 + i % 8)},{'oops' if i % 997 == 5 else i % 17},"
            f"{'-' * remark}\n" for i in range(first, first + count)]


class Streaming(Case):
    def setUp(self):
        super().setUp()
        self.write("train.csv", TRAINING)
        self.good("train", "train.csv", "--target", "y", "--id", "id", "--kernel", "linear", "--gamma", "2", "-o", "m.karma")

    def good(self, *args):
        run = self.run_karma(*args)
        self.assertEqual(run.code, 0, str(run))
        return run

    def test_parts_give_the_same_answers_as_small_files(self):
        # pieces of 1,000 rows are predicted in separate runs
        total, step = 45000, 1000
        everything = rows(0, total)
        self.write("all.csv", WIDE + "\n" + "".join(everything))
        self.assertGreater(os.path.getsize(self.path("all.csv")), PART_BYTES)
        for extra in ([], ["--threads", "1"]):
            whole = self.good("predict", "m.karma", "all.csv", "--flags", *extra).out.splitlines()
            self.assertEqual(len(whole), total + 1)
        for first in (0, 20000, 42000, total - step):
            self.write("piece.csv", WIDE + "\n" + "".join(everything[first:first + step]))
            piece = self.good("predict", "m.karma", "piece.csv", "--flags").out.splitlines()
            self.assertEqual(piece[1:], whole[1 + first:1 + first + step])
        packed = subprocess.run(["gzip", "-c", self.path("all.csv")], check=True, capture_output=True).stdout
        self.write("all.csv.gz", packed)
        self.assertEqual(self.good("predict", "m.karma", "all.csv.gz", "--flags").out.splitlines(), whole)
        said = [note for note in self.good("predict", "m.karma", "all.csv", "-o", "out.csv").notes() if "'n'" in note]
        n_texts = sum(1 for i in range(total) if i % 997 == 5)
        self.assertEqual(len(said), 1)
        self.assertIn(f"{n_texts} cells that are not numbers ('oops')", said[0])

    def test_json_is_whole(self):
        count = 45000
        self.write("all.csv", WIDE + "\n" + "".join(rows(0, count)))
        answers = json.loads(self.good("predict", "m.karma", "all.csv", "--json", "--abstain", "2").out)
        lines = self.good("predict", "m.karma", "all.csv").rows()[1:]
        self.assertEqual(answers["target"], "y")
        self.assertEqual(answers["targets"], ["y"])
        self.assertEqual([row["id"] for row in answers["predictions"]], [line[0] for line in lines])
        self.assertEqual([row["score"] for row in answers["predictions"]], [float(line[2]) for line in lines])
        self.assertEqual(answers["abstained"], sum(1 for row in answers["predictions"] if row["prediction"] is None))

    def peak(self, name):
        """The most memory that predicting the file takes, in KB."""
        # the address sanitizer would keep what is freed, up to 256 MB
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
        child = subprocess.Popen([KARMA, "predict", self.path("m.karma"), self.path(name), "--quiet", "--threads", "1"],
                                 stdout=subprocess.DEVNULL, env=dict(os.environ, ASAN_OPTIONS=sanitizer))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        self.assertEqual(status, 0)
        return usage.ru_maxrss

    def test_memory_does_not_grow_with_the_rows(self):
        text = "".join(rows(0, 110000, 60))  # 10 MB
        self.write("short.csv", WIDE + "\n" + text)
        self.write("long.csv", WIDE + "\n" + text * 4)
        self.assertLess(self.peak("long.csv"), 1.1 * self.peak("short.csv") + 2000)

    def test_a_row_is_answered_before_the_next_one_comes(self):
        child = subprocess.Popen([KARMA, "predict", self.path("m.karma"), "-", "--quiet"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        child.stdin.write((NAMES + "\n").encode())
        for i in range(5):
            child.stdin.write(f"q{i},{i},red,2021-01-01,{i}\n".encode())
            child.stdin.flush()
            if i == 0:
                self.assertEqual(child.stdout.readline(), b"id,prediction,score\n")
            self.assertTrue(child.stdout.readline().startswith(f"q{i},".encode()))
        child.stdin.close()
        self.assertEqual(child.stdout.read(), b"")
        child.stdout.close()
        self.assertEqual(child.wait(), 0)

    def test_a_fault_in_a_later_part(self):
        text = WIDE + "\n" + "".join(rows(0, 45000))
        self.write("ragged.csv", text + "r,1\n")
        line = text.count("\n") + 1
        self.fails("predict", "m.karma", "ragged.csv", "-o", "out.csv", says=f"line {line}: 2 fields, header has 6; if the line is not a row of the table, remove it$")


class Outputs(Case):
    """Files that appear whole, together, and never replace an input."""

    def test_no_input_is_overwritten(self):
        self.write("t.csv", "a,b,y\n" + "".join(f"{i % 7},{i % 5},{'pq'[i % 2]}\n" for i in range(40)))
        self.write("g.csv", "1,0\n0,1\n")
        for args in (["gram", "t.csv", "--against", "g.csv", "-o", "g.csv"],
                     ["train", "t.csv", "--target", "y", "--gram", "g.csv", "-o", "g.csv"]):
            self.fails(*args, code=2, says="would overwrite the input")
        before = self.contents()
        with open(self.path("t.csv"), "rb") as stdin:
            done = subprocess.run([KARMA, "train", "-", "--target", "y", "-o", "t.csv"], cwd=self.dir, stdin=stdin,
                                  capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"would overwrite the input", done.stderr)
        self.assertEqual(self.contents(), before)

    def test_two_outputs_appear_together_or_not_at_all(self):
        self.write("t.csv", "a,b,c\n" + "".join(f"{i % 7},{'' if i % 3 else 2 * (i % 7)},{i % 7 + 1}\n" for i in range(60)))
        self.write("errors.csv", "old\n")
        self.write("y.csv", "a,b,c,y\n" + "".join(f"{i % 7},{2 * (i % 7)},{i % 7 + 1},{'pq'[i % 7 > 3]}\n" for i in range(60)))
        self.run_karma("train", "y.csv", "--target", "y", "--kernel", "subspace", "-o", "m.karma", "--quiet")
        for first, second in (("/dev/full", "errors.csv"), ("errors.csv", "/dev/full")):
            self.fails("complete", "m.karma", "t.csv", "-o", first, "--errors", second, says="No space left on device")

    def test_a_process_that_ends_leaves_nothing(self):
        try:
            os.close(os.open(self.dir, os.O_TMPFILE | os.O_WRONLY))
        except (AttributeError, OSError) as error:
            self.skipTest(f"no files without a name here: {error}")
        self.write("train.csv", TRAINING)
        self.run_karma("train", "train.csv", "--target", "y", "--id", "id", "--kernel", "linear", "-o", "m.karma", "--quiet")
        before = self.contents()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with subprocess.Popen([KARMA, "predict", "m.karma", "-", "-o", "out.csv"], cwd=self.dir, stdin=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL) as child:
                child.stdin.write((NAMES + "\nq,1,red,2021-01-01,2\n").encode())
                child.stdin.flush()  # and no end, so the output stays open
                while not self.writes_unnamed(child):
                    self.assertIsNone(child.poll())
                child.send_signal(number)
            self.assertEqual(self.contents(), before)

    def writes_unnamed(self, child):
        """Whether the process has a file open that has no name in the directory."""
        folder = f"/proc/{child.pid}/fd"
        try:
            return any(os.readlink(os.path.join(folder, fd)).startswith(os.path.realpath(self.dir)) for fd in os.listdir(folder))
        except FileNotFoundError:
            return False

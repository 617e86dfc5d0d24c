"""Running the tool in a directory of its own, and tables that it can learn."""
import csv
import io
import json
import os
import pty
import random
import re
import resource
import select
import shutil
import subprocess
import tempfile
import time
import unittest

SOURCE = os.path.abspath(os.environ.get("KARMA_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..")))
KARMA = os.path.abspath(os.environ.get("KARMA", os.path.join(SOURCE, "build", "karma")))
COMMANDS = ["train", "predict", "eval", "report", "explain", "complete", "cv", "compare", "inspect", "gram", "online", "theory", "synth"]
HUNG = 3600  # seconds after which a run counts as hung; far more than any run needs, on any machine
UNLIKE = "cells unlike the training rows"
CRASH = re.compile(r"Sanitizer|runtime error|Traceback|Assertion|Segmentation|core dumped|stack smashing")
NOBODY = 65534
COUNTED = "coverage" in KARMA  # a process writes its counts when it ends


class Run:
    """The result of one call of the tool."""

    def __init__(self, args, code, out, err):
        self.args, self.code = args, code
        self.raw = out
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")

    def __str__(self):
        return f"karma {' '.join(map(str, self.args))}\nexit {self.code}\nstdout: {self.out[:2000]}\nstderr: {self.err[:2000]}"

    def json(self):
        value = json.loads(self.out)
        if not isinstance(value, dict):
            raise AssertionError(f"not an object: {self.out[:200]}")
        return value

    def notes(self, about_cells=False):
        """Random rows often lie slightly outside the range of others, so the note about that is included only on request."""
        return [line for line in self.err.splitlines()
                if line.startswith("karma: note: ") and (about_cells or UNLIKE not in line)]

    def complaints(self):
        return [line for line in self.err.splitlines() if not line.startswith("karma: note: ")]

    def rows(self):
        return list(csv.reader(io.StringIO(self.out)))


class Case(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="karma-cli-")
        self.addCleanup(shutil.rmtree, self.dir, True)

    def tearDown(self):
        left = [name for name in self.files() if name.endswith(".part")]
        self.assertEqual(left, [], "temporary files were left behind")

    # --- files ---

    def path(self, name):
        return os.path.join(self.dir, name)

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.dir)
                      for folder, _, names in os.walk(self.dir) for name in names)

    def contents(self):
        return {name: self.read(name) for name in self.files()}

    def write(self, name, content):
        if isinstance(content, str):
            content = content.encode()
        with open(self.path(name), "wb") as file:
            file.write(content)
        return name

    def write_csv(self, name, header, rows, delimiter=","):
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        if header:
            writer.writerow(header)
        writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
        return self.write(name, text.getvalue())

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def read_rows(self, name, delimiter=","):
        with open(self.path(name), newline="", encoding="utf-8") as file:
            return list(csv.reader(file, delimiter=delimiter))

    # --- running ---

    def run_karma(self, *args, stdin=b"", **more):
        """Runs to the end, whatever the exit code; a signal or a sanitizer's report fails the test."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        more.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([KARMA, *args], input=stdin, stderr=subprocess.PIPE, cwd=self.dir, timeout=HUNG, **more)
        run = Run(args, done.returncode, done.stdout or b"", done.stderr)
        self.assertNotRegex(run.err, CRASH, str(run))
        self.assertGreaterEqual(run.code, 0, f"killed by a signal\n{run}")
        return run

    def ok(self, *args, notes=None, **more):
        """Must succeed and print only notes on stderr; `notes` lists one pattern for each."""
        run = self.run_karma(*args, **more)
        self.assertEqual(run.code, 0, str(run))
        self.assertEqual(run.complaints(), [], str(run))
        if notes is None:
            notes = []
        told = run.notes(about_cells=any(UNLIKE in pattern for pattern in notes))
        self.assertEqual(len(told), len(notes), str(run))
        for note, pattern in zip(told, notes):
            self.assertRegex(note, pattern)
        return run

    def fails(self, *args, code=1, says="", notes=None, **more):
        """Must fail with one sentence, nothing on stdout, and every file as it was before."""
        before = self.contents()
        run = self.run_karma(*args, **more)
        self.assertEqual(run.code, code, str(run))
        self.assertEqual(len(run.complaints()), 1, str(run))
        self.assertRegex(run.complaints()[0], r"^karma: \S", str(run))
        self.assertRegex(run.complaints()[0], says, str(run))
        self.assertTrue(run.err.endswith("\n"), str(run))
        if notes is not None:
            self.assertEqual(len(run.notes()), notes, str(run))
        self.assertEqual(run.out, "", str(run))
        self.assertEqual(self.contents(), before, "files changed: " + str(run))
        return run

    def small_files(self, most):
        """Options for a run that cannot write more than so many bytes into a file."""
        if COUNTED:
            self.skipTest("a limit on file sizes also stops the counts of a coverage build")
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}

    def ordinary_user(self):
        """Options for a run that file permissions apply to. Root's are not: then the tool runs as nobody, if nobody may."""
        if os.getuid() != 0:
            return {}
        if COUNTED:
            self.skipTest("nobody cannot write the counts of a coverage build")
        user = {"user": NOBODY, "group": NOBODY}
        os.chmod(self.dir, 0o755)
        try:
            self.run_karma("--version", **user)
        except (PermissionError, FileNotFoundError):
            self.skipTest("root is not bound by permissions, and nobody cannot run the binary")
        return user

    def with_fault(self, fault, **more):
        """The environment of a run in which a call of the system does something else; tests/faults/faults.c has the list."""
        if "KARMA_FAULTS" not in os.environ:
            self.skipTest("the library of faults is not built")
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return dict(os.environ, KARMA_FAULT=fault, LD_PRELOAD=os.environ["KARMA_FAULTS"], ASAN_OPTIONS=options, **more)

    def on_terminal(self, *args, until=None, act=None, size=1 << 20):
        """Runs with stderr on a terminal of its own. When the text matches `until`, `act(process)` is called once.
        Gives the exit code, stdout and all that the terminal received."""
        try:
            main, other = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminals here: {error}")
        process = subprocess.Popen([KARMA, *args], cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=other)
        os.close(other)
        text, deadline = b"", time.monotonic() + HUNG
        try:
            while True:
                if not select.select([main], [], [], max(0.0, deadline - time.monotonic()))[0]:
                    raise AssertionError(f"nothing more within {HUNG} s; so far: {text[-500:]!r}")
                try:
                    part = os.read(main, size)
                except OSError:  # the other side is closed
                    part = b""
                if not part:
                    break
                text += part
                if act and until and re.search(until, text):
                    act(process)
                    act = None
            out = process.communicate(timeout=HUNG)[0]
        finally:
            os.close(main)
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        return process.returncode, out.decode(), text.decode("utf-8", "replace")

    def wait_for_work(self, process, seconds=1.0):
        """Until the process has used that much processor time, which does not depend on what else the machine does."""
        deadline = time.monotonic() + HUNG
        while True:
            with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") >= seconds:
                return
            self.assertIsNone(process.poll(), "it ended before it had worked that much")
            self.assertLess(time.monotonic(), deadline, "it hangs")
            time.sleep(0.01)

    def close_to(self, a, b, tolerance=1e-5, what=""):
        self.assertLessEqual(abs(a - b), tolerance * max(1.0, abs(a), abs(b)), f"{what}: {a} and {b}")

    # --- tables that can be learned ---

    def two_classes(self, name="two.csv", n=120, seed=1, labels=("no", "yes"), holes=0.2, ids=False):
        """Columns a, b (numbers), colour (category), answer; with ids also `who` in front. Gives the rows."""
        rng = random.Random(seed)
        rows = []
        for i in range(n):
            a, b = rng.gauss(0, 1), rng.gauss(5, 2)
            side = a + (b - 5) / 2 > 0
            colour = rng.choice(["red", "green"]) if side else rng.choice(["green", "blue", "blue"])
            cells = [round(a, 4), round(b, 4), colour]
            cells = [None if rng.random() < holes else cell for cell in cells]
            rows.append(([f"r{i}"] if ids else []) + cells + [labels[side]])
        self.write_csv(name, (["who"] if ids else []) + ["a", "b", "colour", "answer"], rows)
        return rows

    def three_classes(self, name="three.csv", n=150, seed=2, holes=0.15):
        rng = random.Random(seed)
        centres = {"ash": (3, 0, 0), "birch, white": (-3, 2, 0), "elm": (0, -3, 3)}
        rows = []
        for _ in range(n):
            label = rng.choice(sorted(centres))
            cells = [round(c + rng.gauss(0, 0.8), 4) for c in centres[label]]
            rows.append([None if rng.random() < holes else cell for cell in cells] + [label])
        self.write_csv(name, ["p", "q", "r", "tree"], rows)
        return rows

    def quantity(self, name="price.csv", n=200, seed=3, holes=0.1):
        rng = random.Random(seed)
        rows = []
        for _ in range(n):
            a, b, c = (rng.gauss(0, 1) for _ in range(3))
            y = 100 + 20 * a - 10 * b + 5 * c + rng.gauss(0, 0.5)
            rows.append([None if rng.random() < holes else round(v, 4) for v in (a, b, c)] + [round(y, 3)])
        self.write_csv(name, ["a", "b", "c", "price"], rows)
        return rows

    def trained(self, **more):
        """A small model m.karma on two.csv; gives the rows."""
        rows = self.two_classes(**more)
        ids = ["--id", "who"] if more.get("ids") else []
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", *ids, "-o", "m.karma", "--quiet")
        return rows

    def solvers(self):
        """The solvers that train knows, from its help."""
        return re.search(r"--solver (\S+)", self.ok("train", "--help").out).group(1).split("|")

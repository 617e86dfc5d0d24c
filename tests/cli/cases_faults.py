"""Faults of the system, by a library that is loaded before the C library (tests/faults/faults.c): a run gives what it gives
without the fault, or ends with one sentence and leaves every file as it was. And runs that are killed at any moment."""
import errno
import json
import os
import random
import signal
import subprocess
import time

from case import HUNG, KARMA, SOURCE, Case

CLINIC = os.path.join(SOURCE, "examples", "clinic.csv")
N_KILLS = int(os.environ.get("KARMA_KILLS", "8"))  # of each command; dev/kills sets 200
TRAIN = ["train", "d.csv", "--target", "outcome", "--id", "patient", "--effort", "off"]
ONLINE = ["online", "d.csv", "--target", "outcome", "--id", "patient", "--warm-up", "20", "--checkpoint", "25"]


class Faults(Case):
    COMMANDS = {
        "train": [*TRAIN, "-o", "out.karma"],
        "predict": ["predict", "m.karma", "d.csv", "-o", "out.csv"],
        "standard output": ["predict", "m.karma", "d.csv"],
        "json": ["eval", "m.karma", "d.csv", "--json"],
        "report": ["report", "m.karma", "d.csv", "-o", "out.html"],
        "complete": ["complete", "s.karma", "d.csv", "--id", "patient", "-o", "out.csv", "--errors", "errors.csv"],
        "gram": ["gram", "d.csv", "--id", "patient", "--ignore", "outcome", "-o", "out.csv"],
        "online": [*ONLINE, "-o", "out.karma"],
        "synth": ["synth", "--rows", "30", "--dim", "4", "--rank", "2", "-o", "out.csv", "--complete", "whole.csv"],
    }
    OUTPUTS = ["out.karma", "out.csv", "out.html", "errors.csv", "whole.csv"]

    def setUp(self):
        super().setUp()
        with open(CLINIC, encoding="utf-8") as file:
            self.write("d.csv", "".join(file.readlines()[:61]))
        self.ok(*TRAIN, "-o", "m.karma", "--quiet")
        self.ok(*TRAIN, "--kernel", "subspace", "--subspace-rank", "1", "-o", "s.karma", "--quiet")

    def run_with(self, fault, args):
        """Old files exist before the run; returns the run, the files afterwards, and the counts of calls."""
        for name in self.OUTPUTS:
            self.write(name, "old\n")
        run = self.run_karma(*args, env=self.with_fault(fault, KARMA_FAULT_COUNTS=self.path("counts")))
        counts = json.loads(self.read("counts"))
        os.unlink(self.path("counts"))
        self.assertEqual([name for name in self.files() if name.endswith(".part")], [], f"{fault}: {run}")
        return run, {name: self.read(name) for name in self.OUTPUTS}, counts

    def old(self):
        return {name: b"old\n" for name in self.OUTPUTS}

    def same(self, fault, args, wanted):
        run, files, _ = self.run_with(fault, args)
        self.assertEqual((run.code, run.complaints()), (0, []), f"{fault}: {run}")
        self.assertEqual((self.timeless(run.out), files), (self.timeless(wanted[0].out), wanted[1]), f"{fault}: {run}")

    def timeless(self, text):
        """Without seconds, which differ from run to run."""
        return [line for line in text.splitlines() if "second" not in line and " s" not in line]

    def test_nothing_is_lost_and_nothing_is_half_there(self):
        for name, args in self.COMMANDS.items():
            wanted = self.run_with("none", args)
            self.assertEqual(wanted[0].code, 0, str(wanted[0]))
            counts = wanted[2]
            for fault in ("short", "interrupt", f"unnamed:0:{errno.EOPNOTSUPP}"):
                self.same(fault, args, wanted)
            for kind, code in (("read", errno.EIO), ("write", errno.ENOSPC), ("write", errno.EIO), ("sync", errno.EIO), ("rename", errno.EIO),
                               ("link", errno.EIO), ("room", errno.ENOSPC)):
                for at in self.moments(kind, counts[kind]):
                    may_succeed = kind == "sync" and at > counts["rename"]  # the sync of the directory: the file exists and is complete
                    self.fails_cleanly(name, f"{kind}:{at}:{code}", args, os.strerror(code), may_succeed)

    def moments(self, kind, count):
        """Each of the first calls and the last; bytes of room: none, some, all but one."""
        if kind == "room":
            return sorted({0, count // 2, count - 1} if count else ())
        return sorted({1, 2, count} & set(range(1, count + 1)))

    def fails_cleanly(self, name, fault, args, reason, may_succeed):
        run, files, _ = self.run_with(fault, args)
        told = f"{name}, {fault}: {run}"
        if run.code == 0:
            self.assertTrue(may_succeed or (name == "online" and "no checkpoint" in run.err), told)
            return
        self.assertEqual(run.code, 1, told)
        # a stream remembers that it failed, but not why; no more bytes are written to a file that is not ours
        reasons = [reason] + [os.strerror(errno.EIO)] * ("standard output" in run.err)
        self.assertTrue(any(one in line for one in reasons for line in run.complaints()), told)
        if name == "online":  # the rows learned before the fault are kept, in a complete file
            self.whole_or_old(files["out.karma"], told)
            return
        self.assertEqual(len(run.complaints()), 1, told)
        if fault.startswith("rename:2"):  # both files were on the disk by then; no system call renames two files at once
            self.assertEqual(sum(content == b"old\n" for content in files.values()), len(files) - 1, told)
        elif "standard output" not in run.err:
            self.assertEqual(files, self.old(), told)

    def whole_or_old(self, content, told):
        if content == b"old\n":
            return
        self.write("whole.karma", content)
        self.assertEqual(self.run_karma("inspect", "whole.karma").code, 0, told)

    JSON = {
        "train": [*TRAIN, "-o", "out.karma"],
        "predict": ["predict", "m.karma", "d.csv"],
        "eval": ["eval", "m.karma", "d.csv"],
        "explain": ["explain", "m.karma", "few.csv", "--id", "patient"],
        "complete": ["complete", "s.karma", "few.csv", "--id", "patient", "-o", "out.csv"],
        "next": ["next", "p.karma", "few.csv", "--id", "patient"],
        "inspect": ["inspect", "d.csv", "--target", "outcome", "--id", "patient"],
        "a model": ["inspect", "m.karma"],
        "online": [*ONLINE, "-o", "out.karma"],
    }

    def test_json_without_memory(self):
        """Whichever request for memory fails, JSON is complete or the run fails with a sentence."""
        if "sanitize" in KARMA:
            self.skipTest("the sanitizer prints a warning of its own when memory is refused")
        self.write("few.csv", b"".join(self.read("d.csv").splitlines(True)[:4]))
        self.ok(*TRAIN, "--kernel", "subspace", "--subspace-rank", "1", "--probabilities", "sigmoid", "-o", "p.karma", "--quiet")
        for name, args in self.JSON.items():
            wanted, _, counts = self.run_with("none", [*args, "--json"])
            self.assertEqual(wanted.code, 0, str(wanted))
            n = counts["json"]
            self.assertGreater(n, 10, name)
            for at in sorted({1, 2, n // 5, n // 2, 4 * n // 5, n - 5, n}):
                for more in (0, n):
                    run, _, _ = self.run_with(f"json:{at}:{more}", [*args, "--json"])
                    told = f"{name}, requests {at} to {at + more} of {n}: {run}"
                    complaints = [line for line in run.complaints() if "warning: no checkpoint" not in line]
                    self.assertEqual((run.code, len(complaints)), (1, 1), told)
                    # while Jansson reads a header, it takes the lack of memory for a wrong character, too
                    self.assertRegex(run.err, "memory|not a usable model", told)

    def test_full_temporary_directory(self):
        """Rows for a database are kept in a temporary file until all are complete; then the table is written."""
        args = ["predict", "m.karma", "d.csv", "-o", "sqlite:out.db?table=scores"]
        wanted, _, counts = self.run_with("none", args)
        if "built without" in wanted.err:
            self.skipTest("libsqlite3 is not installed")
        self.assertEqual(wanted.code, 0, str(wanted))
        for fault in (f"temporary:0:{errno.ENOSPC}", f"room:0:{errno.ENOSPC}", f"room:{counts['room'] // 2}:{errno.ENOSPC}", f"write:1:{errno.EIO}"):
            os.unlink(self.path("out.db"))
            run, _, _ = self.run_with(fault, args)
            self.assertEqual((run.code, len(run.complaints())), (1, 1), f"{fault}: {run}")
            self.assertRegex(run.err, "temporary file.*(No space left|Input/output)", fault)
            self.assertNotIn(b"scores", self.read("out.db") if os.path.exists(self.path("out.db")) else b"", fault)
            self.run_with("none", args)

    def test_clocks_that_jump(self):
        """An hour forwards and backwards again: a search with a time limit ends, with a model."""
        for args in ([*TRAIN[:-1], "quick", "--time", "2", "--threads", "1", "-o", "out.karma"], self.COMMANDS["train"], self.COMMANDS["online"],
                     [*ONLINE[:-1], "1s", "-o", "out.karma"]):
            for at in (1, 3, 10):
                run, files, _ = self.run_with(f"clock:{at}:0", args)
                self.assertEqual(run.code, 0, str(run))
                self.whole_or_old(files["out.karma"], str(run))
                self.assertNotEqual(files["out.karma"], b"old\n", str(run))


class Kills(Case):
    """kill -9 at any moment leaves the whole old file or the whole new one, and no other file.

    But for one moment: no system call replaces a file by one without a name, so between two calls a new file has a temporary
    one. A kill just there leaves it, and the next write removes it.
    """

    def kill_often(self, args, output, is_whole, seed):
        rng = random.Random(seed)
        started = time.monotonic()
        self.assertEqual(self.run_karma(*args).code, 0)
        whole = time.monotonic() - started
        versions = {self.read(output)}
        n_ended = n_caught = 0
        for kill in range(N_KILLS):
            with subprocess.Popen([KARMA, *args, *(["--seed", str(kill % 2)] if args[0] == "train" else [])], cwd=self.dir, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                time.sleep(rng.uniform(0.0, 1.1 * whole))
                process.send_signal(signal.SIGKILL)
                n_ended += process.wait(timeout=HUNG) == 0
            content = self.read(output)
            if content not in versions:
                versions.add(content)
                is_whole()
            left = [name for name in self.files() if name.endswith(".part")]
            self.assertIn(left, ([], [f"{output}.{process.pid}.0.part"]), f"kill {kill} left them")
            if left:
                n_caught += 1
                self.assertEqual(self.run_karma(*args).code, 0)
                self.assertEqual([name for name in self.files() if name.endswith(".part")], [])
        print(f"# {args[0]}: {N_KILLS} kills, {n_ended} runs had ended before, {n_caught} just before the rename", flush=True)

    def setUp(self):
        super().setUp()
        with open(CLINIC, encoding="utf-8") as file:
            self.write("d.csv", "".join(file.readlines()[:201]))

    def test_train(self):
        self.kill_often([*TRAIN, "--certainty", "off", "-o", "out.karma"], "out.karma", lambda: self.ok("inspect", "out.karma"), 1)

    def test_report(self):
        self.ok(*TRAIN, "-o", "m.karma", "--quiet")
        self.kill_often(["report", "m.karma", "d.csv", "-o", "out.html"], "out.html",
                        lambda: self.assertTrue(self.read("out.html").rstrip().endswith(b"</html>")), 2)

"""--cache: a table that is kept beside its input. It gives the same model, does not outlive the input it was made of, and
a file that is not what it should be is not used."""
import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import time
import zlib

from case import KARMA, Case

SANITIZED = "sanitize" in KARMA  # whose shadow memory counts as data
CACHE = "d.csv.karma-cache"


def resealed(content, change):
    """A cache with its header's document changed, and with a checksum that is right again."""
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:8 + length]), bytearray(content[8 + length:])
    document = json.loads(header["__metadata__"]["karma"])
    change(document, header, data)
    header["__metadata__"]["karma"] = json.dumps(document)
    header["__metadata__"]["checksum"] = "00000000"
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    whole = struct.pack("<Q", len(text)) + text + bytes(data)
    return whole.replace(b'"checksum":"00000000"', b'"checksum":"%08x"' % zlib.crc32(whole), 1)


class Cache(Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(5)
        self.rows = []
        for i in range(240):
            x = rng.gauss(0, 1)
            self.rows.append([f"r{i}", f"{x:.4f}" if rng.random() < 0.9 else "", rng.choice(["red", "green", ""]),
                              rng.choice(["low", "high"]), f"2024-0{rng.randint(1, 9)}-11", rng.randint(1, 3),
                              "yes" if x + rng.gauss(0, 0.3) > 0 else "no", f"{x + 1:.3f}" if i % 7 else ""])
        self.write_csv("d.csv", ["id", "x", "colour", "level", "day", "w", "y", "z"], self.rows)

    ROLES = ["--target", "y", "--target", "z", "--id", "id", "--row-weight", "w", "--ordered", "level=low<high"]

    def train(self, model, *more, **settings):
        return self.done("train", "d.csv", *self.ROLES, "--effort", "off", "-o", model, *more, **settings)

    def done(self, *args, **settings):
        """With any notes."""
        run = self.run_karma(*args, **settings)
        self.assertEqual((run.code, run.complaints()), (0, []), str(run))
        return run

    def age(self):
        return os.stat(self.path(CACHE)).st_ino

    def test_same_model(self):
        """Ids, weights, two targets, dates, an ordered category and holes; notices too are those of reading."""
        plain = self.train("plain.karma")
        first = self.train("first.karma", "--cache", "on")
        made = self.age()
        second = self.train("second.karma", "--cache", "on")
        self.assertEqual(self.age(), made, "the cache was made twice")
        self.assertEqual(self.read("plain.karma"), self.read("first.karma"))
        self.assertEqual(self.read("plain.karma"), self.read("second.karma"))
        self.assertEqual([plain.notes()] * 2, [first.notes(), second.notes()])
        self.assertEqual([name for name in self.files() if "karma-rows" in name], [], "files were left behind")

    def test_cv_and_search(self):
        args = ["--target", "y", "--id", "id", "--effort", "quick"]
        for command in (["cv", "d.csv", *args], ["train", "d.csv", *args, "-o", "m.karma"]):
            outputs = []
            for cache in ("off", "on", "on"):
                run = self.done(*command, "--cache", cache)
                outputs.append((run.out if command[0] == "cv" else self.read("m.karma"), run.notes()))
            self.assertEqual(outputs[0], outputs[1])
            self.assertEqual(outputs[0], outputs[2])

    def test_it_is_used(self):
        """Another value in a file that is sound otherwise makes another model."""
        self.train("a.karma", "--cache", "on")

        def change(document, header, data):
            begin, end = header["cell_value"]["data_offsets"]
            place = next(p for p in range(begin, end, 8) if abs(struct.unpack("<d", data[p:p + 8])[0] % 1) > 1e-9)
            data[place:place + 8] = struct.pack("<d", 7.25)
        self.write(CACHE, resealed(self.read(CACHE), change))
        self.train("b.karma", "--cache", "on")
        self.assertNotEqual(self.read("a.karma"), self.read("b.karma"))

    def test_other_input(self):
        """A line more, a cell of the same length at the same time, and a touch."""
        self.train("a.karma", "--cache", "on")
        for change in ("longer", "cell", "touch"):
            times = os.stat(self.path("d.csv"))
            if change == "longer":
                self.write_csv("d.csv", ["id", "x", "colour", "level", "day", "w", "y", "z"], self.rows + [self.rows[0]])
            elif change == "cell":
                self.write("d.csv", self.read("d.csv").replace(b"yes", b"no ", 1))
                os.utime(self.path("d.csv"), ns=(times.st_atime_ns, times.st_mtime_ns))
            else:
                os.utime(self.path("d.csv"), ns=(times.st_atime_ns, times.st_mtime_ns + 1))
            made = self.age()
            run = self.train("b.karma", "--cache", "on")
            self.assertTrue(any("it is read again" in note for note in run.notes()), f"{change}: {run}")
            self.assertNotEqual(self.age(), made, change)
            self.train("c.karma")
            self.assertEqual(self.read("b.karma"), self.read("c.karma"), change)

    def test_other_options(self):
        self.train("a.karma", "--cache", "on")
        for more in (["--missing", "red"], ["--ignore", "colour"], ["--category", "x"], ["--dates", "off"]):
            self.train("a.karma", "--cache", "on", *more)
            self.train("b.karma", *more)
            self.assertEqual(self.read("a.karma"), self.read("b.karma"), str(more))
        made = self.age()
        self.train("a.karma", "--cache", "on", "--dates", "off", "--threads", "1")
        self.assertEqual(self.age(), made, "threads change no table")

    def test_bad_files(self):
        """A file that was cut, altered or is of another kind has a note; the input is read, and the file is made again."""
        self.train("a.karma", "--cache", "on")
        good, model = self.read(CACHE), self.read("a.karma")
        middle = len(good) // 2
        bad = {"cut": good[:middle], "header only": good[:200], "empty": b"", "a bit": good[:middle] + bytes([good[middle] ^ 4]) + good[middle + 1:],
               "longer": good + b"x", "a text": b"id,x\n1,2\n", "a model": model, "a length": b"\xff" * 7 + b"\x10" + good[8:]}
        for what, content in bad.items():
            self.write(CACHE, content)
            run = self.train("b.karma", "--cache", "on")
            self.assertTrue(any(CACHE in note and "d.csv is read instead" in note for note in run.notes()), f"{what}: {run}")
            self.assertEqual(self.read("b.karma"), model, what)
            self.assertEqual(self.read(CACHE), good, what)

    def test_the_name_of_something_else(self):
        """A link could lead to the input, and a pipe has no end: neither is read or written, and the run goes on."""
        before = self.read("d.csv")
        self.train("a.karma")
        makers = {"a pipe": os.mkfifo, "a link to the input": lambda path: os.symlink("d.csv", path), "a link to nothing": lambda path: os.symlink("x", path),
                  "a circle": lambda path: os.symlink(CACHE, path), "a device": lambda path: os.symlink("/dev/zero", path), "a folder": os.mkdir}
        for what, make in makers.items():
            make(self.path(CACHE))
            run = self.train("b.karma", "--cache", "on")
            self.assertTrue(any("cache was not written" in note for note in run.notes()), f"{what}: {run}")
            self.assertEqual((self.read("b.karma"), self.read("d.csv")), (self.read("a.karma"), before), what)
            self.assertNotIn("x", self.files(), what)
            (os.rmdir if what == "a folder" else os.unlink)(self.path(CACHE))

    def test_no_output_is_the_cache(self):
        """The next run would replace the model."""
        for name in (CACHE, "./" + CACHE):
            self.fails("train", "d.csv", *self.ROLES, "--effort", "off", "--cache", "on", "-o", name, code=2, says="-o .*d.csv.karma-cache is the file of --cache")
        self.train(CACHE)

    def test_forged_files(self):
        """With checksums that are right."""
        self.train("a.karma", "--cache", "on")
        good, model = self.read(CACHE), self.read("a.karma")

        def put(array, index, form, value):
            def change(document, header, data):
                struct.pack_into(form, data, header[array]["data_offsets"][0] + index * struct.calcsize(form), value)
            return change

        def say(*path, value):
            def change(document, header, data):
                place = document
                for step in path[:-1]:
                    place = place[step]
                place[path[-1]] = value
            return change
        forged = {"a row that ends late": put("row_start", 3, "<Q", 1 << 40), "a row that starts late": put("row_start", 0, "<Q", 1),
                  "an attribute that is not there": put("cell_owner", 5, "<I", 99), "attributes that descend": put("cell_owner", 0, "<I", 3),
                  "a value": put("cell_value", 4, "<d", float("nan")), "a label": put("labels0", 2, "<d", 5.0),
                  "a weight": put("weights", 1, "<d", -1.0), "an id": put("id_end", 2, "<Q", 1 << 50),
                  "rows": say("rows", value=10 ** 13), "cells": say("cells", value=3), "no columns": say("columns", value=[]),
                  "a kind": say("columns", 0, "kind", value="colour"), "no targets": say("targets", value=7), "no key": say("key", value=None)}
        for what, change in forged.items():
            self.write(CACHE, resealed(good, change))
            run = self.train("b.karma", "--cache", "on")
            self.assertTrue(any("d.csv is read instead" in note for note in run.notes()), f"{what}: {run}")
            self.assertEqual(self.read("b.karma"), model, what)

    def test_what_has_none(self):
        self.write("r.csv", "user,item,rating\n1,a,2\n2,a,3\n")
        for args, says in ((["-", "--target", "y"], "standard input: option 'cache' is for files|--cache"), (["sqlite:x.db?table=t", "--target", "y"], "sqlite|--cache"),
                           (["r.csv", "--format", "ratings", "--users", "u.csv", "--target", "y"], "option 'users' names another|--users")):
            self.fails("train", *args, "-o", "m.karma", "--cache", "on", code=2, says=says)

    def test_folder_that_cannot_be_written(self):
        limits = self.ordinary_user()
        os.chmod(self.dir, 0o755)
        self.fails("train", "d.csv", *self.ROLES, "--effort", "off", "-o", "/dev/null", "--cache", "on", says="rows.*Permission denied", **limits)

    def test_kills(self):
        """kill -9 at any moment: no cache or a whole one, and nothing beside it."""
        self.train("a.karma", "--cache", "on")
        good, model = self.read(CACHE), self.read("a.karma")
        rng = random.Random(3)
        for kill in range(12):
            if os.path.exists(self.path(CACHE)):
                os.remove(self.path(CACHE))
            with subprocess.Popen([KARMA, "train", "d.csv", *self.ROLES, "--effort", "off", "-o", "b.karma", "--cache", "on"], cwd=self.dir,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                time.sleep(rng.uniform(0.0, 0.08))
                process.send_signal(signal.SIGKILL)
                process.wait(timeout=60)
            if os.path.exists(self.path(CACHE)):
                self.assertEqual(self.read(CACHE), good, f"kill {kill}")
        self.train("b.karma", "--cache", "on")
        self.assertEqual(self.read("b.karma"), model)
        self.assertEqual([name for name in self.files() if re.search("part$|karma-rows", name)], [])


class Memory(Case):
    """Less memory than the table takes. Mapped files are not data, so the limit on data is that of memory."""

    def limited(self, megabytes):
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20)),
                "env": dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")}

    def test_larger_than_the_memory(self):
        """The least memory that is enough with the cache is too little without it: the cells take 36 MB."""
        if SANITIZED:
            self.skipTest("data cannot be limited")
        self.ok("synth", "--rows", "100000", "--dim", "30", "--rank", "2", "--noise", "0.1", "--missing", "0", "--seed", "1", "-o", "d.csv", "--quiet")
        learn = ["train", "d.csv", "--target", "target", "--effort", "off", "--gamma", "1", "--solver", "online", "--passes", "1", "--threads", "1", "--quiet"]
        for megabytes in range(40, 400, 15):
            limits = self.limited(megabytes)
            if self.run_karma(*learn, "--cache", "on", "-o", "m.karma", **limits).code == 0:
                break
        self.fails(*learn, "-o", "m.karma", says="out of memory", **limits)
        self.ok(*learn, "--cache", "on", "-o", "m.karma", **limits)
        self.ok(*learn, "-o", "plain.karma")
        self.assertEqual(self.read("m.karma"), self.read("plain.karma"))
        estimates = [self.run_karma(*learn, "--cache", cache, "--json", "-o", "m.karma").json()["estimated_bytes"] for cache in ("off", "on")]
        self.assertGreater(estimates[0], estimates[1] + 36e6)


class Start(Case):
    def test_limits_that_are_too_small(self):
        """OpenBLAS asks for its buffer forever if it cannot have one."""
        if SANITIZED:
            self.skipTest("data cannot be limited")
        limit = (60 << 20, 60 << 20)
        self.fails("train", "d.csv", code=1, says="limit on address space .* or data", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, limit))

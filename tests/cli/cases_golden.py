"""Model files of every format load and always predict the same numbers; CSV outputs stay as they are (dev/make-golden wrote them)."""
import csv
import glob
import io
import json
import os
import shutil

from case import SOURCE, Case

GOLDEN = sorted(glob.glob(os.path.join(SOURCE, "tests", "golden", "format-*")))


class Golden(Case):
    def like(self, got, wanted, what):
        """Compares tables: texts exactly, numbers up to the last digits, which differ between processors."""
        got, wanted = (list(csv.reader(io.StringIO(text))) for text in (got, wanted))
        self.assertEqual([len(row) for row in got], [len(row) for row in wanted], what)
        for line, (row, other) in enumerate(zip(got, wanted), 1):
            for a, b in zip(row, other):
                try:
                    self.close_to(float(a), float(b), 1e-5, f"{what}, line {line}")
                except ValueError:
                    self.assertEqual(a, b, f"{what}, line {line}")

    def test_same_numbers(self):
        self.assertTrue(GOLDEN)
        for folder in GOLDEN:
            for path in glob.glob(os.path.join(folder, "*")):
                shutil.copy(path, self.dir)
            with open(os.path.join(folder, "commands.json"), encoding="utf-8") as file:
                commands = json.load(file)
            self.assertGreater(len(commands), 10)
            for name, args in commands.items():
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    wanted = file.read()
                run = self.run_karma(*args)
                self.assertEqual(run.code, 0, str(run))
                self.like(run.out, wanted, f"{folder}: {' '.join(args)}")

    def test_models_to_fuzz_from(self):
        """A fuzzer that starts from models which are refused never gets to what models do."""
        paths = glob.glob(os.path.join(SOURCE, "fuzz", "corpus", "model", "*"))
        self.assertGreater(len(paths), 10)
        for path in paths:
            self.assertEqual(self.run_karma("inspect", path).code, 0, path)

    def test_streams_go_on(self):
        """The learner in an old file continues with the next rows."""
        for folder in GOLDEN:
            if not os.path.exists(os.path.join(folder, "stream.karma")):
                continue
            shutil.copy(os.path.join(folder, "new.csv"), self.dir)
            self.ok("online", "new.csv", "--continue", os.path.join(folder, "stream.karma"), "-o", "m.karma", "--quiet")
            self.assertIn("38 rows", self.ok("inspect", "m.karma").out)

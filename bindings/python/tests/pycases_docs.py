"""Runs the Python that the documents show, and the examples.

A block of ```python right after a line `<!-- python -->` is run, all blocks of a document one after the other, in a directory
with a copy of examples/. If the next block is ```text right after `<!-- prints -->`, it must be what was printed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import pydata

BLOCK = re.compile(r"<!-- python -->\s*```python\n(.*?)```(?:\s*<!-- prints -->\s*```text\n(.*?)```)?", re.S)


def run(code, directory):
    done = subprocess.run([sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", code], cwd=directory, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "MPLBACKEND": "Agg"})
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


class Documents(unittest.TestCase):
    def check(self, path):
        with open(os.path.join(pydata.SOURCE, path), encoding="utf-8") as file:
            blocks = BLOCK.findall(file.read())
        self.assertTrue(blocks)
        mark = "---block---"
        with tempfile.TemporaryDirectory() as directory:
            shutil.copytree(os.path.join(pydata.SOURCE, "examples"), os.path.join(directory, "examples"))
            printed = run(f"\nprint({mark!r})\n".join(code for code, _ in blocks), directory).split(mark + "\n")
        for (_, wanted), got in zip(blocks, printed):
            if wanted:
                self.assertEqual(got, wanted)

    def test_python_md(self):
        self.check("docs/python.md")

    def test_readme(self):
        self.check("README.md")


class Bench(unittest.TestCase):
    def test_the_measurement_of_overhead_runs(self):
        with open(os.path.join(pydata.SOURCE, "bench", "python"), encoding="utf-8") as file:
            code = f"import sys\nsys.argv.append('--quick')\n__file__ = {file.name!r}\n" + file.read()
        self.assertEqual(len(re.findall(r"library +[\d.]+ s, with Python +[\d.]+ s", run(code, None))), 4)


class Examples(unittest.TestCase):
    def check(self, name, *says):
        with open(os.path.join(pydata.SOURCE, "examples", "python", name), encoding="utf-8") as file:
            code = f"__file__ = {file.name!r}\n" + file.read()
        with tempfile.TemporaryDirectory() as directory:
            out = run(code, directory)
        for what in says:
            self.assertRegex(out, what)
        return out

    def test_medical(self):
        self.check("medical.py", "500 patients", "none fails", "bias")

    def test_ratings(self):
        out = self.check("ratings.py", "absent cells are missing")
        missing, zero, machine = (float(value) for value in re.findall(r"accuracy ([\d.]+)", out))
        self.assertGreater(missing, zero)
        self.assertGreater(machine, zero)

    def test_stream(self):
        self.check("stream.py", r"regret -?[\d.]+ per row")

    def test_replace_imputer(self):
        out = self.check("replace_imputer.py", "KarmaClassifier")
        by_donors, by_subspace = (float(value) for value in re.findall(r"cells ([\d.]+)", out))
        self.assertLess(by_subspace, by_donors)
        donors, subspace = (float(value) for value in re.findall(r"take (\d+) MB", out))
        self.assertLess(4 * subspace, donors)

    def test_every_example_is_run(self):
        names = set(os.listdir(os.path.join(pydata.SOURCE, "examples", "python")))
        self.assertEqual(names - {"__pycache__"}, {"medical.py", "ratings.py", "stream.py", "replace_imputer.py"})

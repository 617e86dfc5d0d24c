#!/usr/bin/env python3
"""Report pages in a real browser: every figure has marks and labels, nothing is requested, sorting, hovering and the keyboard
work, no rule of accessibility is broken, in both colour schemes and on a phone. Prints TAP.

Needs Chromium, node, playwright-core and axe-core (dev/install-browser puts the last two into .browser/); without them every
test is skipped with that notice. KARMA_PICTURES=DIR keeps screenshots there.
"""
import json
import os
import random
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

import tap
from case import HUNG, SOURCE, Case

MODULES = os.path.join(SOURCE, ".browser", "node_modules")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SCRIPT = os.path.join(SOURCE, "tests", "browser", "look_at_page.js")
MISSING = ("Chromium is not installed" if not CHROMIUM else "node is not installed" if not shutil.which("node") else
           "playwright-core and axe-core are not in .browser/" if not os.path.isdir(os.path.join(MODULES, "axe-core")) else None)


class Browser(Case):
    def setUp(self):
        if MISSING:
            self.skipTest(f"{MISSING}; dev/install-browser installs it")
        super().setUp()

    def look(self, page):
        """Opens the page and checks what every page must have; gives what was found in each view."""
        pictures = os.environ.get("KARMA_PICTURES")
        prefix = [os.path.join(pictures, f"{self._testMethodName}")] if pictures else []
        done = subprocess.run(["node", SCRIPT, self.path(page), *prefix], capture_output=True, text=True, timeout=HUNG,
                              env={**os.environ, "NODE_PATH": MODULES, "CHROMIUM": CHROMIUM})
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        views = json.loads(done.stdout)
        self.assertEqual(set(views), {"light-1280", "dark-1280", "light-390"})
        for name, view in views.items():
            with self.subTest(view=name):
                self.check(view)
        self.assertNotEqual(views["light-1280"]["background"], views["dark-1280"]["background"])
        return views["light-1280"]

    def check(self, view):
        self.assertEqual(view["messages"], [])
        self.assertEqual(view["requests"], [])
        self.assertEqual(view["violations"], [])
        self.assertEqual([view["attacked"], view["foreign"], view["broken"]], [False, 0, 0])
        self.assertLessEqual(view["overflow"], 0, "the page is wider than the window")
        self.assertTrue(view["figures"])
        for figure in view["figures"]:
            self.assertGreater(figure["marks"], 0, figure)
            self.assertGreater(figure["labels"], 2, figure)
            self.assertGreater(figure["values"], 0, figure)
            self.assertEqual([figure["cut"], figure["named"], figure["buttons"]], [[], True, 2], figure)
        hovering = view["hovering"]
        self.assertIn(":", hovering["byPointer"])
        self.assertIn(":", hovering["byKeyboard"])
        self.assertTrue(hovering["hidden"])
        self.assertEqual([view["saving"]["isSvg"], view["saving"]["hasStyle"]], [True, True])
        if view["sorting"]:
            self.assertEqual(view["sorting"]["aria"], "descending")
            self.assertEqual(sorted(view["sorting"]["up"]), sorted(view["sorting"]["down"]))
            if len(set(view["sorting"]["up"])) > 1:
                self.assertNotEqual(view["sorting"]["up"], view["sorting"]["down"])

    def test_classifier_with_hostile_names(self):
        rng = random.Random(3)
        names = ["<script>window.attacked=1</script>", '"><img src=x onerror="window.attacked=1">', "Größe in µm, naïve Schätzung nach Żółć",
                 "x" * 80, "plain", "colour"]
        rows = []
        for _ in range(120):
            cells = [round(rng.gauss(0, 1), 3) for _ in names[:-1]] + [rng.choice(["<b>red</b>", "blue'\""])]
            label = ["</script><script>window.attacked=1</script>", "no & no"][cells[0] + cells[4] > 0]
            rows.append([None if rng.random() < 0.25 else cell for cell in cells] + [label])
        self.write_csv("t.csv", [*names, "<i>y"], rows)
        self.write_csv("new.csv", [*names, "<i>y"], rows[:90])
        self.ok("train", "t.csv", "--target", "<i>y", "--effort", "quick", "--probabilities", "sigmoid", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "new.csv", "-o", "page.html", "--quiet")
        view = self.look("page.html")
        titles = [figure["title"] for figure in view["figures"]]
        for title in ("ROC curve", "Calibration", "Confusion matrix", "Importance of the columns", "Score by C", names[0]):
            self.assertIn(title, titles)
        self.assertIn("The least certain rows", view["sections"])

    def test_regression(self):
        self.quantity()
        self.quantity("new.csv", seed=4, n=120)
        self.ok("train", "price.csv", "--target", "price", "--effort", "off", "--quantile", "0.1,0.5,0.9", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "new.csv", "-o", "page.html", "--quiet")
        titles = [figure["title"] for figure in self.look("page.html")["figures"]]
        self.assertIn("Predicted and true", titles)
        self.assertIn("Width of the intervals", titles)

    def test_many_columns_and_classes(self):
        rng = random.Random(7)
        names = [f"measured quantity number {j} in mg/l" for j in range(200)]
        rows = [[None if rng.random() < 0.3 else round(rng.gauss(k % 5, 1), 2) for _ in names] + [f"class {k % 50} of many"]
                for k in range(150)]
        self.write_csv("wide.csv", [*names, "y"], rows)
        self.ok("train", "wide.csv", "--target", "y", "--effort", "off", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "wide.csv", "-o", "page.html", "--quiet")
        self.look("page.html")

    def test_comparison_and_online(self):
        self.two_classes()
        self.ok("compare", "two.csv", "--target", "answer", "--methods", "zero,mean", "--quiet", "--report", "page.html")
        self.assertIn("Methods", [figure["title"] for figure in self.look("page.html")["figures"]])
        self.ok("online", "--regret", "--rounds", "100", "--quiet", "--report", "page.html")
        self.assertIn("Regret and its bound", [figure["title"] for figure in self.look("page.html")["figures"]])


if __name__ == "__main__":
    sys.exit(tap.main("__main__"))

#!/usr/bin/env python3
"""Report pages in a real browser: every figure has marks and labels, none of which is cut or covers another, nothing is
requested, sorting, hovering and the keyboard work, no rule of accessibility is broken, in both colour schemes, on a phone and
on paper. Prints TAP.

Needs Chromium, node, playwright-core and axe-core (dev/install-browser puts the last two into .browser/); without them every
test is skipped with that notice. KARMA_PICTURES=DIR keeps screenshots there. The browser is started once, for all pages.
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
SCRIPT = os.path.join(SOURCE, "tests", "browser", "look_at_pages.js")
MISSING = ("Chromium is not installed" if not CHROMIUM else "node is not installed" if not shutil.which("node") else
           "playwright-core and axe-core are not in .browser/" if not os.path.isdir(os.path.join(MODULES, "axe-core")) else None)
SCREEN = ("light-1280", "dark-1280", "light-390")
ATTACK = "<script>window.attacked=1</script>"
# Names that try to leave their place: markup, quotes, line feeds, letters from right to left, pictures, long ones.
HOSTILE = [ATTACK, '"><img src=x onerror="window.attacked=1">', "Größe in µm, naïve Schätzung nach Żółć", "x" * 80, "plain",
           "two\nlines & 'quotes'", "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627", "\U0001f9ea\U0001f469\u200d\U0001f52c", "colour"]


class Browser(Case):
    found = None  # of all pages, by name

    def setUp(self):
        if MISSING:
            self.skipTest(f"{MISSING}; dev/install-browser installs it")
        super().setUp()

    def look(self, name):
        """What was found on a page; checks what every page must have."""
        if Browser.found is None:
            makers = sorted(word for word in dir(self) if word.startswith("make_"))
            for maker in makers:
                getattr(self, maker)()
            pages = [self.path(maker.removeprefix("make_") + ".html") for maker in makers]
            done = subprocess.run(["node", SCRIPT, os.environ.get("KARMA_PICTURES", "-"), *pages], capture_output=True, text=True,
                                  timeout=HUNG, env={**os.environ, "NODE_PATH": MODULES, "CHROMIUM": CHROMIUM})
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            Browser.found = json.loads(done.stdout)
        page = Browser.found[name + ".html"]
        self.assertEqual([page["messages"], page["requests"]], [[], []])
        self.assertEqual(set(page["views"]), {*SCREEN, "light-794"})
        for view_name, view in page["views"].items():
            with self.subTest(view=view_name):
                self.check(view)
                if view_name in SCREEN:
                    self.assertEqual(view["violations"], [])
                if "hovering" in view:
                    self.check_use(view)
        views = page["views"]
        self.assertNotEqual(views["light-1280"]["background"], views["dark-1280"]["background"])
        self.assertIn("hovering", views["light-1280"])
        return views["light-1280"], [figure["title"] for figure in views["light-1280"]["figures"]]

    def check(self, view):
        self.assertEqual([view["attacked"], view["foreign"], view["broken"]], [False, 0, 0])
        self.assertLessEqual(view["overflow"], 0, "the page is wider than the window")
        self.assertEqual(view["split"], [], "numbers and headings of tables are on one line")
        for figure in view["figures"]:
            self.assertGreater(figure["marks"], 0, figure)
            self.assertGreater(figure["labels"], 2, figure)
            self.assertGreater(figure["values"], 0, figure)
            self.assertEqual([figure["cut"], figure["overlaps"], figure["named"], figure["buttons"]], [[], [], True, 2], figure)

    def check_use(self, view):
        """Pointer, keyboard, sorting and saving."""
        if view["figures"]:
            self.assertIn(":", view["hovering"]["byPointer"])
            self.assertIn(":", view["hovering"]["byKeyboard"])
            self.assertTrue(view["hovering"]["hidden"])
            self.assertEqual([view["saving"]["isSvg"], view["saving"]["hasStyle"], view["saving"]["lacks"]], [True, True, []])
        if view["sorting"]:
            self.assertEqual(view["sorting"]["aria"], "descending")
            self.assertEqual(sorted(view["sorting"]["up"]), sorted(view["sorting"]["down"]))
            if len(set(view["sorting"]["up"])) > 1:
                self.assertNotEqual(view["sorting"]["up"], view["sorting"]["down"])

    def make_classifier(self):
        rng = random.Random(3)
        rows = []
        for _ in range(120):
            cells = [round(rng.gauss(0, 1), 3) for _ in HOSTILE[:-1]] + [rng.choice(["<b>red</b>", "blue'\""])]
            label = ["</script>" + ATTACK, "no & no"][cells[0] + cells[4] > 0]
            rows.append([None if rng.random() < 0.25 else cell for cell in cells] + [label])
        self.write_csv("t.csv", [*HOSTILE, "<i>y"], rows)
        self.write_csv("new.csv", [*HOSTILE, "<i>y"], rows[:90])
        self.ok("train", "t.csv", "--target", "<i>y", "--effort", "quick", "--probabilities", "sigmoid", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "new.csv", "-o", "classifier.html", "--quiet")

    def test_classifier_with_hostile_names(self):
        view, titles = self.look("classifier")
        for title in ("ROC curve", "Precision and recall", "Calibration", "Confusion matrix", "Importance of the columns", "Score by C",
                      "Accuracy by number of observed columns", "What each ingredient adds", ATTACK):
            self.assertIn(title, titles)
        self.assertIn("The least certain rows", view["sections"])

    def make_regression(self):
        self.quantity(n=120)
        self.quantity("new.csv", seed=4, n=80)
        self.ok("train", "price.csv", "--target", "price", "--effort", "off", "--quantile", "0.1,0.5,0.9", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "new.csv", "-o", "regression.html", "--quiet")

    def test_regression(self):
        titles = self.look("regression")[1]
        for title in ("Predicted and true", "Residuals by prediction", "Residuals", "Width of the intervals"):
            self.assertIn(title, titles)

    def make_wide(self):
        rng = random.Random(7)
        names = [f"measured quantity number {j} in mg/l" for j in range(200)]
        rows = [[None if rng.random() < 0.3 else round(rng.gauss(k % 5, 1), 2) for _ in names] + [f"class {k % 50} of many"]
                for k in range(100)]
        self.write_csv("wide.csv", [*names, "y"], rows)
        self.ok("train", "wide.csv", "--target", "y", "--effort", "off", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "wide.csv", "-o", "wide.html", "--quiet")

    def test_many_columns_and_classes(self):
        self.assertIn("Confusion matrix", self.look("wide")[1])

    def make_comparison(self):
        self.two_classes()
        self.ok("compare", "two.csv", "--target", "answer", "--methods", "zero,mean", "--folds", "3", "--inner", "2", "--quiet",
                "--report", "comparison.html")

    def test_comparison(self):
        self.assertIn("Methods", self.look("comparison")[1])

    def make_regret(self):
        self.ok("online", "--regret", "--rounds", "100", "--quiet", "--report", "regret.html")

    def make_stream(self):
        self.two_classes(n=600)
        self.ok("online", "two.csv", "--target", "answer", "--warm-up", "100", "--quiet", "--report", "stream.html")

    def test_online(self):
        self.assertIn("Regret and its bound", self.look("regret")[1])
        self.assertIn("Learning curve", self.look("stream")[1])


if __name__ == "__main__":
    sys.exit(tap.main("__main__"))

"""karma report and --report: the content of the page; it is complete, small and self-contained; nothing in the data can break
out of it. test_browser.py opens such pages in a browser."""
import hashlib
import base64
import html
import html.parser
import os
import random
import re

from case import SOURCE, Case

VOID = {"meta", "br", "img", "input", "link", "hr"}
OPTIONAL_END = {"tr", "td", "th"}  # elements that HTML closes by itself


class Outline(html.parser.HTMLParser):
    """Checks that tags close in order, and collects what the tests need."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong = [], []
        self.tags, self.ids, self.links, self.texts = {}, [], [], []
        self.attributes = set()
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attributes}
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open[-1] in OPTIONAL_END and self.open[-1] != tag:
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.wrong.append("/" + tag)

    def handle_data(self, text):
        self.texts.append(text)


class Report(Case):
    def page(self, name="page.html"):
        """The page as text and as an outline; checks what every page must satisfy."""
        text = self.read(name).decode()
        outline = Outline(text)
        self.assertEqual(outline.wrong, [])
        self.assertEqual(len(outline.ids), len(set(outline.ids)), "ids are unique")
        self.assertEqual([link for link in outline.links if not link.startswith("#")], [])
        self.assertEqual([link for link in outline.links if link[1:] not in outline.ids], [])
        self.assertEqual(outline.tags["script"], 1)
        self.assertFalse([name for name in outline.attributes if name.startswith("on") or name == "style"])
        script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
        self.assertLess(len(script), 60000)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        self.assertIn(f"&#39;sha256-{digest}&#39;", text, "the policy names the script")
        self.assertIn("default-src &#39;none&#39;", text)
        return text, outline

    def headings(self, outline_text):
        return re.findall(r"<h2[^>]*>([^<]*)</h2>", outline_text)

    def figures(self, text):
        return re.findall(r"<figcaption><strong>([^<]*)</strong>", text)

    def values(self, text, title):
        """The table below a figure, as lists of texts."""
        part = text[text.index(f"<figcaption><strong>{title}</strong>"):]
        body = re.search(r"<tbody>(.*?)</tbody>", part[part.index("<details>"):], re.S).group(1)
        return [re.findall(r"<td>([^<]*)", line) for line in body.strip().split("\n<tr>") if line]

    def test_classifier(self):
        self.trained(ids=True)
        self.two_classes("new.csv", seed=9, ids=True)
        run = self.ok("report", "m.karma", "new.csv", "--id", "who", "-o", "page.html")
        self.assertEqual(run.out, "page.html: open it in a browser\n")
        text, outline = self.page()
        self.assertEqual(self.headings(text), [
            "At a glance", "Quality", "Quality by number of observed columns", "Which columns matter", "The least certain rows",
            "The data", "Does the low-rank assumption hold?", "How to make this page again"])
        for title in ("ROC curve", "Precision and recall", "Confusion matrix", "Importance of the columns",
                      "Missing values by column", "Which values are missing together"):
            self.assertIn(title, self.figures(text))
        self.assertNotIn("Calibration", self.figures(text))
        self.assertNotIn("rows that the model was learned from", text)
        # the confusion matrix and the accuracy are those of eval
        judged = self.ok("eval", "m.karma", "new.csv", "--id", "who", "--json").json()
        counts = [int(line[2].split()[0]) for line in self.values(text, "Confusion matrix")]
        self.assertEqual(counts, [judged["confusion"][truth][answer] for truth in ("no", "yes") for answer in ("no", "yes")])
        self.assertEqual(sum(counts), 120)
        self.assertIn(f"{100 * (counts[0] + counts[3]) / 120:.1f}%", text)
        self.assertIn("karma report m.karma new.csv --id who -o page.html", "".join(outline.texts))

    def test_auc_and_missing_rates_are_right(self):
        """The curve's points against a count by hand, the rates against the file."""
        rows = self.trained(ids=True)
        self.ok("report", "m.karma", "two.csv", "--id", "who", "-o", "page.html", "--quiet")
        text, _ = self.page()
        self.assertIn("rows that the model was learned from", text)  # they are
        predicted = self.ok("predict", "m.karma", "two.csv", "--id", "who").rows()
        at = predicted[0].index("score")
        scores = [float(row[at]) for row in predicted[1:]]
        truth = [row[-1] == "yes" for row in rows]
        pairs = [(p > n) + 0.5 * (p == n) for p, is_p in zip(scores, truth) if is_p for n, is_n in zip(scores, truth) if not is_n]
        self.assertIn(f"AUC {sum(pairs) / len(pairs):.3f}", text)
        rates = {line[1]: line[2] for line in self.values(text, "Missing values by column")}
        for j, name in enumerate(["a", "b", "colour"]):
            self.assertEqual(rates[name], str(sum(row[1 + j] is None for row in rows)))

    def test_odd_rows(self):
        """One row, one class, constant columns, nothing but missing values, labels that are not in the training rows."""
        self.trained()
        head = ["a", "b", "colour", "answer"]
        tables = {"one": [[1, 2, "red", "yes"]], "class": [[k, -k, "red", "yes"] for k in range(30)],
                  "constant": [[1, 2, "red", ("no", "yes")[k % 2]] for k in range(30)],
                  "missing": [[None, None, None, ("no", "yes")[k % 2]] for k in range(30)],
                  "new": [[k, 2, "red", "perhaps"] for k in range(30)]}
        texts = {}
        for name, rows in tables.items():
            with self.subTest(table=name):
                self.write_csv("odd.csv", head, rows)
                self.ok("report", "m.karma", "odd.csv", "-o", "page.html", "--quiet")
                texts[name], outline = self.page()
                self.assertNotRegex(" ".join(outline.texts[outline.texts.index("At a glance"):]), r"\b(nan|inf)\b")
        self.assertIn("Every row has the class yes", texts["one"])
        self.assertIn("Only 1 row of this page has a label", texts["one"])
        self.assertNotIn("ROC curve", self.figures(texts["class"]))
        self.assertNotIn("of this page ha", texts["class"])
        self.assertIn("ROC curve", self.figures(texts["constant"]))
        self.assertIn("equally certain of all 30 rows", texts["constant"])
        self.assertIn("have no value in the model", texts["missing"])
        self.assertNotIn("Quality", self.headings(texts["new"]))

    def test_least_certain_numbers(self):
        """Numbers with quantiles: the rows with the widest intervals, the widest first."""
        self.quantity()
        self.ok("train", "price.csv", "--target", "price", "--effort", "off", "--quantile", "0.1,0.5,0.9", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "price.csv", "-o", "page.html", "--quiet")
        text, _ = self.page()
        predicted = self.ok("predict", "m.karma", "price.csv").rows()
        low, high = predicted[0].index("q:0.1"), predicted[0].index("q:0.9")
        widths = [float(row[high]) - float(row[low]) for row in predicted[1:]]
        part = text[text.index("The rows about which the model is least certain"):]
        rows = [int(number) - 1 for number in re.findall(r"<tr><th scope=\"row\">row (\d+)", part)[:10]]
        self.assertEqual(rows, sorted(range(len(widths)), key=lambda i: -widths[i])[:10])

    def test_probabilities(self):
        self.three_classes()
        self.ok("train", "three.csv", "--target", "tree", "--effort", "off", "--probabilities", "sigmoid", "-o", "m.karma", "--quiet")
        self.three_classes("new.csv", seed=5)
        self.ok("report", "m.karma", "new.csv", "-o", "page.html", "--quiet")
        text, _ = self.page()
        bins = self.values(text, "Calibration")
        self.assertEqual(sum(int(line[2]) for line in bins), 150)
        self.assertIn("birch, white", self.read("page.html").decode())

    def rows_below(self, text, caption):
        """The table with a caption that starts so, as lists of texts."""
        part = text[text.index(caption):]
        body = re.search(r"<tbody>(.*?)</tbody>", part, re.S).group(1)
        return [[html.unescape(cell) for cell in re.findall(r"<t[dh][^>]*>([^<]*)", line)] for line in body.strip().split("\n<tr>") if line]

    def test_coverage_is_that_of_eval(self):
        self.two_classes()
        self.two_classes("new.csv", n=90, seed=9)
        self.ok("train", "two.csv", "--target", "answer", "--effort", "off", "--sets", "0.8", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "new.csv", "-o", "page.html", "--quiet")
        text, _ = self.page()
        judged = self.ok("eval", "m.karma", "new.csv", "--json", "--quiet").json()["certainty"]
        groups = [judged, *(judged["by_observed"] if len(judged["by_observed"]) > 1 else [])]
        wanted = [[str(group["rows"]), f"{100 * group['coverage']:.1f}%", f"{group['size']:.2f}"] for group in groups]
        self.assertEqual([line[1:] for line in self.rows_below(text, "answer: sets that should hold the truth in 80% of all rows, on the rows")], wanted)
        left_out = self.rows_below(text, "answer: sets that should hold the truth in 80% of all rows, on rows that were left out")
        self.assertEqual(left_out[0][:2], ["all rows", "120"])

    def test_next_cells_are_those_of_next(self):
        self.two_classes(ids=True)
        self.two_classes("new.csv", n=50, seed=9, ids=True)
        self.ok("train", "two.csv", "--target", "answer", "--id", "who", "--kernel", "union", "--probabilities", "sigmoid", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "new.csv", "--id", "who", "-o", "page.html", "--quiet")
        text, _ = self.page()
        names, *cells = self.ok("next", "m.karma", "new.csv", "--id", "who").rows()
        cells = [dict(zip(names, cell)) for cell in cells]
        for column, missing, best, gain, change in self.rows_below(text, "Columns by what knowing a missing cell"):
            own = [cell for cell in cells if cell["column"] == column]
            self.assertEqual((int(missing), int(best)), (len(own), sum(cell["place"] == "1" for cell in own)))
            self.assertAlmostEqual(float(gain), sum(float(cell["gain"]) for cell in own) / len(own), delta=0.006 * float(gain))
            self.assertAlmostEqual(float(change[:-1]), 100 * sum(float(cell["change"]) for cell in own) / len(own), delta=0.051)
        first = max((cell for cell in cells if cell["place"] == "1"), key=lambda cell: float(cell["gain"]))
        top = self.rows_below(text, "The cells with the largest gain")[0]
        self.assertTrue(top[0].startswith(first["who"] + " "), top)
        self.assertEqual(top[1], first["column"])

    def test_no_subspace(self):
        draw = random.Random(5)
        self.write_csv("noise.csv", ["a", "b", "c", "y"], [[draw.gauss(0, 1), draw.gauss(0, 1), draw.gauss(0, 1), "uv"[i % 2]] for i in range(80)])
        self.ok("train", "noise.csv", "--target", "y", "--kernel", "linear", "-o", "m.karma", "--quiet", "--report", "page.html")
        text, _ = self.page()
        self.assertIn("No subspace was found", text)
        self.assertNotIn("0 dimensions", text)

    def test_regression_and_quantiles(self):
        self.quantity()
        self.ok("train", "price.csv", "--target", "price", "--effort", "off", "--quantile", "0.1,0.5,0.9", "-o", "m.karma", "--quiet")
        self.quantity("new.csv", seed=8)
        self.ok("report", "m.karma", "new.csv", "-o", "page.html", "--quiet")
        text, _ = self.page()
        for title in ("Predicted and true", "Residuals by prediction", "Residuals", "Width of the intervals",
                      "Error by number of observed columns"):
            self.assertIn(title, self.figures(text))
        self.assertRegex(text, r"should cover 80% of the rows; it covers [\d.]+%")
        self.assertEqual(len(self.values(text, "Predicted and true")), 200)

    def test_bias_has_a_direction(self):
        """Labels that are 1000 less or more than learned are below or above the predictions by about as much."""
        self.quantity()
        self.ok("train", "price.csv", "--target", "price", "--effort", "off", "-o", "m.karma", "--quiet")
        header, *rows = [line.split(",") for line in self.read("price.csv").decode().splitlines()]
        at = header.index("price")
        for shift, direction in ((-1000.0, "below"), (1000.0, "above")):
            moved = [[*row[:at], str(float(row[at]) + shift), *row[at + 1:]] for row in rows if row[at]]
            self.write("moved.csv", "".join(",".join(row) + "\n" for row in [header, *moved]))
            self.ok("report", "m.karma", "moved.csv", "-o", "page.html", "--quiet")
            found = re.search(r"the truth is on average ([\d.]+) (\w+) the prediction", self.page()[0])
            self.close_to(float(found[1]), 1000, 0.01, "the bias")
            self.assertEqual(found[2], direction)

    def test_without_data_and_without_labels(self):
        self.two_classes()
        self.ok("train", "two.csv", "--target", "answer", "--effort", "quick", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "-o", "page.html", "--quiet")
        text, _ = self.page()
        self.assertEqual(self.headings(text), ["At a glance", "How certain it is: intervals and sets", "How the model was chosen",
                                               "How to make this page again"])
        self.assertIn("What each ingredient adds", self.figures(text))
        rows = self.read_rows("two.csv")
        self.write_csv("bare.csv", rows[0][:3], [row[:3] for row in rows[1:40]])
        self.ok("report", "m.karma", "bare.csv", "-o", "page.html", "--quiet")
        text, _ = self.page()
        self.assertNotIn("Quality", self.headings(text))
        self.assertIn("The least certain rows", self.headings(text))

    def test_hostile_names(self):
        """With any names and levels, the page has the same tags and attributes as with harmless names."""
        rng = random.Random(1)
        evil = ['<script>attacked=1</script>', '"><img src=x onerror=attacked=1>', "'-attacked-'&amp;", "</title></svg><b>",
                "a\u202eb\u0007\u0000c".replace("\u0000", ""), "naïve Größe \u4e2d\u6587", "]]>--><!--", "javascript:attacked=1"]
        mild = [f"column {j}" for j in range(len(evil))]
        pages = []
        for names, levels, classes in ((mild, ["p", "q", "r"], ["u", "v"]),
                                       (evil, ["<i>p", '"q', "'r\\"], ["</script><script>attacked=1</script>", "&lt;v&gt;"])):
            rng.seed(4)
            rows = []
            for _ in range(80):
                cells = [round(rng.gauss(0, 1), 3) for _ in names[:-1]] + [rng.choice(levels)]
                label = classes[sum(cells[:3]) > 0]
                rows.append([None if rng.random() < 0.2 else cell for cell in cells] + [label])
            self.write_csv("t.csv", [*names, "<u>target"], rows)
            self.ok("train", "t.csv", "--target", "<u>target", "--effort", "off", "--probabilities", "sigmoid", "-o", "m.karma", "--quiet")
            self.ok("report", "m.karma", "t.csv", "-o", "page.html", "--quiet")
            pages.append(self.page())
        tags = [{tag: n for tag, n in outline.tags.items() if tag not in ("path", "text")} for _, outline in pages]
        self.assertEqual(*tags)  # lines and labels of axes depend on the room that names leave
        self.assertEqual(pages[0][1].attributes, pages[1][1].attributes)
        seen = "".join(pages[1][1].texts)
        for name in evil[:4] + evil[5:]:
            self.assertIn(name, seen)
        self.assertNotIn("\u202e", pages[1][0])
        self.assertNotIn("\u0007", pages[1][0])

    def test_many_columns_classes_and_rows_stay_small(self):
        rng = random.Random(7)
        names = [f"a very long name of a measured quantity, number {j} (mg/l)" for j in range(200)]  # alike at the start
        rows = [[None if rng.random() < 0.3 else round(rng.gauss(k % 5, 1), 2) for _ in names] + [f"class {k % 50}"]
                for k in range(200)]
        self.write_csv("wide.csv", [*names, "y"], rows)
        self.ok("train", "wide.csv", "--target", "y", "--effort", "off", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "wide.csv", "-o", "page.html", "--quiet")
        text, _ = self.page()
        self.assertLess(len(text), 2000000)
        self.assertIn("Confusion matrix", self.figures(text))
        figure = text[text.index("<figcaption><strong>Importance of the columns"):]
        labels = re.findall(r"<text [^>]*>(\u2026\d+ \(mg/l\))</text>", figure[:figure.index("</svg>")])
        self.assertEqual(len(labels), 30)
        self.assertEqual(len(set(labels)), 30)

    def test_thousands_of_columns(self):
        """Only columns that go with the predictions are permuted, among them the one that decides, and the page says so.
        The number of permuted columns follows from the size of the model, not from a clock."""
        rng = random.Random(9)
        names = [f"c{j}" for j in range(3000)]
        for name in ("train.csv", "new.csv"):
            rows = []
            for _ in range(100):
                cells = [round(rng.gauss(0, 0.3), 2) if rng.random() < 0.8 else None for _ in names]
                cells[1234] = round(rng.gauss(0, 30), 2)
                rows.append([*cells, "up" if cells[1234] > 0 else "down"])
            self.write_csv(name, [*names, "y"], rows)
        self.ok("train", "train.csv", "--target", "y", "--effort", "off", "--standardise", "off", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "new.csv", "-o", "page.html", "--quiet")
        text, _ = self.page()
        permuted = re.search(r"Of the 3000 columns, the (\d+) were permuted whose values go most with the predictions", text)
        self.assertLess(int(permuted.group(1)), 300)
        figure = text[text.index("<figcaption><strong>Importance of the columns"):]
        labels = re.findall(r"<text [^>]*>(c\d+)</text>", figure[:figure.index("</svg>")])
        self.assertEqual(len(labels), min(30, int(permuted.group(1))))
        self.assertEqual(labels[0], "c1234")

    def test_pages_do_not_grow_with_the_rows(self):
        """Figures show summaries: 20 times as many rows hardly make the page larger."""
        for task in ("classify", "regress"):
            sizes = []
            for rows in ("1500", "30000"):
                self.ok("synth", "--rows", rows, "--dim", "6", "--task", task, "--seed", "3", "-o", "d.csv", "--quiet")
                if not sizes:
                    self.ok("train", "d.csv", "--target", "target", "--effort", "off", "--solver", "nystrom", "--landmarks", "20",
                            "-o", "m.karma", "--quiet")
                self.ok("report", "m.karma", "d.csv", "-o", "page.html", "--quiet")
                sizes.append(len(self.page()[0]))
            self.assertLess(sizes[1], 1.25 * sizes[0], f"{task}: {sizes}")
            self.assertLess(sizes[1], 500000)

    def test_scores_by_gamma(self):
        """The figure has the best score of every kernel for each gamma: those of the JSON, whose kernels are texts."""
        clinic = os.path.join(SOURCE, "examples", "clinic.csv")
        self.ok("train", clinic, "--target", "outcome", "--id", "patient", "--effort", "normal", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", clinic, "--id", "patient", "-o", "r.html", "--quiet")
        page = self.read("r.html").decode()
        figure = page[page.index("<strong>Score by \u03b3</strong>"):].partition("</figure>")[0]
        drawn = re.findall(r"<tr><td>([^<]+)<td>([^<]+)<td>([^<\n]+)", figure)
        best = {}
        for candidate in self.ok("inspect", "m.karma", "--json").json()["cv"]["candidates"]:
            gammas = re.findall(r"gamma=(\d+)", candidate["kernel"])
            if len(gammas) == 1:
                name = re.sub(r"\(,?\)", "", re.sub(r"gamma=\d+,?", "", candidate["kernel"]))
                key = name, gammas[0]
                best[key] = max(best.get(key, -1), candidate["score"])
        self.assertGreater(len(drawn), 3)
        for name, gamma, score in drawn:
            self.assertAlmostEqual(float(score), best[name, gamma], delta=6e-4, msg=name)

    def test_report_of_other_commands(self):
        self.two_classes()
        common = ["two.csv", "--target", "answer", "--quiet"]
        self.ok("train", *common, "--effort", "quick", "-o", "m.karma", "--report", "train.html")
        text, _ = self.page("train.html")
        self.assertIn("How the model was chosen", self.headings(text))
        self.assertIn("120 rows, each predicted by a model that had not seen it", text)
        self.assertNotIn("rows that the model was learned from", text)
        self.assertNotIn("Importance of the columns", self.figures(text))  # it needs rows that the whole model has not seen
        self.assertEqual(len({"ROC curve", "Precision and recall", "Calibration"} & set(self.figures(text))), 3)
        self.assertIn("Quality by number of observed columns", self.headings(text))
        counts = [int(line[2].split()[0]) for line in self.values(text, "Confusion matrix")]
        self.assertEqual(sum(counts), 120)
        score = self.ok("train", *common, "--effort", "quick", "-o", "m.karma", "--json").json()["cv"]["score"]
        self.close_to((counts[0] + counts[3]) / 120, score, 0.1)  # of the first repeat, and of all
        self.ok("cv", *common, "--effort", "off", "--report", "cv.html")
        text, _ = self.page("cv.html")
        judged = self.ok("cv", *common, "--effort", "off", "--json").json()
        self.assertEqual(self.headings(text)[0], "Cross-validation")
        own = [float(line[2].rstrip("%")) for line in self.values(text, "Fold by fold") if line[0] == "the model"]
        for shown, fold in zip(own, judged["targets"][0]["folds"], strict=True):
            self.close_to(shown, fold, 1e-3)
        self.assertIn("Every row was predicted by the model of the fold that left it out", text)
        counts = [int(line[2].split()[0]) for line in self.values(text, "Confusion matrix")]
        self.close_to((counts[0] + counts[3]) / sum(counts), sum(judged["targets"][0]["folds"]) / 5, 1e-3)  # folds of 24
        self.assertEqual(sum(counts), 120)
        self.assertIn("ROC curve", self.figures(text))
        # a class with a single row, which its own fold does not know; numbers; several repeats count once
        self.three_classes()
        three = self.read("three.csv").decode()
        self.write("odd.csv", three + three.strip().rsplit("\n", 1)[1].rsplit(",", 1)[0] + ",yew\n")
        self.ok("cv", "odd.csv", "--target", "tree", "--quiet", "--effort", "off", "--rounds", "2", "--report", "odd.html")
        text, _ = self.page("odd.html")
        counts = [int(line[2].split()[0]) for line in self.values(text, "Confusion matrix")]
        self.assertEqual(sum(counts), 150)
        self.ok("compare", *common, "--methods", "zero,mean", "--report", "compare.html")
        text, _ = self.page("compare.html")
        self.assertEqual({line[1] for line in self.values(text, "Methods")}, {"zero", "mean"})
        self.ok("online", "--regret", "--rounds", "100", "--quiet", "--report", "online.html")
        text, _ = self.page("online.html")
        self.assertEqual(self.figures(text), ["Cumulative loss", "Regret and its bound"])

    def test_many_columns_missing_with_the_target(self):
        """Three of them have an item each, the others one together."""
        rng = random.Random(5)
        names = [f"test {j}" for j in range(8)]
        rows = [[None if (k % 2 and rng.random() < .8) else round(rng.gauss(0, 1), 3) for _ in names] + ["no", "yes"][k % 2:k % 2 + 1]
                for k in range(200)]
        self.write_csv("t.csv", [*names, "y"], rows)
        self.ok("train", "t.csv", "--target", "y", "--effort", "off", "-o", "m.karma", "--quiet")
        self.ok("report", "m.karma", "t.csv", "-o", "r.html", "--quiet")
        page = html.unescape(self.read("r.html").decode())
        self.assertEqual(page.count("go with the target: missing rates differ"), 3)
        self.assertIn("missing values in 5 more columns go with the target: ", page)
        for name in names:
            self.assertRegex(page, rf"(in column |more columns go with the target: .*)'{name}'")

    def test_what_is_worth_a_look_is_said_once(self):
        rng = random.Random(4)
        rows = [(f"P{i:04}", rng.random(), "same", rng.random() < 0.5) for i in range(60)]
        self.write("once.csv", "name,x,constant,target\n" + "".join(f"{n},{x},{c},{'yes' if y else 'no'}\n" for n, x, c, y in rows))
        self.ok("cv", "once.csv", "--target", "target", "--effort", "off", "--report", "page.html",
                notes=["looks like an identifier", "columns worth a look .*'constant'"])
        items = re.findall("<li>(?!<)(.*?)</li>", self.page()[0], re.S)
        for column in ("name", "constant"):
            self.assertEqual(sum(f"'{column}'" in html.unescape(item) for item in items), 1, items)

    def test_refusals(self):
        self.trained()
        self.fails("report", "m.karma", "two.csv", code=2, says="-o FILE.html")
        self.fails("report", "m.karma", "two.csv", "-o", "two.csv", code=2, says="would overwrite the input")
        self.fails("report", "m.karma", "two.csv", "-o", "no/where.html", says="no/where.html")
        self.fails("train", "two.csv", "--target", "answer", "-o", "x.karma", "--report", "two.csv", code=2, says="overwrite")
        self.fails("train", "two.csv", "--target", "answer", "-o", "x", "--report", "x", code=2, says="same file")
        self.fails("cv", "two.csv", "--target", "answer", "--report", "-", code=2, says="to a file")

    def test_same_page_twice_and_for_any_threads(self):
        self.trained()
        for name, threads in (("a.html", "1"), ("b.html", "2")):
            self.ok("report", "m.karma", "two.csv", "-o", name, "--threads", threads, "--quiet")
        a, b = (re.sub(r"-o \w.html --threads \d", "", self.read(name).decode()) for name in ("a.html", "b.html"))
        self.assertEqual(a, b)

"""Files as spreadsheets, accounting systems and colleagues write them: they are read like the plain file, or refused with
advice."""
import csv
import datetime
import io
import random
import re
import unicodedata

from case import Case

COLOURS = ["red", "green", "blue"]


def numbers(n=60):
    """Rows of an amount, a score, a colour and a label."""
    draw = random.Random(16)
    rows = []
    for _ in range(n):
        amount, score, colour = round(draw.uniform(-3000, 9000), 2), round(draw.gauss(0, 2), 3), draw.choice(COLOURS)
        rows.append((amount, score, colour, "yes" if amount + 500 * score > 3000 else "no"))
    return rows


def grouped(x, separator, mark):
    return f"{x:,.2f}".replace(",", "\0").replace(".", mark).replace("\0", separator)


def indian(x):
    whole, cents = f"{abs(x):.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    groups = [tail]
    while head:
        groups.insert(0, head[-2:])
        head = head[:-2]
    return ("-" if x < 0 else "") + ",".join(groups) + "." + cents


HEADER = ["amount", "score", "colour", "label"]


class Messy(Case):
    """The model of the plain file is the reference: its predictions are those of every other spelling, bit by bit."""

    def setUp(self):
        super().setUp()
        self.rows = numbers()
        self.plain = self.text(lambda x: f"{x:.2f}")
        self.reference = self.predictions("plain.csv", self.plain)

    def text(self, amount, score=lambda y: f"{y:.3f}", colour=str, label=str, delimiter=",", header=HEADER, end="\n"):
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
        writer.writerow(header)
        for x, y, c, l in self.rows:
            writer.writerow([amount(x), score(y), colour(c), label(l)])
        return out.getvalue()

    def test_points_that_may_separate_thousands(self):
        note = r"column 'amount' is numbers: 60 cells such as '\d+.\d00' are read with a decimal point, as small numbers"
        draw = random.Random(5)
        amounts = [f"{draw.randint(1, 90)}.{draw.randint(0, 9)}00" for _ in range(60)]
        for change, is_noted in ((lambda i, a: a, True), (lambda i, a: "0.5" if i == 30 else a, False),
                                 (lambda i, a: a[:-2] + str(11 + i % 80), False)):
            lines = [f"{change(i, a)},{'yes' if float(a) > 45 else 'no'}" for i, a in enumerate(amounts)]
            self.write("money.csv", "\n".join(["amount,label", *lines]) + "\n")
            done = self.run_karma("inspect", "money.csv", "--target", "label")
            self.assertEqual(done.code, 0, done.err)
            (self.assertRegex if is_noted else self.assertNotRegex)(done.err, note)
        self.write("money.csv", "\n".join(["amount;label", *(f"{a};{'yes' if float(a) > 45 else 'no'}" for a in amounts)]) + "\n")
        done = self.run_karma("inspect", "money.csv", "--target", "label", "--decimal", ",")
        self.assertNotRegex(done.err, "small numbers")

    def predictions(self, name, content, *reading, notes=()):
        """Of all four commands on the file: inspect, train, eval and predict."""
        self.write(name, content)
        table = self.ok("inspect", name, "--target", "label", *reading, "--json", notes=notes).json()
        self.assertEqual([c["type"] for c in table["columns"]], ["number", "number", "category"], name)
        self.ok("train", name, "--target", "label", "--effort", "off", "-o", "m.karma", *reading, notes=notes)
        self.ok("eval", "m.karma", name, notes=[note for note in notes if "read with decimal commas" not in note])
        run = self.run_karma("predict", "m.karma", name)
        self.assertEqual(run.code, 0, str(run))
        return run.out

    def same(self, content, *reading, notes=(), name="d.csv"):
        with self.subTest(first=content[:90]):
            self.assertEqual(self.predictions(name, content, *reading, notes=notes), self.reference)

    def test_numbers_of_several_countries(self):
        comma = lambda y: f"{y:.3f}".replace(".", ",")
        german = [r"numbers are read with decimal commas"]
        self.same("\ufeff" + self.text(lambda x: grouped(x, ".", ","), comma, delimiter=";", end="\r\n"), notes=german)
        money = r"'amount' is numbers: the currency sign of 60 cells is left out"
        self.same(self.text(lambda x: grouped(x, "\u202f", ",") + " €", comma, delimiter=";"), notes=german + [money])
        self.same(self.text(lambda x: "CHF " + grouped(x, "'", "."), delimiter=";"), notes=[money])
        self.same(self.text(lambda x: grouped(x, ",", ".") + " USD"), notes=[money])
        self.same(self.text(lambda x: f"-${-x:,.2f}" if x < 0 else f"${x:,.2f}"), notes=[money])
        self.same(self.text(indian))
        n = sum(x < 0 for x, _, _, _ in self.rows)
        negative = rf"{n} cells in parentheses or with a minus sign behind are read as negative"
        self.same(self.text(lambda x: grouped(abs(x), ".", ",") + "-" * (x < 0), comma, delimiter=";"),
                  notes=german + [negative])
        self.same(self.text(lambda x: f"({-x:.2f})" if x < 0 else f"{x:.2f}"), notes=[negative])
        self.same(self.text(lambda x: f"{x:.2f}%"))

    def test_blanks_and_quotes(self):
        self.same(self.text(lambda x: f"{x:.2f}\u00a0", colour=lambda c: f"\u00a0{c}\u00a0 "))
        self.same(self.text(lambda x: f"{x:.2f} ", lambda y: f"  {y:.3f}", delimiter="\t", header=["amount ", " score", "colour", "label "]),
                  name="d.tsv")
        self.same("\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in self.plain.splitlines()) + "\r\n")
        padded = lambda cell: f'"{cell:<12}"' if cell[-1].isdigit() else f'"{cell}"'
        self.same("\n".join(",".join(map(padded, line.split(","))) for line in self.plain.splitlines()))  # as databases do
        self.same("sep=;\r\n" + self.plain.replace(",", ";").replace("\n", "\r\n"))
        aligned = "".join("  ".join(f"{cell:<9}" for cell in line.split(",")) + "\n" for line in self.plain.splitlines())
        self.same(aligned, "--delimiter", "space")
        self.same(aligned.replace("  ", " \t"), "--delimiter", "space")
        self.same("  " + aligned.replace("\n", "\r\n  ").rstrip(" "), "--delimiter", "space")

    def test_codes_with_leading_zeros(self):
        draw = random.Random(3)
        codes = [draw.choice(["01234", "02139", "10001", "94105"]) for _ in self.rows]
        rows = [[code, *row[1:]] for code, row in zip(codes, self.rows)]
        self.write_csv("d.csv", ["zip", *HEADER[1:]], rows)
        n = sum(code[0] == "0" for code in codes)
        note = rf"'zip' is read as numbers, but {n} cells such as '{next(c for c in codes if c[0] == '0')}' start with 0, as codes do\. " \
               r"If they are codes, use --category 'zip'; if quantities, --numeric 'zip'"
        inspect = ("inspect", "d.csv", "--target", "label", "--json")
        self.assertEqual(self.ok(*inspect, notes=[note]).json()["columns"][0]["type"], "number")
        self.assertEqual(self.ok(*inspect, "--numeric", "zip").json()["columns"][0]["type"], "number")
        column = self.ok(*inspect, "--category", "zip").json()["columns"][0]
        self.assertEqual((column["type"], column["levels"]), ("category", len(set(codes))))
        self.ok("train", "d.csv", "--target", "label", "--category", "zip", "--effort", "off", "-o", "m.karma")
        self.ok("predict", "m.karma", "d.csv", "--flags")  # the model knows that they are categories
        self.write_csv("d.csv", ["a", "b", "c", "label"], [["0", "0.5", "-0.25", row[3]] for row in rows])
        self.ok(*inspect)
        labels = [["1", "2", "3", f"0{1 + i % 3}"] for i in range(60)]  # classes keep their names, and need no note
        self.write_csv("d.csv", ["a", "b", "c", "label"], labels)
        self.assertEqual([c for c in self.run_karma(*inspect).notes() if "start with 0" in c], [])

    def test_dates_of_several_countries(self):
        """The same days in five forms are the same columns and give the same predictions."""
        draw = random.Random(6)
        days = [datetime.date(2022, 1, 1) + datetime.timedelta(days=draw.randrange(900)) for _ in self.rows]
        forms = ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %b %Y"]
        answers = set()
        for form in forms:
            rows = [[day.strftime(form), row[1], "yes" if (day.month > 6) != (row[1] > 1) else "no"] for day, row in zip(days, self.rows)]
            self.write_csv("d.csv", ["visit", "score", "label"], rows)
            note = "'visit' is read as dates; --dates off reads it as texts"
            self.ok("train", "d.csv", "--target", "label", "--effort", "off", "-o", "m.karma", notes=[note])
            answers.add(self.run_karma("predict", "m.karma", "d.csv").out)
        self.assertEqual(len(answers), 1)
        columns = self.ok("inspect", "d.csv", "--target", "label", "--json", notes=[note]).json()["columns"]
        self.assertEqual([c["name"] for c in columns], ["visit.year", "visit.month", "visit.weekday", "visit.days", "score"])
        epoch = datetime.date(1970, 1, 1)
        self.assertEqual((columns[3]["min"], columns[3]["max"]), ((min(days) - epoch).days, (max(days) - epoch).days))
        self.ok("inspect", "d.csv", "--target", "label", "--dates", "off")

    def test_padded_cells_are_missing_too(self):
        for cell in ("    ", " NA ", " - "):
            rows = [f'"{cell if i % 3 == 0 else f"{row[0]:8.2f}"}",{row[3]}' for i, row in enumerate(self.rows)]
            self.write("d.csv", "x,label\n" + "\n".join(rows) + "\n")
            notes = ["'x' is numbers: 20 cells such as ' - ' are read as missing"] if "-" in cell else []
            column = self.ok("inspect", "d.csv", "--target", "label", "--json", notes=notes).json()["columns"][0]
            self.assertEqual((column["type"], column["observed"]), ("number", 40))

    def test_numbers_beyond_numbers(self):
        draw = random.Random(5)
        self.write("d.csv", self.text(lambda x: draw.randrange(10**17, 10**18)))
        self.assertRegex(self.ok("inspect", "d.csv", "--target", "label").out, "'amount' looks like an identifier")
        self.write("d.csv", self.plain + "inf,1,red,yes\n")
        self.fails("inspect", "d.csv", says="line 62, column 'amount': 'inf' is not a finite number; if it .* missing value, use --missing 'inf'")
        self.ok("inspect", "d.csv", "--missing", "inf")

    def finding(self, content, *reading):
        self.write("d.csv", content)
        run = self.run_karma("inspect", "d.csv", "--target", "label", *reading, "--json")
        self.assertEqual(run.code, 0, str(run))
        return " ".join(run.json()["findings"])

    def test_what_is_worth_a_look(self):
        unit = self.finding(self.text(lambda x: f"{x:.2f} kg"))
        self.assertRegex(unit, r"'amount' looks like numbers with a unit \('-?[\d.]+ kg'\).*Remove the unit")
        units = self.finding(self.text(lambda x: f"{x:.2f} kg" if x > 2000 else f"{1000 * x:.0f} g"))
        self.assertRegex(units, r"'amount' looks like numbers with several units \('.* k?g', '.* k?g'\).*Convert them to one unit")
        self.assertRegex(self.finding(self.text(lambda x: f"PLN {x:.2f}")), "'amount' looks like numbers with a unit")
        self.assertRegex(self.finding(self.text(lambda x: f'="{x:.2f}"')), "'amount' looks like formulas of a spreadsheet .*remove = ")
        for name in ("P", "Room "):
            found = self.finding(self.text(lambda x: f"{name}{100 * x + 1e6:.0f}"))
            self.assertRegex(found, "'amount' looks like an identifier")
        took = self.finding(self.text(lambda x: f"{int(x + 3000) // 60}:{int(x + 3000) % 60:02d}:07"))
        self.assertRegex(took, r"'amount' looks like durations \('[\d:]+'\).*numbers, of minutes")
        months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"]
        for form in ("{m}/{d}/{y:02d}", "{n}-{y:02d}", "20{y:02d}-{m:02d}", "{m}/20{y:02d}"):
            write = lambda x: form.format(m=1 + int(x) % 6, n=months[int(x) % 6], d=1 + int(x) % 27, y=int(x) % 24)
            self.assertRegex(self.finding(self.text(write)), r"'amount' looks like dates \('.*'\), but not all in a form", form)
        empty = self.finding(self.plain + ",,,\n" * 7)
        self.assertIn("7 of 67 rows are empty: no cell and no label", empty)
        self.assertNotIn("are empty", self.finding(self.plain + ",,,yes\n" * 7))
        again = self.finding(self.plain + self.plain + self.plain)
        self.assertIn("row 61 below the header repeats the names of the columns, and other rows do, too. Remove them", again)
        self.assertIn("row 61 below the header repeats the names of the columns. Remove it", self.finding(self.plain + self.plain))
        self.assertNotIn("repeats the names", self.finding(self.plain + "1,2,colour,yes\n"))

    def test_words_that_may_mean_the_same(self):
        """yes, Y and TRUE, cells padded with blanks, a dash: each counts as a category of its own, and inspect says so."""
        def of_column(colour):
            count = iter(range(len(self.rows)))
            return self.finding(self.text(lambda x: f"{x:.2f}", colour=lambda c: colour[next(count) % len(colour)]))

        self.assertIn("'colour': 'N' and 'no' probably mean the same, but count as two categories", of_column(["Y", "no", "TRUE", "N"]))
        self.assertIn("'colour': 'false' and 'n' probably mean the same", of_column(["y", "n", "false"]))
        for unsuspicious in (["Y", "N"], ["T", "F", "Y"], ["yes", "no", "n.v.", "Y"]):  # letters may be codes
            self.assertNotIn("mean the same", of_column(unsuspicious))
        self.assertIn("'colour': 'red' and 'red  ' differ only in blanks at their ends, and count as two categories",
                      self.finding(self.plain.replace(",red,", ',"red  ",', 5)))
        self.assertIn("target 'label': the classes 'no' and 'no   ' differ only in blanks at their ends, and count as two classes",
                      self.finding(self.plain.replace(",no\n", ',"no   "\n', 5)))
        mark = "'colour': '-' is read as a category. If it stands for a missing value, use option 'missing' '-'"
        dashes = self.plain.replace(",red,", ",-,", 5)
        self.assertIn(mark, self.finding(dashes))
        self.assertNotIn("is read as a category", self.finding(dashes, "--missing", "-"))
        self.ok("train", "d.csv", "--target", "label", "--effort", "off", "-o", "m.karma",
                notes=["columns worth a look .*: a dash or points as a category: 'colour'$"])

    def test_missing_codes_of_statistics_programs(self):
        """.A to .Z and ._ of SAS say why a number is missing; among categories they are categories."""
        codes = [".A", ".", "._", ".z"]
        count = iter(range(1000))
        with_codes = lambda x: codes[k // 10 % 4] if (k := next(count)) % 10 == 3 else f"{x:.2f}"
        text = self.text(with_codes)
        blank = re.sub(r"^\.[A-Z_z]?,", ",", text, flags=re.M)
        self.assertNotEqual(text, blank)
        note = [r"'amount' is numbers: 6 cells such as '\.A' are read as missing"]
        self.write("d.csv", text)
        column = self.ok("inspect", "d.csv", "--target", "label", "--json", notes=note).json()["columns"][0]
        self.assertEqual((column["type"], column["observed"]), ("number", 54))
        self.ok("train", "d.csv", "--target", "label", "--effort", "off", "-o", "m.karma", "--quiet")
        answers = self.ok("predict", "m.karma", "d.csv", notes=note).out
        self.assertEqual(self.predictions("blank.csv", blank), answers)
        self.write("d.csv", self.plain.replace(",red,", ",.A,"))
        colours = self.ok("inspect", "d.csv", "--target", "label", "--json").json()["columns"][2]
        self.assertEqual((colours["type"], colours["observed"]), ("category", 60))

    def test_ranges_and_ordinals(self):
        """Categories such as 46-55 and 3rd have an order that the user must say; among numbers they get the usual notice."""
        for steps in (["18-25", "26-45", "46-55"], ["18 to 65", "66 - 90", ">90"], ["1st", "2nd", "3rd", "11th"]):
            count = iter(range(1000))
            text = self.text(lambda x: f"{x:.2f}", colour=lambda c: steps[next(count) % len(steps)])
            self.assertRegex(self.finding(text), r"'colour' is read as categories, which have no order, but they look like steps of one "
                                                 r"\('.*'\)\. Use option 'ordered' 'colour=FIRST<SECOND<THIRD'")
            self.ok("train", "d.csv", "--target", "label", "--effort", "off", "-o", "m.karma",
                    notes=["'colour' is read as categories: 40 cells are texts"] * (steps[-1] == ">90") +
                    [r"worth a look .*: categories that may have an order \(--ordered\): 'colour'$"])
            self.assertNotIn("steps", self.finding(text, "--ordered", "colour=" + "<".join(steps)))
        for names in (["R2-D2", "C-3PO", "BB-8"], ["10-5", "9-1", "8-8"], ["1st", "2nd"], ["<18", "18-65", "66-90"], ["4th floor", "3rd", "2nd"]):
            count = iter(range(1000))
            self.assertNotIn("steps", self.finding(self.text(lambda x: f"{x:.2f}", colour=lambda c: names[next(count) % len(names)])))
        for odd in ("46-55", "3rd", "0x1F"):
            count = iter(range(1000))
            self.write("d.csv", self.text(lambda x: odd if next(count) % 10 == 3 else f"{x:.2f}"))
            self.ok("inspect", "d.csv", "--target", "label",
                    notes=[rf"'amount' is read as categories: 54 cells are numbers, but 6 are not \('{odd}'\)\. If these mean missing"])

    def test_hours_with_an_h(self):
        for form in ("{}h{:02d}", "{} h {} min", "{}H{:02d}m"):
            took = self.finding(self.text(lambda x: form.format(int(x + 3000) // 60, int(x + 3000) % 60)))
            self.assertRegex(took, r"'amount' looks like durations \('.*'\).*numbers, of minutes")

    def test_spans_periods_and_several_numbers(self):
        """Cells whose numbers cannot be read as one: the finding says what they look like."""
        says = {"durations": r"'amount' looks like durations \('.*'\)", "dates": r"'amount' looks like dates \('.*'\), but ",
                "pairs": r"'amount' has several numbers in a cell \('.*'\), and is read as categories.*Make a column of each"}
        cases = [("durations", ("{a}y {b}m", "{a} years, {b} months", "{a} h {b} min {c} s")),
                 ("dates", ("20{y}Q{q}", "Q{q} 20{y}", "20{y}-W{w:02d}", "Mon, {d:02d} Jan 20{y}", "{d}. Dezember 20{y}", "20{y}06{d:02d}")),
                 ("pairs", ("{a}/{b}", "{a}:{b}", "{a} ({b}%)", "({a}.5, -{b}.25)", "[{a}, {b}]", "{a}.1 +/- 0.{b}", "{a} x {b}", "{a} of {b}",
                            "{a}°{b}'N")),
                 ("none", ("{a}-{b}", "10.0.{a}.{b}", "978-3-{a}-{b}", "R{a}/{b}", "{a}/{b}/c{c}", "{a} {b}"))]
        for kind, forms in cases:
            for form in forms:
                write = lambda x: form.format(a=int(x + 3000) % 40 + 1, b=int(x + 3000) // 40 % 12 + 1, c=int(x + 3000) % 60, y=10 + int(x) % 14,
                                              q=int(x) % 4 + 1, w=int(x) % 52 + 1, d=int(x) % 28 + 1)
                found = self.finding(self.text(write))
                for other, text in says.items():
                    (self.assertRegex if other == kind else self.assertNotRegex)(found, text, form)
                self.assertNotRegex(found, "with a unit|are numbers", form)
        self.assertNotRegex(self.finding(self.text(lambda x: f"{20220000 + int(x + 3000)}")), says["dates"])  # not all are days
        big = self.finding("amount;label\n" + "".join(f"{i + 1}.000.{i:03d};{'yes' if i % 3 else 'no'}\n" for i in range(40)), "--decimal", ".")
        self.assertNotRegex(big, says["dates"])

    def test_files_without_a_header(self):
        """The first row became the names: also where only some of them are numbers, or numbers happen to rise."""
        rows = self.plain.split("\n", 1)[1]
        finding = r"the names of the columns look like a row: '(red|green|blue)' is also a value of its column. If the first line .*header=off'"
        for first in (rows, rows.replace(".", "", 1), "5.5,9.5,red,yes\n" + rows):
            self.write("d.csv", first)
            run = self.run_karma("inspect", "d.csv", "--json")
            self.assertRegex(" ".join(run.json()["findings"]), finding)
            label = first.split("\n")[0].split(",")[3]
            train = self.run_karma("train", "d.csv", "--target", label, "--effort", "off", "-o", "m.karma")
            self.assertRegex(train.err, "look like a row: .* use --header off")
        self.assertNotRegex(self.finding(self.plain), "look like a row")
        self.assertNotRegex(self.finding(self.plain.replace("colour", "red")), "look like a row")  # other names are no numbers
        self.write("d.csv", rows)
        self.assertNotRegex(self.ok("inspect", "d.csv", "--header", "off").out, "look like a row")
        self.write("d.csv", "3.5,-2.5,red,yes\n" + rows)
        self.assertRegex(self.run_karma("inspect", "d.csv").err, "most names of columns are numbers; if the first line is a row")

    def test_other_formats_with_the_name_of_a_table(self):
        lines = "".join(f"{'+1' if l == 'yes' else '-1'} 1:{x:.2f} 2:{y:.3f}\n" for x, y, _, l in self.rows)
        self.write("d.txt", lines)
        self.ok("inspect", "d.txt", notes=["the lines look like LIBSVM; if they are, set --format libsvm"])
        for command in (["inspect", "d.txt"], ["train", "d.txt", "-o", "m.karma"]):
            self.fails(*command, "--target", "target", says="the only column is .*If the file is LIBSVM, set --format libsvm")
        self.ok("inspect", "d.txt", "--target", "target", "--format", "libsvm", "--absent", "zero")
        self.write("d.txt", self.plain.replace(",", "  "))
        self.ok("inspect", "d.txt", notes=["the only column is 'amount  score  colour  label'; if blanks separate the fields, set --delimiter space"])
        r = "a b label\n" + "".join(f'"{i + 1}" {x} {y} "{l}"\n' for i, (x, y, _, l) in enumerate(self.rows))
        self.write("d.txt", r)
        self.fails("train", "d.txt", "--target", "a b label", "-o", "m.karma", says="text after a closing quote; if blanks separate the fields, set --delimiter space")
        self.write("d.csv", self.plain.replace(",red,", ',"say \\"red\\"",'))
        self.fails("inspect", "d.csv", says="text after a closing quote; a quote inside quotes is written twice")
        single = re.sub(r"[^,\n]+", lambda cell: f"'{cell[0]}'", self.plain)
        self.write("d.csv", single)
        run = self.ok("inspect", "d.csv", notes=["single quotes around names and cells belong to them; .* replace them by double quotes"])
        self.assertRegex(run.out, r"column ''amount'' looks like numbers in single quotes \('.*'\).*Remove the quotes")
        self.assertNotIn("Remove the unit", run.out)
        self.same(single.translate(str.maketrans("'", '"')))

    def test_marks_of_databases_and_spreadsheets(self):
        """What MySQL, PostgreSQL, Excel and LibreOffice write where there is no value."""
        holes = lambda hole: self.text(lambda x: hole if int(x) % 4 == 0 else f"{x:.2f}", colour=lambda c: c)
        def model_of(content, notes=()):
            self.write("d.csv", content)
            self.ok("train", "d.csv", "--target", "label", "--effort", "off", "-o", "m.karma", notes=notes)
            return self.run_karma("predict", "m.karma", "d.csv").out

        plain = model_of(holes(""))
        self.assertEqual(model_of(holes("\\N")), plain)
        for hole in ("#NAME?", "#SPILL!", "#DIV/0!", "#NUM!", "Err:502", "–", "—", "n.d."):
            self.assertEqual(model_of(holes(hole), notes=[r"'amount' is numbers: \d+ cells such as '.*' are read as missing"]), plain, hole)
        for text in ("#a b!", "Err:", "Err:x", "#?x"):
            self.write("d.csv", holes(text))
            self.assertRegex(self.run_karma("inspect", "d.csv").err, "'amount' is read as categories")
        self.write("d.csv", self.plain.replace(",red,", ",\\N,"))
        colours = self.ok("inspect", "d.csv", "--target", "label", "--json").json()["columns"][2]
        self.assertEqual((colours["type"], len(self.rows) - colours["observed"]), ("category", sum(row[2] == "red" for row in self.rows)))
        for mark in ("-", "–"):
            count = iter(range(1000))
            found = self.finding(self.text(lambda x: f"{x:.2f}", label=lambda l: mark if next(count) % 5 == 0 else l))
            self.assertIn(f"target 'label': '{mark}' is a class of its own. If it stands for a missing label, use option 'missing' '{mark}'", found)

    def test_plus_and_minus(self):
        """A dash beside a plus is a sign, not a missing value."""
        for more in ({"label": lambda l: "+" if l == "yes" else "-"}, {"colour": lambda c: {"red": "+", "green": "-"}.get(c, "++")}):
            self.assertNotIn("stands for a missing", self.finding(self.text(lambda x: f"{x:.2f}", **more)))
        self.assertIn("stands for a missing label", self.finding(self.text(lambda x: f"{x:.2f}", label=lambda l: "plus" if l == "yes" else "-")))

    def test_codes_among_labels(self):
        """-999 in a target of numbers would be learned as a label like any other."""
        code = rf"target 'amount': 12 rows have (-999|99999), far from all other labels. If it stands for a missing label, use --missing '\1'"
        for mark in ("-999", "99999", "99999.0"):
            count = iter(range(1000))
            self.write("d.csv", self.text(lambda x: mark if next(count) % 5 == 0 else f"{x / 1000:.3f}"))
            quantity = "distinct numbers and is taken as a quantity"
            self.ok("train", "d.csv", "--target", "amount", "--effort", "off", "-o", "m.karma", notes=[code, quantity])
            self.ok("train", "d.csv", "--target", "amount", "--missing", mark, "--effort", "off", "-o", "m.karma",
                    notes=["12 of 60 rows have no label", quantity])

    def test_commas_that_may_separate_thousands(self):
        for cells, says in (("{}9,{:03d}", "so 1,234 is a little more than 1; if commas separate thousands, set --decimal ."), ("{}9,{:02d}", "as in 0,5")):
            self.write("d.csv", "amount;label\n" + "".join(cells.format(1 + i % 9, i) + f";{'yes' if i % 3 else 'no'}\n" for i in range(60)))
            self.ok("inspect", "d.csv", "--target", "label", notes=["numbers are read with decimal commas, " + re.escape(says)])

    def test_names_in_another_spelling(self):
        """Columns are found by their exact names: a note names one that is only spelt otherwise."""
        for new, says in (("AMOUNT", "'AMOUNT' may be the model's 'amount'"), ("Amount_", "'Amount_' may be"), ("amounts", None)):
            self.write("d.csv", self.plain.replace("amount", new))
            notes = ["that the model does not know are ignored", "count as missing: 'amount'"] + ([says + ".*rename it"] if says else [])
            self.write("plain.csv", self.plain)
            self.ok("train", "plain.csv", "--target", "label", "--effort", "off", "-o", "m.karma")
            self.ok("predict", "m.karma", "d.csv", notes=notes)

    def test_categories_in_another_spelling(self):
        self.write("plain.csv", self.plain)
        self.ok("train", "plain.csv", "--target", "label", "--effort", "off", "-o", "m.karma")
        says = "column 'colour': 'RED' may be the model's 'red', but counts as unseen: categories are found by their exact text"
        for text, notes in (("RED", [says, "cells unlike the training rows: 'colour'"]), ("crimson", ["cells unlike the training rows: 'colour'"])):
            self.write("d.csv", self.plain.replace(",red,", f",{text},"))
            self.ok("predict", "m.karma", "d.csv", notes=notes)

    def test_comments_above_the_delimiter(self):
        """Some programs write comments above the line that spreadsheets need."""
        comment = [r"1 line above the header that starts with # is skipped"]
        semicolons = "sep=;\r\n" + self.plain.replace(",", ";")
        content = "# made by a tool\n" + semicolons
        self.write("d.csv", content)
        self.assertEqual(self.ok("inspect", "d.csv", "--target", "label", "--json", notes=comment).json()["rows"], len(self.rows))
        self.ok("train", "d.csv", "--target", "label", "--effort", "off", "-o", "m.karma", notes=comment)
        self.assertEqual(self.run_karma("predict", "m.karma", "d.csv").out, self.reference)
        self.write("d.csv", "# one\n# two\n" + semicolons + "1;2\n")
        self.fails("inspect", "d.csv", "--target", "label", says=f"line {len(self.rows) + 5}: 2 fields, header has 4")

    def test_exports_of_statistics_programs(self):
        """SAS and SPSS write points and #NULL! for missing numbers, R quotes NA and names rows in a column without a name."""
        def model_of(content, *reading, notes=()):
            self.write("d.csv", content)
            self.ok("train", "d.csv", "--target", "label", "--effort", "off", "-o", "m.karma", *reading, notes=notes)
            return self.run_karma("predict", "m.karma", "d.csv").out

        holes = [[None if i % 4 == 0 else f"{x:.2f}", f"{y:.3f}", c, l] for i, (x, y, c, l) in enumerate(self.rows)]
        lines = lambda hole, quote="": "".join(",".join(quote + (cell or hole) + quote for cell in row) + "\n" for row in holes)
        plain = model_of(",".join(HEADER) + "\n" + lines(""))
        for hole, quote in ((".", ""), (".", '"'), ("#NULL!", ""), ("NA", '"')):
            notes = [r"'amount' is numbers: \d+ cells such as '.*' are read as missing"] if hole != "NA" else []
            self.assertEqual(model_of(",".join(HEADER) + "\n" + lines(hole, quote), notes=notes), plain, hole)
        named = "".join(f'"{i + 1}",{line}\n' for i, line in enumerate(lines('"NA"').splitlines()))
        self.assertEqual(model_of('"",' + ",".join(HEADER) + "\n" + named, "--ignore", "c1"), plain)
        self.write("d.csv", '"",' + ",".join(HEADER) + "\n" + named)
        self.assertRegex(self.ok("inspect", "d.csv", "--target", "label").out, "column 'c1' looks like an identifier")

    def test_what_to_do(self):
        """The message for a file that cannot be read says what helps."""
        unnamed = "Quarterly report,,,\nprinted today,,,\n" + self.plain
        cases = [
            (self.plain.replace("\n", ",\n").replace("label,", "label", 1), "line 2: 5 fields, header has 4; the line ends in a delimiter: remove it, or add one"),
            (self.plain + "Source: office of statistics\n", "line 62: 1 field, header has 4; if the line is not a row of the table, remove it"),
            (self.plain + "1,2,light, blue,yes\n", "line 62: 5 fields, header has 4; a text that contains the delimiter must be in double quotes"),
            (",".join(HEADER) + "\n" + "".join(f'"{i}",1,2,red,yes\n' for i in range(9)),
             "line 2: 5 fields, header has 4; if every line starts with the name of its row, as R writes tables"),
            (unnamed, "no column 'label'; the columns are 'Quarterly report', 'c2', 'c3', 'c4'. If lines above the header describe"),
            ("Quarterly report\n\n" + self.plain, "the only column is 'Quarterly report'. .*if lines above the header describe the file, remove them"),
            (self.plain.replace(",", "  "), r"the only column is .*set --delimiter \('space' for blanks\)"),
            (self.plain.replace("score", "amount"), "columns 1 and 2 are both called 'amount'; rename one of them"),
            (self.plain.replace("\n", "\r"), r"a carriage return without a line feed.* for example by tr '\\r' '\\n'"),
            (self.plain.encode("utf-16"), "the text is UTF-16; .*iconv -f utf-16 -t utf-8"),
            (self.plain.encode("utf-16-le"), "the text is UTF-16; .*iconv -f utf-16le -t utf-8"),
            (self.plain.encode("utf-16-be"), "the text is UTF-16; .*iconv -f utf-16be -t utf-8"),
            (self.plain.replace("red", "rosé").encode("latin-1"), "is not UTF-8; .*iconv -f windows-1252 -t utf-8"),
        ]
        self.write("plain.csv", self.plain)
        self.ok("train", "plain.csv", "--target", "label", "--effort", "off", "-o", "m.karma")
        for content, says in cases:
            with self.subTest(says=says):
                self.write("d.csv", content)
                self.fails("inspect", "d.csv", "--target", "label", says=says)
                self.fails("train", "d.csv", "--target", "label", "-o", "new.karma", says=says)
                if "column" not in says:
                    self.fails("predict", "m.karma", "d.csv", says=says)
                    self.fails("eval", "m.karma", "d.csv", says=says)
        self.write("d.csv", unnamed)
        self.assertRegex(self.run_karma("inspect", "d.csv").err, "most columns have no name; if lines above the header")

    def test_cells_of_several_lines_and_long_names(self):
        question = "How much did your household spend on food, restaurants included, in the last twelve months? " * 4
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow([question.strip(), "score", "remark, if any", "label"])
        for i, (x, y, _, label) in enumerate(self.rows):
            writer.writerow([x, y, f'said "hm",\r\nand left {i}', label])
        self.write("d.csv", out.getvalue())
        table = self.ok("inspect", "d.csv", "--target", "label", "--json").json()
        self.assertEqual([(c["name"], c["type"]) for c in table["columns"]],
                         [(question.strip(), "number"), ("score", "number"), ("remark, if any", "category")])
        self.assertEqual((table["rows"], table["columns"][2]["levels"]), (60, 60))
        self.ok("train", "d.csv", "--target", "label", "--effort", "off", "--ignore", "remark, if any", "-o", "m.karma")
        self.assertEqual(len(self.ok("predict", "m.karma", "d.csv").rows()), 61)
        shown = self.ok("inspect", "d.csv", "--target", "label").out.splitlines()
        head = next(line for line in shown if line.startswith("  column"))
        first = next(line for line in shown if line.startswith("  How much"))
        self.assertEqual(first.index("number"), head.index("type"))

    def test_cells_of_a_megabyte(self):
        """As a category, a name, a class or among numbers: kept whole in outputs for programs, cut in what people read."""
        long = "w" * 1000000

        def shown(header, rows, notes=()):
            self.write_csv("d.csv", header, rows)
            texts = [self.ok("inspect", "d.csv", "--target", "label", notes=notes).out,
                     self.ok("train", "d.csv", "--target", "label", "--effort", "off", "-o", "m.karma", notes=notes).out,
                     self.ok("inspect", "m.karma").out, self.ok("eval", "m.karma", "d.csv").out]
            self.assertLess(max(map(len, "\n".join(texts).splitlines())), 300)
            return texts

        rows = [[i % 9, "abc"[i % 3], "yes" if (i % 9 > 4) != (i % 4 == 0) else "no"] for i in range(60)]
        header = ["x", "g", "label"]
        shown(header, [[x, long if i == 7 else g, y] for i, (x, g, y) in enumerate(rows)])
        shown(["x", long, "label"], rows)
        shown(header, [[x, g, long if y == "yes" else y] for x, g, y in rows])
        self.assertIn(long, self.ok("predict", "m.karma", "d.csv").out)
        texts = shown(header, [[long if i == 7 else i / 7, g, y] for i, (x, g, y) in enumerate(rows)],
                      notes=["'x' is read as categories: 59 cells are numbers, but 1 is not"])
        self.assertRegex(texts[0], "column 'x' is read as categories, which have no order, but 98% of its values are numbers")

    def test_tables_align_below_accents_and_long_names(self):
        names = {"red": "größer als rot", "green": "vert foncé", "blue": "青い"}
        header = ["Größe der Person in Zentimetern", "数値", "préférée", "label"]
        self.write("d.csv", self.text(lambda x: f"{x:.2f}", colour=names.get, header=header))
        self.ok("train", "d.csv", "--target", "préférée", "--effort", "off", "-o", "m.karma")

        def width(text):
            return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)

        def ends(lines, pattern):
            return [[width(line[:found.end()]) for found in re.finditer(pattern, line)] for line in lines]

        def table(lines, first):
            start = next(i for i, line in enumerate(lines) if line.startswith(first))
            return lines[start:start + 4]

        confusion = table(self.ok("eval", "m.karma", "d.csv").out.splitlines(), "  truth")
        self.assertEqual(len({width(line) for line in confusion}), 1, confusion)
        self.assertEqual(len({tuple(e) for e in ends(confusion[1:], r" \d+(?= )| [\d.]+%")}), 1, confusion)
        importance = table(self.ok("explain", "m.karma", "d.csv", "--importance").out.splitlines(), "  column")
        self.assertEqual(len({tuple(e) for e in ends(importance[1:], r" ±")}), 1, importance)
        self.assertTrue(any("Größe der Person in Z..." in line for line in importance), importance)
        inspect = table(self.ok("inspect", "d.csv", "--target", "préférée").out.splitlines(), "  column")
        self.assertEqual(len({tuple(e) for e in ends(inspect[1:], r" [\d.]+%")}), 1, inspect)

    def test_all_codes_of_a_survey_are_named(self):
        """98 (refused) stands beside 99 (no answer)."""
        draw = random.Random(3)
        rows = "".join(f"{draw.choice([1, 2, 3, 4, 5, 98, 99])},{i % 2}\n" for i in range(100))
        self.write("d.csv", "q,y\n" + rows)
        found = self.ok("inspect", "d.csv", "--target", "y").out
        for code in ("98", "99"):
            self.assertRegex(found, rf"'q' has {code} in \d+ rows, .* use --missing '{code}'")

    def test_parts_of_dates_belong_to_the_users_column(self):
        """Dates within one year cause no finding, and --flags and notes name the column of the file."""
        rows = "".join(f"2024-0{i % 3 + 1}-1{i % 9},{i},{i % 2}\n" for i in range(40))
        self.write("d.csv", "when,a,y\n" + rows)
        run = self.ok("inspect", "d.csv", "--target", "y", notes=["'when' is read as dates"])
        self.assertNotIn("same value in all rows", run.out)
        self.ok("train", "d.csv", "--target", "y", "--effort", "off", "-o", "m.karma", "--quiet")
        self.write("new.csv", "when,a\n2030-02-11,5\n2024-01-11,5\n2024-12-24,500\nsoon,3\n")
        said = "cells unlike the training rows: 'when .month.' 1 outside .* 1 to 3; 'when' 2 outside .* 2024-01-10 to 2024-03-18; 'a' 1"
        run = self.ok("predict", "m.karma", "new.csv", "--flags", notes=["'when' has 1 cell that is not a date", said])
        self.assertEqual([row[-1] for row in run.rows()], ["flags", "when: above", "", "when (month): above; when: above; a: above", "when: text"])

    def test_large_numbers_are_readable(self):
        """Losses of prices are printed without four decimals and without powers of ten."""
        draw = random.Random(5)
        rows = "".join(f"{x},{int(150000 * (1 + x) + draw.gauss(0, 20000))}\n" for x in (draw.random() for _ in range(60)))
        self.write("d.csv", "x,price\n" + rows)
        shown = self.ok("train", "d.csv", "--target", "price", "--goal", "rmse", "--effort", "quick", "--intervals", "0.8",
                        "--verbose", "-o", "m.karma", notes=["memory", "taken as a quantity"]).out
        self.assertIn("  folds  ", shown)
        shown += self.ok("inspect", "m.karma").out
        shown += self.ok("eval", "m.karma", "d.csv").out
        shown += self.ok("cv", "d.csv", "--target", "price", "--goal", "rmse", "--kernel", "linear", notes=["taken as a quantity"]).out
        self.assertRegex(shown, r"RMSE +\d{5}\.\d \+- \d+\.\d ")
        self.assertNotRegex(shown, r"\d{5}\.\d\d|e\+\d\d| -0\.0+\b")

    def test_classes_that_look_like_numbers(self):
        draw = random.Random(6)
        rows = "".join(f"{i},{'absent' if i % 9 == 0 else str(draw.randint(30, 90)) + '/100'}\n" for i in range(120))
        self.write("d.csv", "hours,final\n" + rows)
        says = r"target 'final': its \d+ classes look like numbers \('\d+/100'\), .*If it is a quantity, write plain numbers"
        self.assertRegex(self.ok("inspect", "d.csv", "--target", "final").out, says)

    def test_inspect_takes_labels_as_train_does(self):
        rows = "".join(f"{i % 7},{i % 4}\n" for i in range(80))
        self.write("d.csv", "x,grade\n" + rows)
        self.assertIn("target grade: 4 numbers, 0 to 3, taken as classes", self.ok("inspect", "d.csv", "--target", "grade").out)
        self.assertIn("target x: 7 numbers, 0 to 6, taken as classes", self.ok("inspect", "d.csv", "--target", "x").out)

    def test_totals_of_other_languages(self):
        rows = "".join(f"k{i},{i % 5},{i % 2}\n" for i in range(40))
        self.write("d.csv", "kunde,menge,y\n" + rows + "Summe,80,\n")
        self.assertRegex(self.ok("inspect", "d.csv", "--target", "y").out, r"last row looks like a total \('Summe'\)")

    def test_lines_of_an_arff_file_of_one_attribute(self):
        self.write("d.arff", "% one column\n@relation r\n@attribute x numeric\n\n@data\n1\n2\nabc\n")
        self.fails("inspect", "d.arff", says="d.arff: line 8, column 'x': 'abc' is not a number")

    def test_a_missing_number_may_have_digits_after_the_point(self):
        self.write("d.csv", "a,b,y\n" + "".join(f"{'-999.000' if i % 4 == 0 else i},{i % 7},{i % 2}\n" for i in range(40)))
        shown = self.ok("inspect", "d.csv", "--target", "y", "--missing", "-999").out
        self.assertRegex(shown, r"a +number +25\.0%")
        self.write("d.csv", "a,b,y\n" + "".join(f"{'-9990' if i % 4 == 0 else i},{i % 7},{i % 2}\n" for i in range(40)))
        self.assertRegex(self.ok("inspect", "d.csv", "--target", "y", "--missing", "-999").out, r"a +number +0\.0%")

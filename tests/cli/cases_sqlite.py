"""The SQLite extension: prediction inside SQL equals karma predict, and failures are errors of SQL."""
import json
import os
import random
import sqlite3
import subprocess
import sys

from case import CRASH, HUNG, KARMA, Case

EXTENSION = os.environ.get("KARMA_SQLITE", os.path.join(os.path.dirname(KARMA), "karma_sqlite"))
# a separate program runs the SQL, so that a crash fails the test
HOST = """
import json, os, sqlite3, sys, threading
work = json.load(sys.stdin)
def answer(statements):
    db = sqlite3.connect(work["database"])
    db.enable_load_extension(True)
    db.load_extension(work["extension"])
    said = []
    for statement in statements:
        try:
            cursor = db.execute(statement)
            rows = []
            for row in cursor:
                rows.append(row)
                if len(rows) == 1 and work["after_first_row"]:
                    os.replace(*work["after_first_row"])
            said.append(rows)
        except sqlite3.Error as error:
            said.append(str(error))
    return said
results = [None] * work["threads"]
def run(i):
    results[i] = answer(work["statements"])
threads = [threading.Thread(target=run, args=(i,)) for i in range(work["threads"])]
[t.start() for t in threads]
[t.join() for t in threads]
assert all(result == results[0] for result in results)
json.dump(results[0], sys.stdout)
"""


class Extension(Case):
    def sql(self, *statements, threads=1, after_first_row=None, database="t.db"):
        work = {"database": database, "extension": EXTENSION, "statements": statements, "threads": threads, "after_first_row": after_first_row}
        environment = dict(os.environ)
        if os.environ.get("SANITIZER"):
            environment.update(LD_PRELOAD=os.environ["SANITIZER"], ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1")
        done = subprocess.run([sys.executable, "-c", HOST], input=json.dumps(work).encode(), cwd=self.dir, timeout=HUNG,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        said = done.stderr.decode()
        self.assertNotRegex(said, CRASH)
        self.assertEqual(done.returncode, 0, said)
        return json.loads(done.stdout)

    def one(self, statement, **more):
        return self.sql(statement, **more)[0]

    def setUp(self):
        super().setUp()
        draw = random.Random(4)
        self.rows = []
        for i in range(130):
            x, z = draw.choice([None, draw.randint(0, 30)]), draw.choice([None, round(draw.gauss(0, 3), 6)])
            colour = draw.choice(["red", "green", "blue, dark", None])
            seen = draw.choice([None, f"202{draw.randint(0, 5)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"])
            size = (x or 10) + (z or 0) + (5 if colour == "red" else 0)
            self.rows.append([i + 100, x, z, colour, seen, "yes" if size > 14 else "no", "abc"[int(size // 9) % 3], round(size + draw.gauss(0, 1), 3)])
        db = sqlite3.connect(self.path("t.db"))
        db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, x, z, colour, seen, y, k, n)')
        db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self.rows)
        db.execute("CREATE VIEW v AS SELECT * FROM t")
        db.commit()
        db.close()

    def train(self, target, *more, model="m.karma"):
        others = [name for name in ("y", "k", "n") if name not in target.split(",")]
        run = self.run_karma("train", "sqlite:t.db?table=t", "--target", target, "--id", "id", *[word for name in others for word in ("--ignore", name)],
                             "-o", model, "--quiet", *more)
        self.assertEqual(run.code, 0, str(run))

    def predicted(self, model="m.karma"):
        """The output of karma predict: rows as dictionaries."""
        names, *rows = self.run_karma("predict", model, "sqlite:t.db?table=t", "--quiet").rows()
        return [dict(zip(names, row)) for row in rows]

    def test_predictions_are_those_of_the_tool(self):
        for target, options in [("y", ["--kernel", "linear"]), ("y", ["--kernel", "rank", "--outer", "rbf"]), ("y", ["--effort", "quick"]),
                                ("y", ["--kernel", "boost"]), ("k", ["--kernel", "rank", "--probabilities", "sigmoid"]), ("n", ["--kernel", "linear"]),
                                ("n", ["--kernel", "rank", "--loss", "pinball", "--quantile", "0.1,0.5,0.9"]), ("n", ["--kernel", "subspace"])]:
            self.train(target, *options)
            wanted = self.predicted()
            number = float if target == "n" else str
            said, named, table, view = self.sql(
                "SELECT karma_predict('m.karma', x, z, colour, seen) FROM t",
                "SELECT karma_predict('m.karma', json_object('seen', seen, 'x', x, 'more', 7, 'colour', colour, 'z', z)) FROM t",
                "SELECT id, prediction, probabilities, quantiles FROM karma_predict_table('m.karma', 't')",
                "SELECT id, prediction FROM karma_predict_table('m.karma', 'v')")
            answers = [number(row["prediction"]) for row in wanted]
            self.assertEqual([row[0] for row in said], answers, options)
            self.assertEqual([row[0] for row in named], answers, options)
            self.assertEqual([row[:2] for row in table], [[row[0], answer] for row, answer in zip(self.rows, answers)])
            self.assertEqual(view, [[i + 1, answer] for i, answer in enumerate(answers)])
            for what, mark, column in (("probabilities", "p:", 2), ("quantiles", "q:", 3)):
                keys = [key for key in wanted[0] if key.startswith(mark)]
                rows = self.one(f"SELECT karma_{what}('m.karma', x, z, colour, seen) FROM t")
                if not keys:
                    self.assertIn(f"the model has no {what}", rows)
                    self.assertEqual({row[column] for row in table}, {None})
                    continue
                values = [{key[2:]: float(row[key]) for key in keys} for row in wanted]
                self.assertEqual([json.loads(row[0]) for row in rows], values)
                self.assertEqual([json.loads(row[column]) for row in table], values)

    def test_several_targets(self):
        self.train("y,n", "--kernel", "linear")
        said = self.one("SELECT karma_predict('m.karma', x, z, colour, seen) FROM t")
        self.assertEqual([json.loads(row[0]) for row in said],
                         [{"y": row["prediction:y"], "n": float(row["prediction:n"])} for row in self.predicted()])

    def test_explanations(self):
        self.train("y", "--kernel", "rank")
        said = self.one("SELECT karma_explain('m.karma', x, z, colour, seen), id FROM t")
        for (text, number), row in zip(said, self.predicted()):
            (part,) = json.loads(text)
            self.assertEqual((part["target"], part["output"]), ("y", "yes"))
            self.assertAlmostEqual(part["bias"] + sum(part["contributions"].values()), float(row["score"]), delta=1e-4)
            self.assertEqual("x" in part["contributions"], self.rows[number - 100][1] is not None)

    def test_wide_tables(self):
        names = [f"c{i}" for i in range(300)]
        db = sqlite3.connect(self.path("wide.db"))
        db.execute(f"CREATE TABLE w (id, {', '.join(names)}, y)")
        draw = random.Random(1)
        rows = [[i, *[draw.choice([None, draw.random()]) for _ in names], "ab"[i % 2]] for i in range(40)]
        db.executemany(f"INSERT INTO w VALUES ({', '.join('?' * 302)})", rows)
        db.commit()
        db.close()
        self.assertEqual(self.run_karma("train", "sqlite:wide.db", "--target", "y", "--id", "id", "--kernel", "linear", "-o", "w.karma").code, 0)
        wanted = [row[1] for row in self.run_karma("predict", "w.karma", "sqlite:wide.db", "--quiet").rows()[1:]]
        self.assertEqual([row[0] for row in self.one("SELECT prediction FROM karma_predict_table('w.karma', 'w')", database="wide.db")], wanted)
        self.assertRegex(self.one(f"SELECT karma_predict('w.karma', {', '.join(names)}) FROM w", database="wide.db"), "too many arguments")

    def test_many_rows_in_several_parts(self):
        self.train("y", "--kernel", "linear")
        rows = self.one("SELECT count(*), count(DISTINCT p.id), sum(prediction = 'yes') FROM karma_predict_table('m.karma', 'many') p")
        self.assertIn("no such table: many", rows)
        db = sqlite3.connect(self.path("t.db"))
        db.execute("CREATE TABLE many AS SELECT a.id * 1000 + b.id AS i, a.x, b.z, a.colour, b.seen FROM t a, t b")
        db.commit()
        db.close()
        wanted = [row[0] for row in self.run_karma("predict", "m.karma", "sqlite:t.db?table=many", "--quiet").rows()[1:]]
        self.assertEqual(self.one("SELECT prediction FROM karma_predict_table('m.karma', 'many')"), [[answer] for answer in wanted])
        joined = self.one("SELECT count(*) FROM many JOIN karma_predict_table('m.karma', 'many') p ON p.id = many.rowid")
        self.assertEqual(joined, [[len(wanted)]])

    def test_a_model_that_changes_meanwhile(self):
        self.train("y", "--kernel", "linear")
        wanted = [row["prediction"] for row in self.predicted()]
        self.write("junk.karma", b"not a model")
        for statement in ("SELECT karma_predict('m.karma', x, z, colour, seen) FROM t", "SELECT prediction FROM karma_predict_table('m.karma', 't')"):
            self.train("y", "--kernel", "linear")
            self.write("junk.karma", b"not a model")
            said = self.sql(statement, statement, after_first_row=["junk.karma", "m.karma"])
            self.assertEqual([row[0] for row in said[0]], wanted)
            self.assertIn("m.karma", said[1])

    def test_views_on_predictions(self):
        self.train("y", "--kernel", "linear")
        db = sqlite3.connect(self.path("t.db"))
        db.execute("CREATE VIEW endless AS SELECT id AS x, prediction AS colour FROM karma_predict_table('m.karma', 'endless')")
        db.execute("CREATE VIEW twice AS SELECT t.*, p.prediction FROM t JOIN karma_predict_table('m.karma', 't') p ON p.id = t.rowid")
        db.commit()
        db.close()
        endless, twice, once = self.sql("SELECT * FROM endless", "SELECT prediction FROM karma_predict_table('m.karma', 'twice') ORDER BY id",
                                        "SELECT prediction FROM karma_predict_table('m.karma', 't') ORDER BY id")
        self.assertIn("karma_predict_table reads itself through a view", endless)
        self.assertEqual(twice, once)

    def test_the_model_of_a_row(self):
        self.train("y", "--kernel", "linear")
        self.train("n", "--kernel", "linear", model="n.karma")
        said = self.one("SELECT karma_predict(CASE id % 2 WHEN 0 THEN 'm.karma' ELSE 'n.karma' END, x, z, colour, seen) FROM t")
        both = [self.predicted(), self.predicted("n.karma")]
        self.assertEqual([row[0] for row in said], [both[1][i]["prediction"] and float(both[1][i]["prediction"]) if i % 2 else both[0][i]["prediction"]
                                                    for i in range(len(said))])

    def test_threads(self):
        self.train("y", "--effort", "quick")
        self.sql(*["SELECT karma_predict('m.karma', x, z, colour, seen) FROM t", "SELECT * FROM karma_predict_table('m.karma', 't')"] * 3, threads=4)

    def test_errors_of_sql(self):
        self.train("y", "--kernel", "linear")
        self.write("junk.karma", os.urandom(1000))
        cases = [("SELECT karma_predict()", "the arguments are"), ("SELECT karma_predict('m.karma')", "the arguments are"),
                 ("SELECT karma_predict(NULL, 1, 2, 3, 4)", "the arguments are"),
                 ("SELECT karma_predict('', 1, 2, 3, 4)", "the arguments are"), (f"SELECT karma_predict('m.karma', {', '.join(['NULL'] * 126)})", "has 4 columns, but 126"),
                 ("SELECT karma_predict('m.karma', json_object('X', 1, 'Colour', 2))", "none of the model's columns [(]'x', 'z', 'colour'"),
                 ("SELECT karma_predict('postgres://a:s3cret@h/d', 1, 2, 3, 4)", "^postgres://a@h/d: "), ("SELECT karma_predict('none.karma', 1, 2, 3, 4)", "none.karma: cannot open"),
                 ("SELECT karma_predict('.', 1, 2, 3, 4)", "^[.]: "), ("SELECT karma_predict('junk.karma', 1, 2, 3, 4)", "junk.karma: "),
                 ("SELECT karma_predict('m.karma', 1, 2)", "the model has 4 columns, but 2 values follow its name"),
                 ("SELECT karma_predict('m.karma', json_array(1, 2))", "not a JSON object"), ("SELECT karma_predict('m.karma', json_object())", "not a JSON object"),
                 ("SELECT karma_predict('m.karma', '{\"x\": ')", "not a JSON object"), ("SELECT karma_predict('m.karma', '{\"x\": 1, \"x\": 2}')", "not a JSON object"),
                 ("SELECT karma_predict('m.karma', json_object('x', json_array(1)))", "a list or an object"),
                 ("SELECT karma_predict('m.karma', 1, 2, CAST(x'ff' AS TEXT), 4)", "column 3 is not UTF-8"),
                 ("SELECT karma_predict('m.karma', 1, 2, 'a' || char(0) || 'b', 4)", "column 3 has a NUL byte"),
                 ("SELECT karma_predict('m.karma', 9e999, 2, 3, 4)", "is not a finite number"),
                 ("SELECT * FROM karma_predict_table", "takes a model file and a table"), ("SELECT * FROM karma_predict_table('m.karma')", "takes a model file and a table"),
                 ("SELECT * FROM karma_predict_table('m.karma', 't; DROP TABLE t')", "no such table"), ("SELECT * FROM karma_predict_table('none.karma', 't')", "none.karma"),
                 ("SELECT * FROM karma_predict_table(NULL, NULL)", "takes a model file and a table"), ("INSERT INTO karma_predict_table VALUES (1, 2, 3, 4)", "may not be modified")]
        for (statement, says), said in zip(cases, self.sql(*[statement for statement, _ in cases])):
            self.assertIsInstance(said, str, statement)
            self.assertRegex(said, says, statement)
        missing = self.sql("SELECT karma_predict('m.karma', NULL, NULL, NULL, NULL)", "SELECT karma_predict('m.karma', x'00ff', NULL, NULL, zeroblob(100))",
                           "SELECT karma_predict('m.karma', json_object('none of them', 1, 'x', NULL))", "SELECT count(*) FROM t")
        self.assertEqual(missing[0], missing[1])
        self.assertEqual(missing[0], missing[2])
        self.assertEqual(missing[3], [[130]])

"""The hidden subspace from the outside: kernels that use it, complete."""
import csv
import io

from case import Case


class Subspace(Case):
    def synth(self, *more, rows="300", dim="8", rank="2", noise="0.05", missing="0.4"):
        self.ok("synth", "--rows", rows, "--dim", dim, "--rank", rank, "--noise", noise, "--missing", missing,
                "-o", "holes.csv", "--complete", "full.csv", *more)

    def train(self, kernel="union", *more):
        self.ok("train", "holes.csv", "--target", "target", "--kernel", kernel, "-o", "m.karma", "--quiet", *more)


class Kernels(Subspace):
    def test_subspace_kernels_learn_and_predict(self):
        self.synth()
        for kernel in ("subspace", "union", "rank + 0.5*subspace"):
            with self.subTest(kernel=kernel):
                self.train(kernel, "--subspace-rank", "2", "--mu", "2")
                self.assertGreater(self.ok("eval", "m.karma", "holes.csv", "--json").json()["accuracy"], 0.85)
                options = self.ok("inspect", "m.karma", "--json").json()["options"]
                self.assertEqual((options["kernel"], options["subspace-rank"]), (kernel, 2))

    def test_columns_without_a_subspace_are_told(self):
        import random
        rng = random.Random(1)
        self.write_csv("noise.csv", ["a", "b", "c", "y"],
                       [[round(rng.gauss(0, 1), 4) for _ in range(3)] + ["up" if i % 2 else "down"] for i in range(200)])
        self.ok("train", "noise.csv", "--target", "y", "--kernel", "union", "-o", "m.karma",
                notes=["no subspace was found"])


class Complete(Subspace):
    def test_completes_what_is_missing_and_nothing_else(self):
        self.synth(noise="0", dim="12")
        self.train("union", "--subspace-rank", "2")
        run = self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv", "--errors", "se.csv", "--json").json()
        holes, full = self.read_rows("holes.csv"), self.read_rows("full.csv")
        out, errors = self.read_rows("out.csv"), self.read_rows("se.csv")
        self.assertEqual(out[0], holes[0])
        self.assertEqual(errors[0], holes[0][:-1])
        self.assertEqual(len(out), len(holes))
        n_missing, n_close = 0, 0
        for before, truth, after, error in zip(holes[1:], full[1:], out[1:], errors[1:]):
            self.assertEqual(after[-1], before[-1])
            for a, b, c, e in zip(before[:-1], truth, after, error):
                if a:
                    self.assertEqual((c, e), (a, "0"))
                else:
                    n_missing += 1
                    n_close += abs(float(c) - float(b)) < 1e-3
                    self.assertGreater(float(e), 0)
        self.assertEqual({key: run[key] for key in ("output", "errors", "rows", "attributes", "completed", "rank")},
                         {"output": "out.csv", "errors": "se.csv", "rows": 300, "attributes": 12,
                          "completed": n_missing, "rank": 2})
        self.assertGreater(n_close, 0.95 * n_missing)

    def test_standard_output_and_json_say_the_same(self):
        self.synth()
        self.train("subspace")
        text = self.ok("complete", "m.karma", "holes.csv").out
        self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv", "--threads", "3")
        self.assertEqual(text.encode(), self.read("out.csv"))
        object = self.ok("complete", "m.karma", "holes.csv", "--json").json()
        self.assertIsNone(object["output"])
        rows = list(csv.reader(io.StringIO(text)))
        self.assertEqual(object["columns"], rows[0])
        for cells, row in zip(object["cells"], rows[1:]):
            self.assertEqual(cells[:-1], [float(cell) for cell in row[:-1]])
        errors = self.ok("complete", "m.karma", "holes.csv", "-o", "out.csv", "--errors", "-").rows()
        self.assertEqual(len(errors), 301)

    def test_categories_ids_and_other_columns(self):
        rows = [[f"r{i}", i, 2 * i + 1 if i % 4 else None, "abc"[i // 10] if i % 5 else None, "x" if i % 2 else "y"]
                for i in range(30)]
        self.write_csv("t.csv", ["who", "a", "b", "kind", "y"], rows)
        self.ok("train", "t.csv", "--target", "y", "--id", "who", "--kernel", "subspace", "--subspace-rank", "1",
                "-o", "m.karma", "--quiet")
        self.write_csv("new.csv", ["kind", "stray", "who", "a"], [["a", 1, "p", None], [None, 2, "q", 28], ["new", 3, "r", 15]])
        out = self.ok("complete", "m.karma", "new.csv", "--id", "who", "--errors", "e.csv", "-o", "-",
                      notes=["does not know.*'stray'", "lack.*'b'"]).rows()
        self.assertEqual(out[0], ["who", "a", "b", "kind"])
        self.assertEqual([row[0] for row in out[1:]], ["p", "q", "r"])
        self.assertEqual([row[3] for row in out[1:]], ["a", "c", "new"])
        self.assertLess(float(out[1][1]), 14)
        self.assertGreater(float(out[2][2]), 40)
        errors = self.read_rows("e.csv")
        self.assertEqual(errors[0], ["who", "a", "b", "kind"])
        self.assertEqual((errors[1][3], errors[3][3], errors[2][1]), ("0", "0", "0"))
        self.assertTrue(0 < float(errors[2][3]) <= 1, errors)

    def test_refusals(self):
        self.synth()
        self.train("linear")
        self.fails("complete", "m.karma", "holes.csv", says="m.karma: .*no subspace.*--kernel union")
        self.train("union")
        self.fails("complete", "gone.karma", "holes.csv", says="gone.karma")
        self.fails("complete", "m.karma", "gone.csv", says="gone.csv")
        self.fails("complete", "holes.csv", "m.karma", says="holes.csv: not a usable model")
        self.fails("complete", "m.karma", "holes.csv", "-o", "holes.csv", code=2, says="would overwrite the input")
        self.fails("complete", "m.karma", "holes.csv", "-o", "o.csv", "--errors", "m.karma", code=2,
                   says="--errors m.karma would overwrite the input")
        self.fails("complete", "m.karma", "holes.csv", "-o", "o.csv", "--errors", "o.csv", code=2, says="the same file")
        self.fails("complete", "m.karma", "holes.csv", "--errors", "-", code=2, says="--errors -.*-o FILE")
        self.fails("complete", "m.karma", "holes.csv", "-o", "o.csv", "--errors", "nowhere/e.csv", says="nowhere/e.csv")
        self.fails("complete", "m.karma", "holes.csv", "-o", "nowhere/o.csv", "--errors", "e.csv", says="nowhere/o.csv")
        self.write("other.csv", "u,v\n1,2\n")
        self.fails("complete", "m.karma", "other.csv", says="none of the model's columns")

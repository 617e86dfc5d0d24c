"""karma-mpi: several processes give the same models and predictions as one, to the last byte, and fail together."""
import os
import random
import shutil
import subprocess
import unittest

from case import HUNG, KARMA, Case, Run

MPIRUN = shutil.which("mpirun")
TOOL = os.environ.get("KARMA_MPI", os.path.join(os.path.dirname(KARMA), "karma-mpi"))
RANKS = (1, 2, 3, 5)
FIT = ["--effort", "off", "--solver", "nystrom", "--threads", "1", "--landmarks", "80"]


def table(n, seed=1):
    """Missing cells, a category with quotes and line feeds, quotes that are text, dates, a column that is numbers until
    near its end, three classes, a number, rows without a label, empty lines."""
    rng = random.Random(seed)
    colours = ["red", "green", '"blue, dark"', '"say ""hi"""', '"a\nb"', '5" pipe', ""]
    lines = ["id,x,y,colour,late,day,kind,size"]
    for i in range(n):
        x, y = rng.gauss(0, 1), rng.gauss(5, 2)
        kind = "ABC"[(x > 0.3) + (y > 5)] if rng.random() < 0.9 else rng.choice("ABC")
        cells = [f"r{i}", "" if rng.random() < 0.3 else repr(x), "NA" if rng.random() < 0.2 else f"{y:.3f}", rng.choice(colours),
                 "word" if i > n - 30 and i % 3 else str(rng.randrange(8)), f"2024-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
                 kind if rng.random() > 0.05 else "", f"{2 * x - y + rng.gauss(0, 1):.4f}"]
        lines.append(",".join(cells))
        if i % 70 == 3:
            lines.append("")
    return "\n".join(lines) + "\n"


@unittest.skipUnless(MPIRUN, "mpirun is not installed")
class Together(Case):
    def run_mpi(self, ranks, *args):
        """Launchers refuse to run as root unless asked to, as in a container, and to start more processes than cores."""
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                   OMPI_MCA_mpi_yield_when_idle="1", OMP_WAIT_POLICY="passive", TMPDIR=self.dir, LC_ALL="C")
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # MPI does not free all of its memory
        done = subprocess.run([MPIRUN, "--oversubscribe", "-n", str(ranks), TOOL, *args], cwd=self.dir, env=env, timeout=HUNG,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return Run(args, done.returncode, done.stdout, done.stderr)

    def good(self, run):
        self.assertEqual(run.code, 0, str(run))
        return run

    def said(self, run):
        """What karma said, without the launcher's own words."""
        return [line for line in run.err.splitlines() if line.startswith("karma")]

    def test_models_of_any_number_of_processes_are_the_same(self):
        self.write("t.csv", table(1900))
        for words in (["--target", "kind", "--kernel", "rank", "--outer", "rbf", "--ignore", "size"],
                      ["--target", "size", "--kernel", "linear", "--outer", "rbf", "--loss", "huber", "--ignore", "kind"],
                      ["--target", "kind", "--kernel", "relevance", "--ignore", "size"],
                      ["--target", "size", "--kernel", "linear + boost", "--trees", "9", "--loss", "pinball", "--ignore", "kind"]):
            args = ["train", "t.csv", "--id", "id", *FIT, *words, "-o"]
            self.good(self.run_karma(*args, "one.karma"))
            for ranks in RANKS:
                run = self.good(self.run_mpi(ranks, *args, "some.karma"))
                self.assertIn("of the cells missing", run.out)
                self.assertEqual(self.read("some.karma"), self.read("one.karma"), f"{ranks} processes, {words}")

    def test_subspaces_of_any_number_of_processes_are_the_same(self):
        """Few rows, which every process gets for EM and for the rank, and so many that EM adds up the sums of processes (with labels: more than 16,384)."""
        self.write("few.csv", table(1900))
        self.write("many.csv", table(17600))
        for name, counts, words in (("few.csv", (2, 5), ["--kernel", "subspace"]),
                                    ("few.csv", RANKS, ["--kernel", "linear + 10*subspace", "--outer", "rbf", "--subspace-rank", "3"]),
                                    ("many.csv", (2, 5), ["--kernel", "linear + 10*subspace", "--subspace-rank", "2"])):
            args = ["train", name, "--target", "kind", "--id", "id", "--ignore", "size", *FIT, *words, "-o"]
            self.good(self.run_karma(*args, "one.karma"))
            for ranks in counts:
                self.good(self.run_mpi(ranks, *args, "some.karma"))
                self.assertEqual(self.read("some.karma"), self.read("one.karma"), f"{ranks} processes, {name}, {words}")

    def test_rows_that_are_left_out_are_those_of_one_process(self):
        """Probabilities, intervals and sets from rows in all processes; a search of a sample, and one of all rows, since they are few."""
        self.write("t.csv", table(1200))
        kind, size = ["--target", "kind", "--ignore", "size"], ["--target", "size", "--ignore", "kind"]
        off, search = ["--effort", "off", "--kernel", "linear"], ["--effort", "quick", "--kernel", "rank", "--outer", "rbf", "--gamma", "1", "--width", "1", "--folds", "3"]
        for ranks, words in ((2, [*kind, *off, "--probabilities", "sigmoid"]), (5, [*size, *off, "--intervals", "0.8"]), (3, [*kind, *search]),
                             (2, [*size, *search]), (2, [*kind, *search, "--effort", "normal"])):
            args = ["train", "t.csv", "--id", "id", "--solver", "nystrom", "--threads", "1", "--landmarks", "40", *words, "-o"]
            wanted = self.good(self.run_karma(*args, "one.karma"))
            run = self.good(self.run_mpi(ranks, *args, "any.karma"))
            self.assertEqual(self.read("any.karma"), self.read("one.karma"), f"{ranks} processes, {words}")
            self.assertEqual(self.said(run), self.said(wanted))
            self.assertEqual(run.out.replace("any.karma", "one.karma").split(), wanted.out.split())  # lines may be of other lengths
        run = self.good(self.run_mpi(2, "train", "t.csv", *kind, "--id", "id", "--solver", "nystrom", "--effort", "quick", "--time", "5", "-o", "x.karma"))
        self.assertIn("--time is not split", run.err)

    def test_the_default_training_is_that_of_one_process(self):
        """A search of a sample, boosted trees of all rows and their mean with kernels; few rows, which every process gets, and more."""
        self.write("few.csv", table(2500))
        self.write("many.csv", table(5700))
        for name, counts, target, other in (("few.csv", (2,), "size", "kind"), ("many.csv", (2,), "kind", "size"), ("many.csv", RANKS, "size", "kind")):
            args = ["train", name, "--target", target, "--ignore", other, "--id", "id", "--effort", "quick", "--threads", "1", "-o"]
            self.good(self.run_karma(*args, "one.karma"))
            for ranks in counts:
                run = self.good(self.run_mpi(ranks, *args, "some.karma"))
                self.assertNotIn("processes", run.err)
                self.assertEqual(self.read("some.karma"), self.read("one.karma"), f"{ranks} processes, {name}, {target}")
        self.write("more.csv", table(10500))
        args = ["train", "more.csv", "--target", "size", "--ignore", "kind", "--id", "id", "--effort", "quick", "--kernel", "subspace", "--subspace-rank", "1",
                "--refine", "1", "--solver", "nystrom", "--landmarks", "40", "--threads", "1", "-o"]
        self.good(self.run_karma(*args, "one.karma"))
        run = self.good(self.run_mpi(2, *args, "some.karma"))
        self.assertEqual(self.read("some.karma"), self.read("one.karma"))
        self.assertIn("every process gets all", run.err)
        self.write("t.arff", "@relation t\n@attribute x numeric\n@attribute y {a,b}\n@data\n" + "1,a\n2,b\n3,a\n5,b\n" * 30)
        run = self.good(self.run_mpi(2, "train", "t.arff", "--target", "y", "--effort", "quick", "-o", "some.karma"))
        self.assertIn("only CSV files are split", run.err)

    def test_halves_of_rows_are_found_in_other_processes(self):
        """Two halves of every row, far apart; weights that make no row a part of another; and rows without a label."""
        header, *rows = [line for line in table(900).replace('"a\nb"', "ab").splitlines() if line]
        draw = random.Random(3)
        labelled = [row for row in rows if row.split(",")[-2]]  # a model knows how many rows had no label
        for name, lines in (("whole.csv", [row + ",1" for row in labelled]), ("halves.csv", [row + ",0.5" for _ in range(2) for row in labelled]),
                            ("other.csv", [f"{row},{draw.choice((0, 1, 0.7, 0.3))}" for row in rows for _ in range(2)])):
            self.write(name, "\n".join([header + ",w", *lines]) + "\n")
        search = ["--effort", "quick", "--folds", "3"]
        for words in (FIT + ["--kernel", "rank", "--probabilities", "sigmoid"], search):
            args = ["--id", "id", "--ignore", "size", "--target", "kind", "--row-weight", "w", "--threads", "1", *words, "-o"]
            for name in ("halves.csv", "other.csv"):
                wanted = self.good(self.run_karma("train", "whole.csv" if name == "halves.csv" else name, *args, "one.karma"))
                for ranks in RANKS if words is not search else (3,):
                    run = self.good(self.run_mpi(ranks, "train", name, *args, "some.karma"))
                    self.assertEqual(self.read("some.karma"), self.read("one.karma"), f"{ranks} processes, {name}, {words}")
                    self.assertEqual(sum("rows are given in parts" in line for line in self.said(run)), int(name == "halves.csv"), str(run))
                self.assertNotIn("in parts", wanted.err)

    def test_predictions_are_in_the_order_of_the_rows(self):
        self.write("t.csv", table(1200))
        self.write("new.csv", table(1100, 2))
        self.good(self.run_karma("train", "t.csv", "--target", "kind", "--id", "id", "--ignore", "size", *FIT, "-o", "m.karma"))
        for words in ([], ["--flags"], ["--json"]):
            wanted = self.good(self.run_karma("predict", "m.karma", "new.csv", *words))
            for ranks in RANKS:
                run = self.good(self.run_mpi(ranks, "predict", "m.karma", "new.csv", *words))
                self.assertEqual(run.out, wanted.out, f"{ranks} processes, {words}")
                self.assertEqual(self.said(run), self.said(wanted))
        self.good(self.run_mpi(3, "predict", "m.karma", "new.csv", "-o", "out.csv"))
        self.assertEqual(self.read("out.csv"), self.run_karma("predict", "m.karma", "new.csv").raw)

    def test_fewer_rows_than_processes(self):
        self.write("t.csv", table(1200))
        self.write("few.csv", "id,x,y,colour,late,day\na,1,2,red,3,2024-01-01\nb,,2,green,3,2024-01-01\n")
        self.write("none.csv", "id,x,y,colour,late,day\n")
        self.good(self.run_karma("train", "t.csv", "--target", "kind", "--id", "id", "--ignore", "size", *FIT, "-o", "m.karma"))
        wanted = self.run_karma("predict", "m.karma", "few.csv")
        self.assertEqual(self.good(self.run_mpi(5, "predict", "m.karma", "few.csv")).out, wanted.out)
        run = self.run_mpi(3, "predict", "m.karma", "none.csv")
        self.assertNotEqual(run.code, 0)
        self.assertEqual(self.said(run), ["karma: none.csv: no rows"])
        self.write("small.csv", table(40))
        args = ["train", "small.csv", "--target", "kind", "--id", "id", "--ignore", "size", "--effort", "off", "--solver", "nystrom", "-o"]
        self.good(self.run_karma(*args, "one.karma"))
        self.good(self.run_mpi(5, *args, "five.karma"))
        self.assertEqual(self.read("five.karma"), self.read("one.karma"))

    def test_an_error_of_one_process_ends_all_with_one_message(self):
        text = table(1200)
        self.write("ragged.csv", text + "r,1\n")  # in the part of the last process
        lines = text.split("\n")
        lines[2] = "r,1"
        self.write("early.csv", "\n".join(lines))
        self.write("t.csv", text)
        self.good(self.run_karma("train", "t.csv", "--target", "kind", "--id", "id", "--ignore", "size", *FIT, "-o", "m.karma"))
        for name in ("ragged.csv", "early.csv"):
            for words in (["train", name, "--target", "kind", *FIT, "-o", "x.karma"], ["predict", "m.karma", name, "-o", "x.csv"]):
                wanted = self.run_karma(*words)
                self.assertEqual(len(self.said(wanted)), 1)
                for ranks in (2, 3):
                    run = self.run_mpi(ranks, *words)
                    self.assertEqual(run.code, wanted.code)
                    self.assertEqual(self.said(run), self.said(wanted), str(run))
        for words, part in ((["train", "t.csv", "--target", "nothing", *FIT, "-o", "x.karma"], "no column 'nothing'"),
                            (["train", "t.csv", "--target", "kind", *FIT, "--kernel", "forest", "-o", "x.karma"], "forest"),
                            (["train", "t.csv", "--target", "kind", *FIT, "--kernel", "subspace", "--refine", "5", "-o", "x.karma"], "refined"),
                            (["train", "t.csv", "--target", "kind", *FIT, "-o", "missing/x.karma"], "missing/x.karma"),
                            (["predict", "none.karma", "t.csv"], "none.karma")):
            run = self.run_mpi(3, *words)
            self.assertNotEqual(run.code, 0)
            complaints = [line for line in self.said(run) if not line.startswith("karma: note: ")]
            self.assertEqual(len(complaints), 1, str(run))
            self.assertIn(part, complaints[0])
        self.assertEqual([name for name in self.files() if name.startswith("x.")], [])

    def test_what_cannot_be_split_is_done_by_one_process(self):
        self.write("t.csv", table(300))
        words = ["train", "t.csv", "--target", "kind", "--id", "id", "--ignore", "size", "--kernel", "linear", "--solver", "batch", "-o"]
        wanted = self.good(self.run_karma(*words, "one.karma"))
        run = self.good(self.run_mpi(3, *words, "some.karma"))
        self.assertEqual(self.read("some.karma"), self.read("one.karma"))
        note = [line for line in self.said(run) if line not in self.said(wanted)]
        self.assertEqual(len(note), 1, str(run))
        self.assertIn("one of the 3 processes does all the work", note[0])
        wanted = self.good(self.run_karma("inspect", "t.csv", "--json"))
        self.assertEqual(self.good(self.run_mpi(2, "inspect", "t.csv", "--json")).out, wanted.out)

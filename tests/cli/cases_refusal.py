"""Data that cannot be used and outputs that cannot be written: one sentence, exit code 1, nothing left behind."""
import csv
import gzip
import math
import os
import signal
import subprocess

from case import CRASH, HUNG, KARMA, Case


class BadInput(Case):
    """One sentence with the place, exit code 1, nothing written."""

    def bad(self, content, says, name="d.csv", options=(), target="y"):
        self.write(name, content)
        self.fails("train", "--effort", "off", name, "--target", target, *options, "-o", "m.karma", says=says)

    def test_missing_file(self):
        self.fails("train", "--effort", "off", "gone.csv", "--target", "y", "-o", "m.karma", says="^karma: gone.csv: .*no such file")
        self.fails("predict", "gone.karma", "x.csv", "-o", "p.csv", says="^karma: gone.karma: .*No such file")
        self.fails("inspect", "gone.csv", says="gone.csv")
        self.trained(n=30)
        self.fails("predict", "m.karma", "gone.csv", "-o", "p.csv", says="^karma: gone.csv")

    def test_directory(self):
        os.mkdir(self.path("folder"))
        self.fails("train", "--effort", "off", "folder", "--target", "y", "-o", "m.karma", says="folder: is a directory")
        self.fails("inspect", "folder", says="folder: is a directory")
        self.fails("predict", "folder", "x.csv", says="folder: .*directory")
        self.two_classes(n=20)
        self.fails("train", "--effort", "off", "two.csv", "--target", "answer", "-o", "folder", says="folder: is a directory")

    def test_not_readable(self):
        self.two_classes(n=20)
        user = self.ordinary_user()
        os.chmod(self.path("two.csv"), 0)
        run = self.run_karma("gram", "two.csv", **user)
        os.chmod(self.path("two.csv"), 0o644)
        self.assertEqual([run.code, run.out], [1, ""])
        self.assertEqual(run.err, "karma: two.csv: cannot open: Permission denied\n")

    def test_empty_file(self):
        self.bad("", "d.csv: the file is empty")
        self.bad(b"\xef\xbb\xbf", "d.csv: the file is empty")
        self.bad("", "d.svm: the file is empty", name="d.svm", options=["--absent", "zero"], target="target")
        self.bad("\n\n\n", "d.csv: no rows")
        self.bad("# only\n", "d.svm: .*no rows", name="d.svm", options=["--absent", "zero"], target="target")

    def test_header_only(self):
        self.bad("a,b,y\n", "d.csv: no rows")
        self.bad("a,b,y", "d.csv: no rows")

    def test_ragged_rows(self):
        self.bad("a,b,y\n1,2,u\n1,2\n3,4,v\n", "d.csv: line 3: 2 fields, header has 3")
        self.bad("a,b,y\n1,2,u\n1,2,v,9\n", "d.csv: line 3: 4 fields, header has 3")
        self.bad('a,b,y\n1,"x\ny",u\n1,2\n', "d.csv: line 4: 2 fields")
        self.bad("1,2,u\n1,2\n", "d.csv: line 2: 2 fields, the first record has 3", options=["--header", "off"], target="c3")

    def test_unterminated_quote(self):
        self.bad('a,b,y\n1,"2,u\n3,4,v\n', "d.csv: line 2: .*quote.*never closed")

    def test_text_behind_a_quote(self):
        self.bad('a,b,y\n1,"2"x,u\n', "d.csv: line 2, column 6: text after a closing quote")

    def test_nul_byte(self):
        self.bad(b"a,b,y\n1,2,u\n3,\x004,v\n", "d.csv: line 3: a NUL byte")

    def test_not_utf8(self):
        self.bad(b"a,b,y\n1,caf\xe9,u\n", "d.csv: line 2: byte 0xe9 is not UTF-8")
        self.bad("a,y\n1,u\n".encode("utf-16"), "d.csv: line 1: the text is UTF-16")

    def test_lone_carriage_return(self):
        self.bad(b"a,y\r1,u\r2,v\r", "d.csv: line 1, column 4: a carriage return")

    def test_invalid_number_in_forced_column(self):
        self.bad("a,b,y\n1,2,u\n3,x4,v\n", "d.csv: line 3, column 'b': 'x4' is not a number", options=["--numeric", "b"])
        self.bad("a,y\n1,2\n3,many\n", "d.csv: line 3, column 'y': 'many' is not a number", options=["--numeric", "y"])

    def test_infinite_value(self):
        for text in ("inf", "-Infinity", "1e999"):
            with self.subTest(text=text):
                self.bad(f"a,b,y\n1,2,u\n3,{text},v\n", f"d.csv: line 3, column 'b': '{text}' is not a finite number")
        self.bad("a,y\n1,2\n3,inf\n4,1\n", "d.csv: line 3, column 'y': 'inf' is not a finite")
        self.bad("1 1:inf\n-1 1:2\n", "d.svm: line 1: '1:inf'.*not finite", "d.svm", ["--absent", "zero"], "target")

    def test_no_target_column(self):
        self.bad("a,b,outcome\n1,2,u\n", "d.csv: no column 'y'")
        self.bad("a,b,outcome\n1,2,u\n", "d.csv: no column 'outcom'; did you mean 'outcome'", target="outcom")
        self.fails("train", "--effort", "off", "d.csv", "--target", "outcome", "--id", "nr", "-o", "m.karma", says="d.csv: no column 'nr'")

    def test_one_class_only(self):
        self.bad("a,y\n1,u\n2,u\n3,\n", "d.csv: column 'y' has only one class, 'u'")
        self.bad("a,y\n1,7\n2,7\n", "d.csv: column 'y' has only one class, '7'")

    def test_no_labels(self):
        self.bad("a,y\n1,\n2,NA\n", "d.csv: no row has a label in column 'y'")

    def test_all_cells_missing(self):
        self.bad("a,b,y\n,,u\nNA,?,v\n", "d.csv: every cell of every row is missing")
        self.fails("gram", "d.csv", "--target", "y", "-o", "g.csv", says="d.csv: every cell")

    def test_no_columns_to_learn_from(self):
        self.bad("y\nu\nv\n", "d.csv: there is no column to learn from")

    def test_duplicate_column_names(self):
        self.bad("a,b,a,y\n1,2,3,u\n", "d.csv: line 1: columns 1 and 3 are both called 'a'")
        self.bad("a,c3,,y\n1,2,3,u\n", "d.csv: line 1: columns 2 and 3 are both called 'c3'")  # a name made up for it

    def test_libsvm_indices(self):
        options = ["--absent", "missing"]
        for line, says in (("1 0:5", "line 2: '0:5' has index 0"), ("1 3:1 2:5", "line 2: '2:5' follows a larger index"),
                           ("1 2:1 2:5", "line 2: '2:5' repeats an index"), ("1 x:5", "line 2: 'x:5'"), ("1 5", "line 2: '5'"),
                           ("1 1:", "line 2: '1:'"), ("1 1:a", "line 2: '1:a'.*not a number"), ("1 -1:5", "line 2: '-1:5'"),
                           ("1 99999999999:5", "line 2"), ("1 qid:3 1:5", "line 2: 'qid:3'")):
            with self.subTest(line=line):
                self.bad(f"-1 1:2\n{line}\n", f"d.svm: {says}", "d.svm", options, "target")

    def test_libsvm_target_name(self):
        self.bad("-1 1:2\n1 1:3\n", "d.svm: no column 'y'.*'target'", "d.svm", ["--absent", "zero"])

    def test_damaged_gzip(self):
        packed = gzip.compress(b"a,y\n" + b"1,u\n2,v\n" * 500)
        self.bad(packed[:len(packed) // 2], "d.csv.gz: .*cut short", name="d.csv.gz")
        self.bad(packed[:20] + bytes([packed[20] ^ 255]) + packed[21:], "d.csv.gz: .*gzip", name="d.csv.gz")
        self.bad(packed + b"more", "d.csv.gz: there is more after", name="d.csv.gz")

    def test_prediction_data_lack_every_attribute(self):
        self.trained(n=30)
        self.write("new.csv", "x,answer\n1,yes\n")
        self.fails("predict", "m.karma", "new.csv", "-o", "p.csv", says="new.csv: .*none of the model's columns.*'a'")
        self.fails("eval", "m.karma", "new.csv", says="new.csv: .*none of the model's columns")

    def test_bad_prediction_data(self):
        self.trained(n=30)
        for content, says in (("", "empty"), ("a,b\n", "no rows"), ("a,b\n1\n", "line 2: 1 field"), ("a,a\n1,2\n", "line 1"),
                              ("a,b\n1,inf\n", "line 2, column 'b'")):
            with self.subTest(content=content):
                self.write("new.csv", content)
                self.fails("predict", "m.karma", "new.csv", "-o", "p.csv", says=f"new.csv: .*{says}")

    def test_file_is_named_whatever_it_is_called(self):
        """A file name that equals the beginning of the message must still be printed."""
        for name in ("c", "column", "e", "no"):
            with self.subTest(name=name):
                self.bad("a,y\n1,u\n2,u\n", f"^karma: {name}: column 'y'", name=name)

    def test_long_and_odd_names_stay_on_one_line(self):
        name = "x" * 5000
        self.bad(f'"{name}",{name},y\n1,2,u\n', "d.csv: line 1")
        self.write("n.csv", '"a\nb","a\nb",y\n1,2,u\n')
        self.fails("train", "--effort", "off", "n.csv", "--target", "y", "-o", "m.karma", says="n.csv: line")
        self.write("n.csv", '"a\nb",y\n1,u\nx\x1b,u\n')
        self.fails("train", "--effort", "off", "n.csv", "--target", "y", "--numeric", "a\nb", "-o", "m.karma", says="n.csv: line 4")
        self.write("n.csv", '"a",y\n1,"u\nv"\n2,"u\nv"\n')
        self.fails("train", "--effort", "off", "n.csv", "--target", "y", "-o", "m.karma", says="one class")

    def test_diverging_training(self):
        self.quantity(n=60)
        run = self.run_karma("train", "--effort", "off", "price.csv", "--target", "price", "--loss", "squared", "--C", "1e15", "-o", "m.karma")
        if run.code == 0:
            out = self.ok("predict", "m.karma", "price.csv").rows()[1:]
            self.assertTrue(all(math.isfinite(float(row[0])) for row in out))
        else:
            self.assertEqual([run.code, len(run.complaints())], [1, 1], str(run))
            self.assertEqual(self.files(), ["price.csv"])

    def test_huge_values(self):
        self.write("h.csv", "a,b,y\n1e300,1,u\n-1e300,2,v\n3e299,,u\n,4,v\n")
        run = self.run_karma("train", "--effort", "off", "h.csv", "--target", "y", "-o", "m.karma")
        if run.code == 0:
            self.assertTrue(all(math.isfinite(float(r[1])) for r in self.ok("predict", "m.karma", "h.csv").rows()[1:]))
        else:
            self.assertRegex(run.err, "h.csv: .*'a'")
            self.assertEqual(self.files(), ["h.csv"])
        self.fails("gram", "h.csv", "--target", "y", "--standardise", "off", "-o", "g.csv", says="h.csv: .*'a'")


class BadOutput(Case):
    def setUp(self):
        super().setUp()
        self.trained(n=40)
        self.commands = [["train", "--effort", "off", "two.csv", "--target", "answer"], ["predict", "m.karma", "two.csv"], ["gram", "two.csv"],
                         ["synth", "--rows", "5"], ["explain", "m.karma", "two.csv"],
                         ["explain", "m.karma", "two.csv", "--importance"], ["explain", "m.karma", "two.csv", "--overlap"]]

    def test_full_disk_device(self):
        for command in self.commands:
            with self.subTest(command=command[0]):
                self.fails(*command, "-o", "/dev/full", says="/dev/full: cannot write.*: No space left")
        self.fails("synth", "--rows", "5", "-o", "a.csv", "--complete", "/dev/full", says="/dev/full: .*No space left")

    def test_disk_that_fills_up(self):
        """A limit on the size of files makes writing fail in the middle: the old file must survive, and no other file be
        left."""
        limits = self.small_files(4096)
        self.ok("synth", "--rows", "500", "-o", "big.csv")
        self.ok("train", "--effort", "off", "big.csv", "--target", "target", "-o", "big.karma", "--quiet")
        for command, output in ((["train", "--effort", "off", "big.csv", "--target", "target"], "m.karma"), (["gram", "big.csv"], "g.csv"),
                                (["predict", "big.karma", "big.csv"], "p.csv"), (["synth", "--rows", "500"], "two.csv")):
            with self.subTest(command=command[0]):
                self.fails(*command, "-o", output, says=f"^karma: {output}: cannot write.*: File too large",
                           restore_signals=False, **limits)

    def test_missing_directory(self):
        for command in self.commands:
            with self.subTest(command=command[0]):
                self.fails(*command, "-o", "nowhere/out", says="nowhere/out: cannot write: No such file")
                self.fails(*command, "-o", "two.csv/out", says="two.csv/out: cannot write: Not a directory")

    def test_read_only_directory(self):
        if os.path.isdir("/proc/self"):
            self.fails("gram", "two.csv", "-o", "/proc/self/out", says="/proc/self/out: cannot write")
        user = self.ordinary_user()
        folder = self.path("locked")
        os.mkdir(folder)
        os.chmod(folder, 0o555)
        try:
            for command in self.commands:
                with self.subTest(command=command[0]):
                    self.fails(*command, "-o", "locked/out", says="locked/out: cannot write: Permission denied", **user)
        finally:
            os.chmod(folder, 0o755)

    def test_read_only_file(self):
        user = self.ordinary_user()
        self.write("out", "precious")
        os.chmod(self.path("out"), 0o444)
        os.chmod(self.dir, 0o777)
        self.fails("gram", "two.csv", "-o", "out", says="out: cannot write: Permission denied", **user)

    def test_stdout_full(self):
        for args in (["predict", "m.karma", "two.csv"], ["gram", "two.csv"], ["synth", "--rows", "5"], ["theory"],
                     ["online", "--regret", "--rounds", "5"], ["inspect", "two.csv"], ["eval", "m.karma", "two.csv"], ["eval", "m.karma", "two.csv", "--json"],
                     ["predict", "m.karma", "two.csv", "--json"], ["theory", "--json"], ["--version"], ["--help"],
                     ["train", "--help"], ["--manual"], ["--completion", "bash"]):
            with self.subTest(args=args), open("/dev/full", "wb") as full:
                self.fails(*args, says="standard output.*No space left", stdout=full)

    def test_stdout_closed(self):
        for args in (["predict", "m.karma", "two.csv"], ["gram", "two.csv"], ["synth", "--rows", "5"], ["--version"],
                     ["eval", "m.karma", "two.csv", "--json"]):
            with self.subTest(args=args):
                self.fails(*args, says="standard output.*Bad file descriptor", preexec_fn=lambda: os.close(1))

    def test_stderr_closed(self):
        """Messages for a closed stderr must not end up in the output file that got its number."""
        self.write("w.csv", "a,b,c\n1,2,3\n4,5,6\n")
        args = ["gram", "w.csv", "--gamma", "1000", "--scale", "0.001", "-o", "g.csv"]
        self.ok(*args, notes=["overflow"])
        before = self.read("g.csv")
        done = subprocess.run([KARMA, *args], cwd=self.dir, preexec_fn=lambda: os.close(2), timeout=HUNG)
        self.assertEqual([done.returncode, self.read("g.csv")], [0, before])

    def test_reader_goes_away(self):
        self.ok("synth", "--rows", "5000", "-o", "big.csv")
        process = subprocess.Popen([KARMA, "gram", "big.csv"], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        self.assertIn(process.wait(HUNG), (-signal.SIGPIPE, 1))
        self.assertNotRegex(err.decode(), CRASH)

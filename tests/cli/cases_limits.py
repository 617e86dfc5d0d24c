"""Limits of the system and of the user: threads, address space, memory. A run ends well or with one sentence."""
import gzip
import os
import re
import resource
import subprocess

from case import KARMA, SOURCE, Case

SANITIZED = "sanitize" in KARMA  # whose shadow memory takes terabytes of address space
CLINIC = os.path.join(SOURCE, "examples", "clinic.csv")
TRAIN = ["train", CLINIC, "--target", "outcome", "--id", "patient", "--effort", "off", "-o", "m.karma"]


def address_space(megabytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


class Threads(Case):
    def display(self, **settings):
        environment = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        done = subprocess.run([KARMA, "--version"], capture_output=True, check=True, text=True,
                              env=dict(environment, OMP_DISPLAY_ENV="verbose", **settings))
        self.assertRegex(done.stdout, r"^karma \d")
        return re.search(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)

    def test_waiting_threads_sleep(self):
        shown = self.display()
        if not shown:
            self.skipTest("another OpenMP than GNU's")
        self.assertEqual(shown.group(1), "0")
        self.assertEqual(self.display(GOMP_SPINCOUNT="77").group(1), "77")
        self.assertGreater(int(self.display(OMP_WAIT_POLICY="active").group(1)), 1000)

    def test_more_threads_than_there_can_be(self):
        if SANITIZED:
            self.skipTest("address space cannot be limited")
        self.fails(*TRAIN, "--threads", "4096", code=2, preexec_fn=address_space(2000), says="--threads 4096: .* only [0-9]+ threads")


    def test_no_more_processes(self):
        """With a limit on processes, as in containers, the OpenMP runtime ends the program with its own message when it
        starts a thread."""
        if SANITIZED:
            self.skipTest("the leak sanitizer starts a process of its own")
        limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)), **self.ordinary_user()}
        os.chmod(self.dir, 0o777)
        self.fails(*TRAIN, "--threads", "2", code=2, says="--threads 2: .* only 1 thread here", **limits)
        self.ok(*TRAIN, "--quiet", **limits)


class FileSizes(Case):
    def test_no_more_bytes(self):
        """Beyond ulimit -f a signal would end the run silently."""
        self.run_karma(*TRAIN)
        os.remove(self.path("m.karma"))
        limits = self.small_files(2048)
        self.fails(*TRAIN, "--quiet", says="m.karma: cannot write: File too large", **limits)
        self.fails("synth", "--rows", "1000", "-o", "s.csv", says="s.csv: cannot write the table: File too large", **limits)


class AddressSpace(Case):
    def test_too_little_to_start(self):
        """OpenBLAS would try to get its buffer forever."""
        if SANITIZED:
            self.skipTest("address space cannot be limited")
        for megabytes in (100, 150):
            self.fails("--version", code=1, preexec_fn=address_space(megabytes), says="^karma: the limit on address space")


class Memory(Case):
    """The estimate made before a run bounds its peak, and a run under a limit a little above it ends well."""

    def setUp(self):
        super().setUp()
        if SANITIZED:
            self.skipTest("the sanitizers take memory of their own")
        self.run_karma("synth", "--rows", "5000", "--dim", "20", "--rank", "3", "--missing", "0.3", "--seed", "1", "-o", "a.csv")

    COMMANDS = [["--effort", "off", "--outer", "rbf", "--gamma", "1", "--solver", "batch", "--tolerance", "0.1"],
                ["--effort", "off", "--outer", "rbf", "--gamma", "1", "--solver", "nystrom", "--landmarks", "500"],
                ["--effort", "quick", "--time", "3"]]

    def train(self, *options, **more):
        return self.run_karma("train", "a.csv", "--target", "target", "-o", "m.karma", "--threads", "2", "--json", *options, **more)

    def least(self, *options):
        """The run with the lowest peak of three: it depends on which threads hold their memory at the same time."""
        return min((self.train(*options).json() for _ in range(3)), key=lambda told: told["peak_bytes"])

    def test_peaks_stay_below_the_estimate(self):
        for options in self.COMMANDS:
            with self.subTest(options=options):
                told = self.train(*options).json()
                self.assertLessEqual(told["peak_bytes"], told["estimated_bytes"])
                if "--time" not in options:  # how much is done in some seconds depends on the machine
                    self.assertLess(told["estimated_bytes"], 5 * told["peak_bytes"])

    def test_the_note_says_what_kernels_add(self):
        run = self.train("--effort", "quick", "--verbose")
        told = re.search(r"about ([0-9.]+) GB of memory, and up to ([0-9.]+) GB if the model has kernels of all rows", run.err)
        self.assertTrue(told, run.err)
        few, many = (1e9 * float(word) for word in told.groups())
        self.assertLess(1.5 * few, 1.05 * many)
        self.assertLess(run.json()["peak_bytes"], 1.05 * many)
        self.assertLess(run.json()["estimated_bytes"], 5 * run.json()["peak_bytes"])

    def test_memory_bounds_search_and_fit(self):
        for options in self.COMMANDS[0], ["--effort", "quick"]:  # without a time limit: what fits into one depends on the machine
            with self.subTest(options=options):
                free, held = self.least(*options), self.least(*options, "--memory", "0.02")
                self.assertLess(held["estimated_bytes"], free["estimated_bytes"])
                self.assertLess(held["peak_bytes"], min(held["estimated_bytes"], free["peak_bytes"]))

    def test_limits_a_little_above_and_below(self):
        options = self.COMMANDS[0]
        need = self.train(*options).json()["estimated_bytes"]
        # libraries, and a buffer of OpenBLAS and a stack for each thread
        megabytes = int(need / 2**20) + 100 + 3 * 128 + 2 * 8
        self.assertEqual(self.train(*options, preexec_fn=address_space(megabytes)).code, 0)
        self.fails("train", "a.csv", "--target", "target", "-o", "n.karma", "--threads", "2", *options,
                   preexec_fn=address_space(megabytes - 150), says="may need .* GB, and the limit on address space .* leaves")

    def test_many_classes(self):
        """Labels, their weights and the model have a number for every row and class, and nothing else has."""
        n = 2000
        self.write("many.csv", "a,b,y\n" + "".join(f"{i % 37},{i % 91},L{i}\n" for i in range(n)))
        told = self.run_karma("train", "many.csv", "--target", "y", "--effort", "off", "--threads", "2", "--json", "-o", "m.karma").json()
        self.assertLess(told["peak_bytes"], 1e7 + 4 * n * n * 8)
        self.assertLess(told["peak_bytes"], told["estimated_bytes"])

    def test_copies_of_a_table_with_few_cells(self):
        """A fold's rows take memory for the cells that they observe: 2,000 rows of 20,000 columns were counted as 480 MB."""
        rows = ["%d %s" % (1 - 2 * (i % 2), " ".join("%d:%d" % (1 + 5000 * k + (i * 37 + k) % 5000, i % 7 + 1) for k in range(4)))
                for i in range(2000)]
        self.write("wide.svm", "\n".join(rows) + "\n")
        told = self.run_karma("cv", "wide.svm", "--absent", "missing", "--effort", "off", "--kernel", "linear", "--folds", "2",
                              "--threads", "2", "--json").json()
        self.assertGreater(told["estimated_bytes"], 4e7)
        self.assertLess(told["estimated_bytes"], 3e8)

    def test_comparison_and_cross_validation(self):
        for command in (["cv", "--folds", "2"], ["compare", "--methods", "zero,mean", "--folds", "2"]):
            run = self.run_karma(command[0], CLINIC, "--target", "outcome", "--id", "patient", "--effort", "quick", "--time", "2", "--json", *command[1:])
            self.assertGreater(run.json()["estimated_bytes"], 2e7)


class EndlessModel(Case):
    def test_it_is_longer_than_it_claims(self):
        self.run_karma(*TRAIN)
        with subprocess.Popen(["cat", self.path("m.karma"), "/dev/zero"], stdout=subprocess.PIPE) as endless:
            done = subprocess.run([KARMA, "predict", "/dev/stdin", CLINIC], stdin=endless.stdout, capture_output=True, text=True, check=False)
            endless.kill()
        self.assertEqual(done.returncode, 1)
        self.assertIn("it is longer than its header claims", done.stderr)


class EndlessTables(Case):
    """Input without an end, or without lines, is refused before it fills the memory."""

    def test_devices(self):
        for device, says in (("/dev/zero", "not a text file"), ("/dev/urandom", "^karma: /dev/urandom: ")):
            for args in (["inspect", device], ["inspect", device, "--format", "libsvm", "--absent", "zero"], ["inspect", device, "--format", "arff"],
                         ["train", device, "--target", "y", "-o", "m.karma"], ["gram", device], ["online", device, "--target", "y"]):
                self.fails(*args, says=says)

    def test_decompression_bombs(self):
        """100 KB that unpack to 100 MB without a line, inside of a line, and as one quoted cell."""
        if SANITIZED:
            self.skipTest("address space cannot be limited")
        for start, rest, says in ((b"a,y\n", b"\0", "not a text file"), (b"a,y\n", b"x", "memory"), (b'a,y\n"', b"x\n", "memory|quote")):
            with gzip.open(self.path("d.csv.gz"), "wb", 1) as file:
                file.write(start)
                for _ in range(100):  # written in parts: the peak of a run includes the memory of this process when it started
                    file.write(rest * ((1 << 20) // len(rest)))
            self.fails("inspect", "d.csv.gz", "--threads", "1", preexec_fn=address_space(280), says=says)

    def test_an_endless_line(self):
        if SANITIZED:
            self.skipTest("address space cannot be limited")
        with subprocess.Popen(["/bin/sh", "-c", "printf 'a,y\\n'; yes | tr -d '\\n'"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as endless:
            done = subprocess.run([KARMA, "inspect", "-", "--threads", "1"], stdin=endless.stdout, capture_output=True, text=True, check=False,
                                  preexec_fn=address_space(300))
            endless.stdout.close()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^karma: .*(memory|longer than 1 GB).*\n$")


class Libsvm(Case):
    def test_absent_cells_as_zeros(self):
        """The table of zeros is the large part, 36 MB. Under any limit the run succeeds or ends with a sentence."""
        if SANITIZED:
            self.skipTest("address space cannot be limited")
        self.write("d.svm", "".join(f"{i % 2} 1:{i % 7} 100:{i % 5}\n" for i in range(30000)))
        self.write("few.svm", "".join(f"{i % 2} 1:{i % 7} 100:{i % 5}\n" for i in range(40)))
        self.run_karma("train", "few.svm", "--absent", "zero", "--effort", "off", "-o", "m.karma")
        codes = []
        for megabytes in (150, 170, 190, 210, 230, 250, 300):
            run = self.run_karma("predict", "m.karma", "d.svm", "--absent", "zero", "--threads", "1", "-o", "p.csv", preexec_fn=address_space(megabytes))
            codes.append(run.code)
            self.assertEqual(len(run.complaints()), run.code, str(run))
            if run.code:
                self.assertRegex(run.err, "memory|address space", str(run))
        self.assertEqual(codes, sorted(codes, reverse=True))
        self.assertEqual({codes[0], codes[-1]}, {0, 1})

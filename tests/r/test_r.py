"""The R package: R CMD check, the same numbers as the tool, interruption, the documents. Prints TAP.

KARMA is the tool, KARMA_SOURCE the source tree and KARMA_BUILD the directory with libkarma.so. Without R everything but the
version is skipped (`make test-r` installs it).
"""
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli")]
import tap  # noqa: E402

SOURCE = os.environ.get("KARMA_SOURCE") or os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.environ.get("KARMA_BUILD") or os.path.join(SOURCE, "build")
KARMA = os.environ.get("KARMA") or os.path.join(BUILD, "karma")
PACKAGE = os.path.join(SOURCE, "bindings", "r")
CLINIC = os.path.join(SOURCE, "examples", "clinic.csv")
NEW = os.path.join(SOURCE, "examples", "clinic-new.csv")
WHY_NOT = None if shutil.which("R") and os.path.exists("/usr/share/R/include/R.h") else "R and its headers are not installed"


def run(*words, **keywords):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **keywords)
    if done.returncode:
        raise AssertionError(" ".join(words) + "\n" + done.stdout[-6000:])
    return done.stdout


class Home:
    """The package, built, checked and installed once for all tests."""

    directory = None

    @classmethod
    def get(cls):
        if cls.directory is None:
            cls.directory = tempfile.TemporaryDirectory()
            prefix = cls.path("prefix")
            os.mkdir(prefix)
            os.symlink(os.path.join(SOURCE, "include"), os.path.join(prefix, "include"))
            os.symlink(os.path.abspath(BUILD), os.path.join(prefix, "lib"))
            own = cls.environment()
            run("R", "CMD", "build", "--no-build-vignettes", PACKAGE, cwd=cls.directory.name, env=own)
            [archive] = [name for name in os.listdir(cls.directory.name) if name.endswith(".tar.gz")]
            cls.said = subprocess.run(["R", "CMD", "check", "--no-manual", archive], cwd=cls.directory.name, env=own, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        return cls

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory.name, name)

    @classmethod
    def environment(cls):
        return {**os.environ, "KARMA_PREFIX": cls.path("prefix"), "R_LIBS": cls.path("karma.Rcheck"), "R_PROFILE_USER": "",
                "_R_CHECK_CRAN_INCOMING_": "false", "LC_ALL": "C.UTF-8"}

    @classmethod
    def r(cls, code, **keywords):
        return run("Rscript", "--vanilla", "-e", code, env=cls.environment(), cwd=cls.directory.name, **keywords)


class Version(unittest.TestCase):
    def test_it_is_that_of_the_library(self):
        with open(os.path.join(SOURCE, "VERSION"), encoding="utf-8") as file:
            version = file.read().strip()
        with open(os.path.join(PACKAGE, "DESCRIPTION"), encoding="utf-8") as file:
            self.assertIn(f"\nVersion: {version}\n", file.read())


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Package(unittest.TestCase):
    def test_check_finds_nothing(self):
        said = Home.get().said
        self.assertRegex(said, r"Status: OK", said[-6000:])
        self.assertNotRegex(said, r"\.\.\. (ERROR|WARNING|NOTE)")

    def test_without_the_library_configure_fails(self):
        own = {**os.environ, "PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": Home.get().path("nowhere"), "KARMA_PREFIX": ""}
        with tempfile.TemporaryDirectory() as directory:
            shutil.copy(os.path.join(PACKAGE, "configure"), directory)
            for prefix in ("", directory):
                done = subprocess.run(["./configure"], cwd=directory, env={**own, "KARMA_PREFIX": prefix}, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(done.returncode, 1)
                self.assertIn("KARMA_PREFIX", done.stdout)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Files(unittest.TestCase):
    """Model files and predictions of the tool and of R are the same, to the last digit."""

    def setUp(self):
        self.home = Home.get()

    def tool(self, model, *options):
        """The predictions of the tool for the new patients, as the text of a CSV file."""
        out = self.home.path("tool.csv")
        run(KARMA, "predict", model, NEW, "-o", out, *options)
        with open(out, encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def both_ways(self, target, options, arguments, prepare="", columns=(("prediction", "response"),)):
        by_tool, by_r, own = (self.home.path(name) for name in ("tool.karma", "r.karma", "r.csv"))
        run(KARMA, "train", CLINIC, "--target", target, "--id", "patient", "-o", by_tool, "--quiet", *options)
        wanted = self.tool(by_tool, "--id", "patient")
        values = ", ".join(f"`{name}` = number({call})" for name, call in columns)
        self.home.r(f"""
            library(karma)
            number <- function(x) if (is.numeric(x)) sprintf("%.17g", x) else as.character(x)
            rows <- function(file) {{ d <- read.csv(file, stringsAsFactors = TRUE, na.strings = ""); d$patient <- NULL; {prepare}; d }}
            train <- rows("{CLINIC}"); new <- rows("{NEW}")
            fit <- karma({target} ~ ., train, {arguments})
            response <- predict(fit, new)
            loaded <- karma_load("{by_tool}")
            stopifnot(identical(as.character(predict(loaded, new)), as.character(response)))
            write.csv(data.frame({values}, check.names = FALSE), "{own}", row.names = FALSE)
            karma_save(fit, "{by_r}")
        """)
        with open(own, encoding="utf-8") as file:
            got = list(csv.DictReader(file))
        again = self.tool(by_r, "--id", "patient")
        self.assertEqual(len(got), len(wanted))
        for name, _ in columns:
            for one, two, three in zip(got, wanted, again):
                as_is = (lambda text: text) if target == "outcome" and name == "prediction" else float
                self.assertEqual(as_is(one[name]), as_is(two[name]))
                self.assertEqual(two[name], three[name])

    def test_classes(self):
        self.both_ways("outcome", ["--gamma", "2", "--probabilities", "sigmoid"], 'gamma = 2, probabilities = "sigmoid"',
                       columns=(("prediction", "response"), ("p:recovered", 'predict(fit, new, type = "prob")[, "recovered"]')))

    def test_a_search(self):
        self.both_ways("outcome", ["--effort", "quick"], 'effort = "quick"')

    def test_quantiles(self):
        self.both_ways("lactate", ["--ignore", "outcome", "--quantile", "0.1,0.9", "--gamma", "2"],
                       "quantile = c(0.1, 0.9), gamma = 2", "d$outcome <- NULL",
                       (("q:0.1", 'predict(fit, new, type = "quantile")[, 1]'), ("prediction", "response")))

    def test_ordered_factors(self):
        order = ["planned", "transfer", "emergency"]
        self.both_ways("outcome", ["--gamma", "2", "--ordered", "admission=" + "<".join(order)], "gamma = 2",
                       "d$admission <- factor(d$admission, c('planned', 'transfer', 'emergency'), ordered = TRUE)")

    def test_dates_and_logical_values(self):
        """As write.csv writes them, the tool reads what R learned from."""
        data, model = self.home.path("dates.csv"), self.home.path("dates.karma")
        self.home.r(f"""
            library(karma)
            n <- 90
            d <- data.frame(day = as.Date("2024-02-27") + seq_len(n), moment = as.POSIXct("2024-01-01", tz = "UTC") + 5400 * seq_len(n),
                            flag = rep(c(TRUE, FALSE, NA), n / 3), code = rep(1:9, n / 9))
            d$day[5] <- NA; d$moment[7] <- NA
            d$y <- factor(ifelse(seq_len(n) %% 7 > 3, "b", "a"))
            written <- d
            written$moment <- format(d$moment, "%Y-%m-%d %H:%M:%S")
            write.csv(written, "{data}", row.names = FALSE, na = "")
            fit <- karma(y ~ ., d, gamma = 2)
            cat(fit$info$kinds, file = "kinds.txt")
            write.csv(data.frame(score = sprintf("%.17g", predict(fit, d, type = "score"))), "scores.csv", row.names = FALSE)
            karma_save(fit, "{model}")
        """)
        run(KARMA, "train", data, "--target", "y", "--gamma", "2", "-o", self.home.path("t.karma"), "--quiet")
        with open(self.home.path("scores.csv"), encoding="utf-8") as file:
            wanted = [float(row["score"]) for row in csv.DictReader(file)]
        for name in (model, self.home.path("t.karma")):
            run(KARMA, "predict", name, data, "-o", self.home.path("p.csv"))
            with open(self.home.path("p.csv"), encoding="utf-8") as file:
                self.assertEqual([float(row["score"]) for row in csv.DictReader(file)], wanted)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Interrupts(unittest.TestCase):
    def test_a_signal_ends_the_search(self):
        """The model so far with a warning, or an interrupt if there is none; never a search to its end."""
        code = """
            library(karma)
            set.seed(1)
            x <- matrix(rnorm(45000), 1500)
            y <- factor(x[, 1] + x[, 2]^2 + rnorm(1500) > 1)
            cat("begin\\n")
            tryCatch(withCallingHandlers({ fit <- karma(x, y, effort = "thorough", verbose = TRUE); cat("kept", fit$interrupted, "\\n") },
                warning = function(w) { cat(conditionMessage(w), "\\n"); invokeRestart("muffleWarning") }),
                interrupt = function(i) cat("interrupt\\n"))
            cat("alive", length(predict(karma(x[1:50, ], y[1:50], gamma = 1), x)), "\\n")
        """
        child = subprocess.Popen(["Rscript", "--vanilla", "-e", code], env=Home.get().environment(), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), "begin\n")
        err = ""
        while "fold" not in err:  # until the search has judged something
            some = os.read(child.stderr.fileno(), 1 << 16).decode()
            self.assertTrue(some, err)
            err += some
        child.send_signal(signal.SIGINT)
        out, rest = child.communicate()
        err += rest
        self.assertRegex(out, r"interrupt\n|interrupted: the model is the best so far \nkept TRUE", err)
        self.assertIn("alive 1500", out)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Documents(unittest.TestCase):
    """A block of ```r right after `<!-- r -->` is run; a block of ```text right after `<!-- prints -->` is what it prints."""

    BLOCK = re.compile(r"<!-- r -->\s*```r\n(.*?)```(?:\s*<!-- prints -->\s*```text\n(.*?)```)?", re.S)

    def check(self, path):
        with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
            blocks = self.BLOCK.findall(file.read())
        self.assertTrue(blocks)
        home, mark = Home.get(), "---block---"
        os.makedirs(home.path("examples"), exist_ok=True)
        for name in (CLINIC, NEW):
            shutil.copy(name, home.path("examples"))
        code = f'\ncat("{mark}\\n")\n'.join(code for code, _ in blocks)
        out = subprocess.run(["Rscript", "--vanilla", "-e", "grDevices::pdf(NULL)\n" + code], cwd=home.directory.name, text=True,
                             env=home.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(out.returncode, 0, out.stderr)
        for (_, wanted), got in zip(blocks, out.stdout.split(mark + "\n")):
            if wanted:
                self.assertEqual(got, wanted)

    def test_r_md(self):
        self.check("docs/r.md")

    def test_readme(self):
        self.check("README.md")


if __name__ == "__main__":
    sys.exit(tap.main("__main__"))

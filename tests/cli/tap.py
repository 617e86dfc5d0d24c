"""Runs the unittest cases of modules and prints TAP."""
import importlib
import resource
import signal
import sys
import traceback
import unittest


def processor_time():
    """Seconds that this process and the ended processes that it started have used."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class TapResult(unittest.TestResult):
    """One line per test, whatever happened in it: subtests, the test itself and its clean-up may all fail. A comment
    gives the processor time of tests that take more than a second."""

    def __init__(self):
        super().__init__()
        self.number = 0
        self.bad = 0
        self.wrong = []
        self.skipped_because = None
        self.before = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.before = processor_time()
        self.wrong = []
        self.skipped_because = None

    @staticmethod
    def _text(error):
        return "".join(traceback.format_exception(*error))

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.wrong.append(f"{subtest.id()}\n{self._text(error)}")

    def addError(self, test, error):
        self.wrong.append(self._text(error))

    addFailure = addError

    def addSkip(self, test, reason):
        self.skipped_because = reason

    def stopTest(self, test):
        super().stopTest(test)
        self.number += 1
        self.bad += bool(self.wrong)
        skip = f" # SKIP {self.skipped_because}" if self.skipped_because and not self.wrong else ""
        print(f"{'not ok' if self.wrong else 'ok'} {self.number} {test.id().split('.', 1)[-1]}{skip}")
        for line in "\n".join(self.wrong).splitlines():
            print("# " + line)
        seconds = processor_time() - self.before
        if seconds > 1.0:
            print(f"# {seconds:.1f} s of processor time")
        sys.stdout.flush()


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def main(*modules, words=None):
    """Runs the tests of the modules whose names have one of the words, from the command line unless given."""
    # a shell starts background programs with Ctrl-C ignored, and the programs of the tests would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = sys.argv[1:] if words is None else words
    suites = [unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name)) for name in modules]
    tests = [test for test in flatten(suites) if not wanted or any(word in test.id() for word in wanted)]
    print(f"1..{len(tests)}")
    result = TapResult()
    unittest.TestSuite(tests).run(result)
    if result.number != len(tests):
        print(f"# {len(tests)} tests were planned, {result.number} reported")
        return 1
    return 1 if result.bad else 0

"""The Python package from the outside. Prints TAP.

PYTHONPATH holds the package as it was built, KARMA is the tool and KARMA_SOURCE the source tree. Words on the command line
select: pycases_NAME the tests of that module, any other word tests by name.
"""
import glob
import os
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "tests", "cli")]

try:
    import pandas  # noqa: F401
    import sklearn  # noqa: F401
except ImportError as absent:
    print(f"1..1\nok 1 # SKIP {absent}")
    sys.exit(0)

import tap

if __name__ == "__main__":
    words = sys.argv[1:]
    modules = [word for word in words if word.startswith("pycases_")]
    if not modules:
        files = glob.glob(os.path.join(HERE, "pycases_*.py"))
        modules = sorted(os.path.basename(file)[:-3] for file in files)
    sys.exit(tap.main(*modules, words=[word for word in words if word not in modules]))

#!/usr/bin/env python3
"""The tool from the outside: what it prints, writes, refuses and leaves behind. Prints TAP.

Needs the standard library only. KARMA is the binary, KARMA_SOURCE the source tree (both guessed if unset). Words on the
command line select: cases_NAME the tests of that module, any other word tests by name. Every test has a directory of its
own; what the tool computes is compared with what the tests compute from the formulas, not with stored output.
"""
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is

import glob
import os

import tap

if __name__ == "__main__":
    words = sys.argv[1:]
    modules = [word for word in words if word.startswith("cases_")]
    if not modules:
        files = glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases_*.py"))
        modules = sorted(os.path.basename(file)[:-3] for file in files)
    sys.exit(tap.main(*modules, words=[word for word in words if word not in modules]))

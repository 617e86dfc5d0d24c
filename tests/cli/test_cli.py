#!/usr/bin/env python3
"""The tool from the outside: what it prints, writes, refuses and leaves behind. Prints TAP.

Needs the standard library only. KARMA is the binary, KARMA_SOURCE the source tree (both guessed if unset). Words on the
command line select tests by name. Every test has a directory of its own; what the tool computes is compared with what
the tests compute from the formulas, not with stored output.
"""
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is

import tap

if __name__ == "__main__":
    sys.exit(tap.main("cases_data", "cases_numbers", "cases_speech", "cases_refusal", "cases_model", "cases_explain", "cases_targets",
                      "cases_search", "cases_subspace", "cases_compare", "cases_experiments"))

#!/usr/bin/env python3
"""Runs what the documents show. Prints TAP.

In README.md and docs/*.md a block of ```sh right after a line `<!-- run -->` is run by `sh -e`, all blocks of a document
one after the other in one directory that holds a copy of examples/, with the directory of $KARMA first on the PATH. It
must end with 0. A block of another language after `<!-- run with: COMMAND -->` is the input of that command. If the next block is ```text right after a line `<!-- output -->`, its lines must be those printed.
Only empty lines may stand between a mark and its block. A document with a line `<!-- needs COMMAND -->` is skipped where that
command fails.

Every block of sh, Python, R, C and SQL must have a mark: `<!-- run -->`, `<!-- python -->` and `<!-- r -->`, whose blocks the tests
of those packages run, `<!-- run with: COMMAND -->`, `<!-- from FILE -->`, whose lines stand in that file in this order, or `<!-- not run: REASON -->`. Those
that are not run are listed with their reasons. Commands that are indented instead of fenced are an error, since they have no mark.

The demo (examples/demo.sh) must end with what README.md has after `<!-- demo -->`, with accuracies within two points:
processors differ a little. examples/minimal.c, compiled to $MINIMAL, must predict what the tool does.

With the argument `site`: makes the web site instead (dev/make-docs), in which no link may lead nowhere.
"""
import difflib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

sys.dont_write_bytecode = True  # the source tree stays as it is

from case import HUNG, KARMA, SOURCE
from tap import processor_time

RUN, OUTPUT = "<!-- run -->", "<!-- output -->"
NOT_RUN = re.compile(r"<!-- not run: (\S.*\S) -->$")
RUN_WITH = re.compile(r"<!-- run with: (\S.*\S) -->$")
FROM = re.compile(r"<!-- from (\S+) -->$")
INDENTED = re.compile(r"(?: {4}|\t)\s*(?:\$ )?(?:karma|make|mpirun|git|meson|ninja|python3|sqlite3|cc|SELECT|(?:dev|bench|experiments|build)/\S+) \S")
OTHERS = {"python": "<!-- python -->", "r": "<!-- r -->"}  # run by bindings/python/tests/pycases_docs.py and tests/r/test_r.py


def lacking(text):
    """The command that a document needs and that fails here, or None."""
    needs = re.search(r"^<!-- needs (.*) -->$", text, re.M)
    if not needs or subprocess.run(["sh", "-c", needs.group(1)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return None
    return needs.group(1)


class Block:
    """A fenced block: its language, its text, the line it begins in, the mark before it or None."""

    def __init__(self, language, line, mark):
        self.language, self.line, self.mark, self.lines = language, line, mark, []

    def text(self):
        return textwrap.dedent("".join(self.lines))


def parse(text):
    """All fenced blocks, and complaints about marks that stand before none."""
    blocks, complaints = [], []
    fence = mark = block = None
    for number, line in enumerate(text.splitlines(True), 1):
        word = line.strip()
        if block:
            if word == fence:
                blocks.append(block)
                block = None
            else:
                block.lines.append(line)
            continue
        opening = re.match(r"\s*(```+|~~~+)\s*([\w+-]*)", line)
        if opening:
            fence = opening.group(1)
            block = Block(opening.group(2), number, mark)
            mark = None
        elif word in (RUN, OUTPUT, *OTHERS.values()) or any(pattern.match(word) for pattern in (NOT_RUN, RUN_WITH, FROM)):
            mark = word
        elif word:
            if mark:
                complaints.append(f"line {number}: {mark} stands before no block")
            mark = None
    if block:
        complaints.append(f"line {block.line}: the block is never closed")
    if mark:
        complaints.append(f"{mark} at the end stands before no block")
    return blocks, complaints


def steps(text):
    """Pairs of a block to run and the block of its output (or None), and complaints."""
    blocks, complaints = parse(text)
    pairs = []
    for i, block in enumerate(blocks):
        after = blocks[i + 1] if i + 1 < len(blocks) else None
        if (block.mark == RUN and block.language == "sh") or RUN_WITH.match(block.mark or ""):
            pairs.append((block, after if after and after.mark == OUTPUT else None))
        elif block.mark == RUN:
            complaints.append(f"line {block.line}: {RUN} stands before a block of '{block.language}', not of sh")
        elif block.mark == OUTPUT and not (i and (blocks[i - 1].mark == RUN or RUN_WITH.match(blocks[i - 1].mark or "")) and block.language == "text"):
            complaints.append(f"line {block.line}: {OUTPUT} wants a block of text, right after a block that is run")
    return pairs, complaints


def lines_not_in(block, path):
    """The first line of the block that the file does not have after the lines before it, or None."""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    for line in map(str.strip, block.lines):
        if line not in lines:
            return line
        lines = lines[lines.index(line) + 1:]
    return None


def indented(text):
    """Complaints about commands in indented blocks, which begin after an empty line."""
    fenced, before, complaints = False, "", []
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        elif not fenced and not before.strip() and INDENTED.match(line):
            complaints.append(f"line {number}: an indented command, which no test runs; put it into a fenced block with a mark")
        before = line
    return complaints


def unmarked(text):
    """Complaints about blocks of code that no test looks at, and reasons of those that are not run."""
    complaints, reasons = indented(text), []
    for block in parse(text)[0]:
        mark = block.mark or ""
        if NOT_RUN.match(mark):
            reasons.append(f"line {block.line}: {NOT_RUN.match(mark).group(1)}")
        elif FROM.match(mark):
            line = lines_not_in(block, FROM.match(mark).group(1))
            if line is not None:
                complaints.append(f"line {block.line}: not in {FROM.match(mark).group(1)}: {line}")
        elif block.language in ("sh", "bash", "console", "c", "sql", *OTHERS) and not RUN_WITH.match(mark) and mark != OTHERS.get(block.language, RUN):
            complaints.append(f"line {block.line}: no test runs this block, and it does not say why (<!-- not run: REASON -->)")
    return complaints, reasons


def run_step(block, output, folder):
    """What is wrong with it, or nothing."""
    path = os.path.dirname(KARMA) + os.pathsep + os.environ.get("PATH", "/usr/bin:/bin")
    environment = dict(os.environ, PATH=path, LC_ALL="C.UTF-8")
    given = RUN_WITH.match(block.mark)
    try:
        done = subprocess.run(["sh", "-ec", given.group(1)] if given else ["sh", "-e"], input=block.text().encode(), cwd=folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HUNG)
    except subprocess.TimeoutExpired:
        return f"it hangs: not done within {HUNG} s"
    printed, said = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if done.returncode:
        return f"exit {done.returncode}\n{printed}{said}"
    if output is None:
        return ""
    shown = [line.rstrip() for line in output.text().splitlines()]
    got = [line.rstrip() for line in printed.splitlines()]
    if shown == got:
        return ""
    difference = difflib.unified_diff(shown, got, f"the document, line {output.line}", "printed", lineterm="")
    return "\n".join(difference) + "\n" + said


def run_example(program):
    """What is wrong with the example in C, or nothing."""
    clinic, new = (os.path.join(SOURCE, "examples", name) for name in ("clinic.csv", "clinic-new.csv"))
    said = subprocess.run([program, clinic, new, "outcome", "patient"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=HUNG)
    with tempfile.TemporaryDirectory(prefix="karma-docs-") as folder:
        model = os.path.join(folder, "m.karma")
        subprocess.run([KARMA, "train", "--effort", "off", clinic, "--target", "outcome", "--id", "patient", "-o", model, "--quiet"], check=True)
        wanted = subprocess.run([KARMA, "predict", model, new, "--id", "patient"], stdout=subprocess.PIPE, check=True)
    lines = [" ".join(line.split(",")[:2]) for line in wanted.stdout.decode().splitlines()[1:]]
    if said.returncode == 0 and said.stdout.decode().splitlines() == lines:
        return ""
    return f"exit {said.returncode}, not what karma predicts\n{said.stderr.decode()}"


def run_demo():
    """What is wrong with the demo, or nothing."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        shown = re.search(r"<!-- demo -->\n```text\n(.*?)```", file.read(), re.S).group(1).splitlines()
    with tempfile.TemporaryDirectory(prefix="karma-docs-") as folder:
        said = subprocess.run([os.path.join(SOURCE, "examples", "demo.sh"), KARMA], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=HUNG, check=False)
    got = said.stdout.decode().splitlines()[-len(shown):]
    number = re.compile(r"([\d.]+)%$")

    def agree(a, b):
        if number.sub("", a) != number.sub("", b):
            return False
        return a == b or abs(float(number.search(a).group(1)) - float(number.search(b).group(1))) <= 2
    if said.returncode == 0 and len(got) == len(shown) and all(map(agree, shown, got)):
        return ""
    return f"exit {said.returncode}\n" + "\n".join(difflib.unified_diff(shown, got, "README.md", "printed", lineterm=""))


def make_site():
    if not shutil.which("mkdocs"):
        print("1..1\nok 1 site # SKIP mkdocs is not installed")
        return 0
    with tempfile.TemporaryDirectory(prefix="karma-site-") as folder:
        said = subprocess.run([os.path.join(SOURCE, "dev", "make-docs"), KARMA, os.path.join(folder, "site")], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=HUNG)
    print(f"1..1\n{'not ok' if said.returncode else 'ok'} 1 site")
    for line in said.stdout.decode().splitlines():
        print("# " + line)
    return said.returncode


def main():
    documents = [os.path.join(SOURCE, "README.md"), *sorted(glob.glob(os.path.join(SOURCE, "docs", "*.md")))]
    results = []  # name, what is wrong, seconds of processor time
    reasons = []  # of blocks that are not run
    for document in filter(os.path.isfile, documents):
        name = os.path.relpath(document, SOURCE)
        with open(document, encoding="utf-8") as file:
            text = file.read()
        pairs, complaints = steps(text)
        wrong, why = unmarked(text)
        complaints += wrong
        reasons += [f"{name} {reason}" for reason in why]
        if complaints:
            results.append((f"{name} marks", "\n".join(complaints), 0.0))
        if not pairs:
            continue
        if lacking(text):
            results.append((f"{name} # SKIP it needs {lacking(text)}", "", 0.0))
            continue
        with tempfile.TemporaryDirectory(prefix="karma-docs-") as folder:
            examples = os.path.join(SOURCE, "examples")
            if os.path.isdir(examples):
                shutil.copytree(examples, os.path.join(folder, "examples"))
            for block, output in pairs:
                before = processor_time()
                wrong = run_step(block, output, folder)
                results.append((f"{name} line {block.line}", wrong, processor_time() - before))
    before = processor_time()
    results.append(("examples/demo.sh", run_demo(), processor_time() - before))
    if os.environ.get("MINIMAL"):
        results.append(("examples/minimal.c", run_example(os.environ["MINIMAL"]), 0.0))
    if not results:
        print("1..1\nok 1 documents # SKIP no document has a block that is marked to be run")
        return 0
    print(f"1..{len(results)}")
    print(f"# {len(reasons)} blocks are not run")
    for reason in reasons:
        print("# not run: " + reason)
    for number, (name, wrong, seconds) in enumerate(results, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} {name}")
        for line in wrong.splitlines():
            print("# " + line)
        if seconds > 1.0:
            print(f"# {seconds:.1f} s of processor time")
    return 1 if any(wrong for _, wrong, _ in results) else 0


if __name__ == "__main__":
    sys.exit(make_site() if sys.argv[1:] == ["site"] else main())

"""The source archive and the wheel: built without a network, installed into a fresh environment, used there."""
import filecmp
import glob
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import pydata


def run(*words, **keywords):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **keywords)
    if done.returncode:
        raise AssertionError(" ".join(words) + "\n" + done.stdout[-4000:])
    return done.stdout


def environment():
    """That of a user: nothing of this build on the path, nor a sanitizer."""
    return {key: value for key, value in os.environ.items()
            if key not in ("PYTHONPATH", "LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS")}


def files_below(directory):
    return {os.path.relpath(os.path.join(folder, name), directory) for folder, _, names in os.walk(directory) for name in names}


def update(target, source):
    """Makes the files of target those of source. Equal files keep their time stamps, so they are not compiled again."""
    wanted = files_below(source)
    for name in files_below(target) - wanted:
        os.unlink(os.path.join(target, name))
    for name in wanted:
        old, new = os.path.join(target, name), os.path.join(source, name)
        if os.path.exists(old) and filecmp.cmp(old, new, shallow=False):
            continue
        os.makedirs(os.path.dirname(old), exist_ok=True)
        shutil.copyfile(new, old)
        shutil.copymode(new, old)


def why_not():
    try:
        import build  # noqa: F401
        import mesonpy  # noqa: F401
    except ImportError as absent:
        return str(absent)
    if not os.path.exists(os.path.join(pydata.SOURCE, ".git")) or not shutil.which("git"):
        return "a source archive is made of a git repository, and this tree is none"
    return None


@unittest.skipIf(why_not(), why_not())
class Package(unittest.TestCase):
    def test_archive_wheel_and_installation(self):
        kept = os.path.join(os.path.dirname(os.path.abspath(pydata.KARMA)), "python-package")
        tree, objects = os.path.join(kept, "source"), os.path.join(kept, "objects")
        with tempfile.TemporaryDirectory() as directory:
            out, clone, own = os.path.join(directory, "dist"), os.path.join(directory, "clone"), environment()
            build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out]
            run("git", "clone", "--quiet", pydata.SOURCE, clone, env=own)  # meson-python writes into the tree that it builds
            run(*build, "--sdist", clone, env=own)
            [archive] = glob.glob(os.path.join(out, "*.tar.gz"))
            with tarfile.open(archive) as members:
                members.extractall(directory)
            # The wheel is built from the archive, in a directory that stays: a later run compiles only what has changed.
            update(tree, os.path.join(directory, os.path.basename(archive)[:-len(".tar.gz")]))
            # not optimised: what is tested is what the wheel holds, and the optimised code has its own tests
            run(*build, "--wheel", "--config-setting=builddir=" + objects, "--config-setting=setup-args=-Doptimization=0", tree,
                env=own)
            [wheel] = glob.glob(os.path.join(out, "*.whl"))
            self.assertRegex(os.path.basename(wheel), r"^karma-[\d.]+-cp311-abi3-linux_\w+\.whl$")
            names = set(zipfile.ZipFile(wheel).namelist())
            self.assertLess({"karma/__init__.py", "karma/_karma.abi3.so", "karma/py.typed"}, names)
            self.assertEqual([name for name in names if not name.startswith("karma")], [])
            self.use(directory, wheel, tree, own)

    def use(self, directory, wheel, tree, own):
        """The tests of the archive, with the package that was installed."""
        fresh = os.path.join(directory, "fresh")
        run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", fresh, env=own)
        python = os.path.join(fresh, "bin", "python")
        run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel, env=own)
        where = run(python, "-c", "import karma; print(karma.__file__)", env=own, cwd=directory).strip()
        self.assertTrue(where.startswith(fresh), where)
        tests = os.path.join(tree, "bindings", "python", "tests", "test_python.py")
        out = run(python, tests, "pycases_input", "pycases_reports",
                  env={**own, "KARMA_SOURCE": tree, "KARMA": os.path.abspath(pydata.KARMA)}, cwd=directory)
        self.assertNotIn("not ok", out)
        self.assertGreater(out.count("\nok "), 20)

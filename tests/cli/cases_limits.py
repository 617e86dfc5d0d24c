"""Limits of the system and of the user: threads, address space, memory. A run ends well or with one sentence."""
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


class AddressSpace(Case):
    def test_too_little_to_start(self):
        """OpenBLAS tries for ever to get its buffer."""
        if SANITIZED:
            self.skipTest("address space cannot be limited")
        for megabytes in (100, 150):
            self.fails("--version", code=1, preexec_fn=address_space(megabytes), says="^karma: the limit on address space")

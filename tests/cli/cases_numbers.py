"""Results against their formulas: gram, theory, synth; and repeated runs give the same results."""
import math
import os
import random

from case import Case


class Gram(Case):
    header = ["a", "b", "c", "d", "kind"]

    def setUp(self):
        super().setUp()
        rng = random.Random(6)
        self.rows = []
        for _ in range(14):
            cells = [round(rng.gauss(1, 2), 3) for _ in range(4)] + [rng.choice("xyz")]
            self.rows.append([None if rng.random() < 0.35 else cell for cell in cells])
        self.rows[4] = [None] * 5
        self.write_csv("g.csv", self.header, self.rows)

    def encoded(self, standardise, order=None):
        """Per row a dict: attribute -> list of feature values. Population standard deviation; shares of categories, or
        their places in an order."""
        out = [{} for _ in self.rows]
        for j in range(5):
            cells = self.cells(j, order)
            if j < 4 or order:
                mean = sum(v for _, v in cells) / len(cells)
                sd = math.sqrt(sum((v - mean) ** 2 for _, v in cells) / len(cells))
                for i, v in cells:
                    out[i][j] = [(v - mean) / sd if standardise else v]
            else:
                levels = sorted({v for _, v in cells})
                share = [sum(v == level for _, v in cells) / len(cells) if standardise else 0.0 for level in levels]
                for i, v in cells:
                    out[i][j] = [(v == level) - s for level, s in zip(levels, share)]
        return out

    def cells(self, j, order=None):
        """Rows and values of the observed cells of a column."""
        cells = [(i, row[j]) for i, row in enumerate(self.rows) if row[j] is not None]
        return [(i, order.index(v) + 1) for i, v in cells] if j == 4 and order else cells

    def ranked(self, order=None, centred=False):
        """The same under the rank kernel: a number is its mid-rank in steps of 1/254; centred, with its term."""
        out = self.encoded(True, order)
        for j in range(5 if order else 4):
            cells = self.cells(j, order)
            for i, x in cells:
                share = (sum(v < x for _, v in cells) + 0.5 * sum(v == x for _, v in cells)) / len(cells)
                out[i][j] = math.floor(254 * share + 0.5) / 254
            if centred:
                ranks = [out[i][j] for i, _ in cells]
                mean = {u: sum(abs(u - v) for v in ranks) / len(ranks) for u in ranks}
                whole = sum(mean[u] for u in ranks) / len(ranks)
                for i, _ in cells:
                    out[i][j] = (out[i][j], 3 * (mean[out[i][j]] - whole / 2))
        return out

    def polar(self, order=None):
        """Numbers as u and 1 - u within their range; categories as they are."""
        out = self.encoded(False, order)
        for j in range(5 if order else 4):
            cells = self.cells(j, order)
            low, high = (f(v for _, v in cells) for f in (min, max))
            for i, x in cells:
                out[i][j] = [(x - low) / (high - low), (high - x) / (high - low)]
        return out

    @staticmethod
    def mixed(rows, others, *columns):
        """The rows, with these columns taken from the others."""
        return [{j: other[j] if j in columns else row[j] for j in row} for row, other in zip(rows, others)]

    def factor(self, kind="linear", standardise=True, gamma=2, scale="mean", bias=0, rows=None):
        """w(c) times the sum over common attributes, for all pairs of rows."""
        def kappa(p, q):
            if isinstance(p, list):
                return sum(u * v for u, v in zip(p, q))
            return p[1] + q[1] - 3 * abs(p[0] - q[0]) if isinstance(p, tuple) else 1 - 2 * abs(p - q)

        rows = rows or (self.encoded(standardise) if kind == "linear" else self.ranked())
        counts = [len(row) + (bias != 0) for row in rows]
        nu = {"paper": 1.0, "mean": sum(counts) / len(counts)}.get(scale) or float(scale)
        matrix = []
        for x in rows:
            line = []
            for y in rows:
                common = x.keys() & y.keys()
                total = sum(kappa(x[j], y[j]) for j in common) + bias * bias
                c = len(common) + (bias != 0)
                line.append(sum((c / nu) ** power for power in range(gamma)) * total)
            matrix.append(line)
        return matrix

    @staticmethod
    def mapped(k, outer, degree=2, offset=1.0, width=1.0, series=()):
        """An outer map of a whole matrix."""
        n = len(k)
        distances = [[k[i][i] + k[j][j] - 2 * k[i][j] for j in range(n)] for i in range(n)]
        s = sum(k[i][i] for i in range(n)) / n
        s_distance = sum(distances[i][j] for i in range(n) for j in range(i)) / (n * n / 2)
        value = {
            "identity": lambda i, j: k[i][j],
            "cosine": lambda i, j: k[i][j] / math.sqrt(k[i][i] * k[j][j]) if k[i][i] and k[j][j] else 0.0,
            "poly": lambda i, j: (offset + k[i][j] / s) ** degree,
            "rbf": lambda i, j: math.exp(-distances[i][j] / (s_distance * width ** 2)),
            "laplace": lambda i, j: math.exp(-math.sqrt(max(0.0, distances[i][j]) / s_distance) / width),
            "series": lambda i, j: sum(a * (k[i][j] / s) ** p for p, a in enumerate(series)),
        }[outer]
        return [[value(i, j) for j in range(n)] for i in range(n)]

    @staticmethod
    def combined(function, *matrices):
        return [[function(*cells) for cells in zip(*rows)] for rows in zip(*matrices)]

    def assert_matrix(self, got, want):
        largest = max(abs(v) for row in want for v in row)
        self.assertEqual([len(got)] + [len(row) for row in got], [14] * 15)
        for i in range(14):
            for j in range(14):
                self.assertLessEqual(abs(got[i][j] - want[i][j]), 2e-6 * largest, (i, j))
                self.assertEqual(got[i][j], got[j][i])

    def matrix(self, *options, **more):
        return [[float(cell) for cell in row] for row in self.ok("gram", "g.csv", *options, **more).rows()]

    def test_formula(self):
        for standardise in ("on", "off"):
            for gamma in (1, 2, 5):
                for scale in ("paper", "mean", "3.5"):
                    for bias in (0, 1):
                        with self.subTest(standardise=standardise, gamma=gamma, scale=scale, bias=bias):
                            want = self.factor("linear", standardise == "on", gamma, scale, bias)
                            got = self.matrix("--standardise", standardise, "--gamma", str(gamma), "--scale", scale,
                                              "--bias", str(bias))
                            self.assert_matrix(got, want)
                            if bias == 0:
                                self.assertEqual(set(got[4]), {0.0})

    maps = (("identity", {}), ("cosine", {}), ("poly", {"degree": 3, "offset": 0.5}), ("poly", {}), ("rbf", {}),
            ("rbf", {"width": 0.6}), ("laplace", {"width": 1.7}), ("series", {"series": [0.5, 0, 2, 1e-3]}))

    @staticmethod
    def words(settings, flag, joint):
        """The settings as the tool takes them: options, or parts of a formula."""
        text = {name: joint.join(map(str, value)) if name == "series" else str(value) for name, value in settings.items()}
        return [word for name, value in text.items() for word in flag(name, value)]

    def test_outer_maps(self):
        for outer, settings in self.maps:
            for kind in ("linear", "rank"):
                for bias in (0, 1):
                    with self.subTest(outer=outer, kind=kind, bias=bias, **settings):
                        want = self.mapped(self.factor(kind, gamma=3, bias=bias), outer, **settings)
                        options = self.words(settings, lambda name, value: ("--" + name, value), ",")
                        got = self.matrix("--kernel", kind, "--gamma", "3", "--bias", str(bias), "--outer", outer, *options)
                        self.assert_matrix(got, want)

    def test_sums_and_products(self):
        for outer, settings in self.maps:
            with self.subTest(outer=outer, **settings):
                linear, rank = self.factor("linear", gamma=1), self.factor("rank")
                options = self.words(settings, lambda name, value: ("--" + name, value), ",")
                want = self.combined(lambda p, q: p + 0.5 * q, self.mapped(rank, outer, **settings),
                                     self.mapped(linear, outer, **settings))
                got = self.matrix("--kernel", "rank + 0.5*linear(gamma=1)", "--outer", outer, *options)
                self.assert_matrix(got, want)

                plain = self.factor("linear", gamma=4, scale="paper", bias=0.5)
                own = self.words({"outer": outer, **settings}, lambda name, value: (f"{name}={value}",), ":")
                formula = f"2 * rank({', '.join(own)}) * linear(gamma=4, scale=paper, bias=0.5) + rank"
                want = self.combined(lambda p, q, r: 2 * p * q + r, self.mapped(rank, outer, **settings), plain, rank)
                self.assert_matrix(self.matrix("--kernel", formula), want)

    def test_kappa_by_column(self):
        linear, rank, polar, centred = self.encoded(True), self.ranked(), self.polar(), self.ranked(centred=True)
        order = ["z", "x", "y"]
        ordered = ["--ordered", "kind=z<x<y"]
        for options, rows in (
                (["--kernel", "rank", "--linear", "a", "--linear", "c"], self.mixed(rank, linear, 0, 2)),
                (["--rank", "b"], self.mixed(linear, rank, 1)),
                (["--kernel", "rank", "--rank-form", "centred"], centred),
                (["--rank", "d", "--rank-form", "centred"], self.mixed(linear, centred, 3)),
                (["--encoding", "polar"], polar),
                (["--encoding", "polar", "--rank", "a"], self.mixed(polar, rank, 0)),
                (ordered, self.encoded(True, order)),
                ([*ordered, "--standardise", "off"], self.encoded(False, order)),
                ([*ordered, "--kernel", "rank"], self.ranked(order)),
                ([*ordered, "--rank", "kind"], self.mixed(linear, self.ranked(order), 4)),
                ([*ordered, "--encoding", "polar"], self.polar(order))):
            for gamma, bias in ((1, 0), (3, 1)):
                with self.subTest(options=options, gamma=gamma):
                    want = self.factor(rows=rows, gamma=gamma, bias=bias)
                    self.assert_matrix(self.matrix(*options, "--gamma", str(gamma), "--bias", str(bias)), want)

    def test_two_kinds_under_columns(self):
        """--linear and --rank hold in every factor of a formula."""
        linear = self.factor(rows=self.mixed(self.encoded(True), self.ranked(), 0))
        rank = self.factor(rows=self.mixed(self.ranked(), self.encoded(True), 1))
        got = self.matrix("--kernel", "linear + 3*rank", "--rank", "a", "--linear", "b")
        self.assert_matrix(got, self.combined(lambda p, q: p + 3 * q, linear, rank))

    def test_wrong_columns(self):
        for options, code, says in ((["--linear", "e"], 1, "--linear: there is no column 'e'"),
                                    (["--rank", "kind"], 1, "'kind' holds categories; with --ordered"),
                                    (["--ordered", "kind=x<y"], 1, "'kind': the order does not name 'z'"),
                                    (["--ordered", "kind=x"], 2, "at least two levels"),
                                    (["--ordered", "kind=x<y<x"], 2, "each level once"),
                                    (["--ordered", "kin=x<y"], 2, "no column of this name"),
                                    (["--ordered", "a=1<2"], 2, "'a' holds numbers, which are ordered already"),
                                    (["--rank", "a", "--unit-ball", "on"], 2, "--unit-ball is for --kernel linear")):
            with self.subTest(options=options):
                self.fails("gram", "g.csv", *options, code=code, says=says)

    def test_wrong_formula(self):
        for formula, says in (("rnk", "did you mean 'rank'"), ("rank +", "missing"), ("-1*rank", "weight"),
                              ("rank(C=1)", "'C' is not a setting"), ("rank(gamma=0)", "--gamma"),
                              ("rank(outer=series)", "needs --series")):
            with self.subTest(formula=formula):
                self.fails("gram", "g.csv", "--kernel", formula, code=2, says=says)

    def test_defaults(self):
        self.assertEqual(self.matrix(), self.matrix("--gamma", "2", "--scale", "mean", "--bias", "0", "--standardise", "on"))

    def test_target_stays_out(self):
        self.write_csv("t.csv", self.header + ["label"], [row + [str(i % 2)] for i, row in enumerate(self.rows)])
        self.assertEqual(self.ok("gram", "t.csv", "--target", "label").out, self.ok("gram", "g.csv").out)

    def test_file_and_json(self):
        text = self.ok("gram", "g.csv", "--scale", "3.5").out
        run = self.ok("gram", "g.csv", "--scale", "3.5", "-o", "out.csv", "--json").json()
        self.assertEqual(self.read("out.csv").decode(), text)
        self.assertEqual([run["rows"], run["scale"], run["output"], run["log_norm"]], [14, 3.5, "out.csv", 0])

    def test_unit_ball(self):
        got = self.matrix("--unit-ball", "on", "--gamma", "1")
        self.assertLess(abs(max(got[i][i] for i in range(14)) - 1.0), 1e-5)

    def test_huge_gamma(self):
        rng = random.Random(1)
        rows = [[round(rng.gauss(0, 1), 3) if rng.random() < 0.9 else None for _ in range(50)] for _ in range(20)]
        rows[0] = [round(rng.gauss(0, 1), 3) for _ in range(50)]
        rows[1] = [round(rng.gauss(0, 1), 3) for _ in range(50)]
        self.write_csv("g.csv", [f"x{i}" for i in range(50)], rows)
        got = self.matrix("--gamma", "1000", "--scale", "paper", notes=["overflow.*divided by exp"])
        self.assertTrue(all(math.isfinite(v) for row in got for v in row))
        self.assertGreater(got[0][0], 0.0)
        # every entry is w(c)/w(50) times the sum of products: ln w(50) = 999 ln 50 + small
        run = self.ok("gram", "g.csv", "--gamma", "1000", "--scale", "paper", "-o", "o.csv", "--json", notes=["overflow"])
        big = sum(50 ** k for k in range(1000))
        self.close_to(run.json()["log_norm"], math.log(10) * Theory.log10(big), 1e-9)
        ratio = got[0][1] / self.matrix("--gamma", "1")[0][1]  # rows 0 and 1 share all 50
        self.close_to(ratio, 1.0, 1e-5)

    def test_threads_do_not_matter(self):
        self.ok("synth", "--rows", "300", "--dim", "9", "-o", "g.csv")
        one = self.ok("gram", "g.csv", "--threads", "1").out
        for threads in ("2", "3"):
            self.assertTrue(self.ok("gram", "g.csv", "--threads", threads).out == one, threads)


class Theory(Case):
    def test_quantities(self):
        for options in ({"lambda": 0.5, "epsilon": 0.1, "lipschitz": 1, "dim": 10, "delta": 0.05},
                        {"lambda": 0.9, "epsilon": 0.01, "lipschitz": 3, "dim": 1, "delta": 0.5},
                        {"lambda": 0.05, "epsilon": 0.001, "lipschitz": 2, "dim": 100, "delta": 1e-6}):
            with self.subTest(**options):
                words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
                got = self.ok("theory", *words, "--json").json()
                lam, eps, big_l, d, delta = options.values()
                gamma = max(1, math.ceil(math.log(2 * big_l / (lam * eps)) / lam))
                big_gamma = sum(d ** k for k in range(1, gamma + 1))
                self.assertEqual(got["gamma"], gamma)
                self.close_to(got["log10_Gamma"], self.log10(big_gamma), 1e-9)
                rest = 2 * math.log10(big_l) + self.log10(big_gamma) + math.log10(math.log(1 / delta)) - 2 * math.log10(eps)
                self.close_to(got["log10_sample_size"], rest + math.log10(gamma), 1e-9)
                self.close_to(got["log10_paper_sample_size"], rest + self.log10(big_gamma), 1e-9)
                self.close_to(got["approximation_bound"], (1 - lam) ** gamma / lam, 1e-9)
                for name, value in options.items():
                    self.assertEqual(got["options"][name], value)
                text = self.ok("theory", *words).out
                for word in ("gamma(epsilon)", "sample size", "regret bound"):
                    self.assertIn(word, text)

    @staticmethod
    def log10(number):
        digits = str(number)
        return math.log10(float("0." + digits[:18])) + len(digits)

    def test_regret_bound(self):
        got = self.ok("theory", "--lambda", "0.8", "--dim", "3", "--rounds", "100000", "--B", "4", "--magnitude", "2",
                      "--lipschitz", "1.5", "--json").json()
        gamma = got["gamma"]
        size = sum(3 ** k for k in range(1, int(gamma) + 1))
        rho = 1.5 * 2 * math.sqrt(size) / math.sqrt(4 * 1e5)
        bound = 2 * 1.5 ** 2 * 4 * size * (1 + math.log(1e5)) / rho + rho * 1e5 * 4 / 2 + math.exp(-0.8 * gamma) * 1.5 * 1e5 / 0.8
        self.close_to(got["log10_rho"], math.log10(rho), 1e-9)
        self.close_to(got["log10_regret_bound"], math.log10(bound), 1e-9)
        self.assertEqual(got["B"], 4)

    def test_default_B_is_gamma(self):
        """|v|^2 <= gamma |w|^2 for projections, where the paper has Gamma; the paper's figure is printed beside ours."""
        options = ["--lambda", "0.8", "--dim", "3", "--rounds", "1000"]
        got = self.ok("theory", *options, "--json").json()
        gamma, size = got["gamma"], sum(3 ** k for k in range(1, int(got["gamma"]) + 1))
        self.assertEqual(got["B"], gamma)
        self.assertEqual(self.ok("theory", *options, "--B", str(gamma), "--json").json()["log10_regret_bound"],
                         got["log10_regret_bound"])
        paper = self.ok("theory", *options, "--B", str(size), "--json").json()
        self.close_to(got["log10_paper_regret_bound"], paper["log10_regret_bound"], 1e-9)
        self.assertLess(got["log10_regret_bound"], got["log10_paper_regret_bound"])
        self.assertTrue(got["bound_is_proven"] and paper["bound_is_proven"])
        self.assertRegex(self.ok("theory", *options).out, r"(?s)No sequence.*B = gamma.*paper.*B = Gamma")

    def test_small_B_proves_less(self):
        """With this B the sequence x = 0.1, y = 1 loses 61,270, and the bound is 117: it does not hold for all |w| <= 1."""
        options = ["--dim", "1", "--lambda", "1", "--epsilon", "1e-6", "--rounds", "1000000", "--B", "1e-6"]
        text = self.ok("theory", *options).out
        self.assertNotRegex(text, "(?i)no sequence")
        self.assertRegex(text, r"(?s)1e-06 is below gamma.*not proven")
        self.assertIs(self.ok("theory", *options, "--json").json()["bound_is_proven"], False)

    def test_extreme_parameters_stay_finite(self):
        for options in (["--lambda", "1e-9", "--epsilon", "1e-300", "--dim", "1000000000"], ["--epsilon", "1e9"],
                        ["--lambda", "1", "--lipschitz", "1e-300", "--B", "1e300"], ["--rounds", "1"],
                        ["--delta", "0.999999999", "--magnitude", "1e-300"]):
            with self.subTest(options=options):
                got = self.ok("theory", *options, "--json").json()
                self.assertTrue(all(math.isfinite(v) for k, v in got.items() if k != "options"), got)
                self.assertNotRegex(self.ok("theory", *options).out, r"\b(nan|inf)\b")


class Online(Case):
    def points(self, *options):
        return self.ok("online", "--regret", *options, "--json").json()["checkpoints"]

    def test_every_checkpoint_is_within_the_bound(self):
        for order in ("random", "adversarial"):
            for options in (["--gamma", "2"], [], ["--dim", "3", "--rank", "1", "--lambda", "0.1", "--gamma", "4"],
                            ["--dim", "8", "--rank", "3", "--label-noise", "0.2", "--gamma", "3", "--seed", "7"]):
                with self.subTest(order=order, options=options):
                    got = self.ok("online", "--regret", "--order", order, "--rounds", "300", *options, "--json").json()
                    self.assertGreaterEqual(got["smallest_lambda"], got["options"]["lambda"])
                    self.assertEqual([p["rounds"] for p in got["checkpoints"]], [1, 2, 5, 10, 20, 50, 100, 200, 300])
                    for p in got["checkpoints"]:
                        self.assertTrue(p["within"] and p["regret"] <= 10 ** p["log10_bound"], p)
                        self.assertLessEqual(p["best_at_least"], p["best"])
                        self.close_to(p["regret"], p["learner"] - p["best_at_least"], 1e-9 * max(1, p["learner"]))

    def test_bound_is_the_formula(self):
        got = self.ok("online", "--regret", "--rounds", "500", "--dim", "3", "--gamma", "2", "--lambda", "0.2", "--json").json()
        size, X = 3 + 9, got["magnitude"]
        rho = X * math.sqrt(size / (2 * 500))
        self.close_to(got["log10_rho"], math.log10(rho), 1e-12)
        self.close_to(got["log10_Gamma"], math.log10(size), 1e-12)
        for p in got["checkpoints"]:
            t = p["rounds"]
            bound = 2 * X ** 2 * size * (1 + math.log(t)) / rho + rho * t * 2 / 2 + math.exp(-0.2 * 2) * t / 0.2
            self.close_to(p["log10_bound"], math.log10(bound), 1e-9)

    def test_seeds_orders_and_threads(self):
        one = self.points("--gamma", "2", "--rounds", "600", "--threads", "1")
        self.assertEqual(one, self.points("--gamma", "2", "--rounds", "600", "--threads", "3"))
        self.assertNotEqual(one, self.points("--gamma", "2", "--rounds", "600", "--seed", "1"))
        hostile = self.points("--gamma", "2", "--rounds", "600", "--order", "adversarial")
        self.assertGreater(hostile[-1]["learner"], one[-1]["learner"])
        self.close_to(hostile[-1]["best"], one[-1]["best"], 1e-5)

    def test_text(self):
        text = self.ok("online", "--regret", "--gamma", "2", "--order", "adversarial").out
        lines = text.splitlines()
        self.assertEqual(lines[0].split(), ["rounds", "learner", "best", "regret", "bound"])
        points = self.points("--gamma", "2", "--order", "adversarial")
        for line, p in zip(lines[1:], points):
            cells = line.split()
            self.assertEqual(int(cells[0]), p["rounds"])
            self.assertEqual(len(line), len(lines[0]))
            self.close_to(float(cells[1]), p["learner"], 1e-5 * p["learner"])
            self.close_to(float(cells[4]), 10 ** p["log10_bound"], 1e-5 * 10 ** p["log10_bound"])
        self.assertIn("regret is within the bound at every checkpoint", text)
        self.assertIn("chosen against the learner", text)
        self.assertIn("promises nothing", text)
        self.assertIn("is informative", self.ok("online", "--regret", "--dim", "1", "--rank", "1", "--lambda", "1", "--gamma",
                                                "5", "--rounds", "16000").out)

    def test_refusals(self):
        self.fails("online", "--regret", "rows.csv", code=2, says="its own rows")
        self.fails("online", "--regret", "--rank", "9", code=2, says="rank: .*9.*5")
        self.fails("online", "--regret", "--dim", "200", "--gamma", "1024", code=2, says="gamma: ")
        self.fails("online", "--regret", "--order", "sorted", code=2, says="random.*adversarial")
        self.fails("online", "--regret", "--lambda", "0", code=2, says="--lambda")

    def test_options_without_effect(self):
        """Options of streams with --regret, and the other way round."""
        self.write("rows.csv", "a,y\n" + "".join(f"{i % 7},{'pq'[i % 7 > 3]}\n" for i in range(40)))
        self.ok("online", "rows.csv", "--target", "y", "--warm-up", "20", "-o", "m.karma", "--seed", "3", "--quiet")
        for name, value in (("-o", "r.csv"), ("--checkpoint", "5"), ("--continue", "m.karma"), ("--budget", "5"), ("--warm-up", "9"), ("--target", "y"),
                            ("--missing", "x"), ("--kernel", "rank")):
            self.fails("online", "--regret", "--rounds", "20", name, value, code=2, says=f"{name} is for a stream, and not for --regret")
        for name, value in (("--dim", "3"), ("--rank", "1"), ("--lambda", "0.5"), ("--gamma", "3"), ("--rounds", "9"), ("--order", "random"), ("--label-noise", "0.1")):
            for how in (["--target", "y"], ["--continue", "m.karma"]):
                self.fails("online", "rows.csv", *how, name, value, "-o", "n.karma", code=2, says=f"{name} is for --regret, and not for a stream")


class Synth(Case):
    def table(self, name):
        rows = self.read_rows(name)
        return rows[0], [[None if cell == "" else float(cell) for cell in row] for row in rows[1:]]

    def test_shape_and_completion(self):
        for mechanism in ("mcar", "mar", "mnar", "block"):
            with self.subTest(mechanism=mechanism):
                run = self.ok("synth", "--rows", "400", "--dim", "8", "--rank", "3", "--missing", "0.4", "--mechanism",
                              mechanism, "--seed", "5", "-o", "h.csv", "--complete", "f.csv", "--json").json()
                header, holes = self.table("h.csv")
                self.assertEqual(header, [f"x{i}" for i in range(1, 9)] + ["target"])
                full_header, full = self.table("f.csv")
                self.assertEqual([header, 400], [full_header, len(holes)])
                hidden = sum(cell is None for row in holes for cell in row[:-1])
                self.assertLess(abs(hidden / 3200 - 0.4), 0.08)
                self.close_to(run["missing"], hidden / 3200, 1e-12)
                self.assertEqual([run["rows"], run["attributes"], run["options"]["mechanism"]], [400, 8, mechanism])
                for a, b in zip(holes, full):
                    self.assertNotIn(None, b)
                    self.assertTrue(all(x is None or x == y for x, y in zip(a, b)))
                self.assertEqual(self.rank([row[:-1] for row in full]), 3)

    @staticmethod
    def rank(rows, tolerance=1e-8):
        rows, rank = [list(row) for row in rows], 0
        for j in range(len(rows[0])):
            pivot = max(range(rank, len(rows)), key=lambda i: abs(rows[i][j]))
            if abs(rows[pivot][j]) < tolerance:
                continue
            rows[rank], rows[pivot] = rows[pivot], rows[rank]
            for i in range(rank + 1, len(rows)):
                factor = rows[i][j] / rows[rank][j]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank])]
            rank += 1
        return rank

    def test_seed(self):
        one = self.ok("synth", "--rows", "50", "--seed", "1").out
        self.assertEqual(one, self.ok("synth", "--rows", "50", "--seed", "1").out)
        self.assertNotEqual(one, self.ok("synth", "--rows", "50", "--seed", "2").out)

    def test_tasks(self):
        self.ok("synth", "--rows", "300", "--classes", "5", "-o", "c.csv")
        self.assertEqual(len({row[-1] for row in self.table("c.csv")[1]}), 5)
        self.ok("synth", "--rows", "300", "--task", "regress", "-o", "r.csv")
        self.assertGreater(len({row[-1] for row in self.table("r.csv")[1]}), 250)
        self.ok("synth", "--rows", "300", "--missing", "0", "-o", "n.csv")
        self.assertNotIn(None, [cell for row in self.table("n.csv")[1] for cell in row])

    def test_learned_well(self):
        self.ok("synth", "--rows", "600", "--dim", "20", "--rank", "3", "--missing", "0.3", "--seed", "3", "-o", "a.csv")
        text = self.read("a.csv").decode().splitlines(True)
        self.write("train.csv", "".join(text[:401]))
        self.write("test.csv", text[0] + "".join(text[401:]))
        self.ok("train", "--effort", "off", "train.csv", "--target", "target", "-o", "m.karma", "--quiet")
        report = self.ok("eval", "m.karma", "test.csv", "--json").json()
        self.assertGreater(report["accuracy"], 0.85)
        self.assertGreater(report["accuracy"], report["majority"] + 0.2)

    def test_both_outputs_or_none(self):
        self.fails("synth", "--rows", "5", "-o", "a.csv", "--complete", "nowhere/b.csv", says="nowhere/b.csv")
        self.fails("synth", "--rows", "5", "-o", "nowhere/a.csv", "--complete", "b.csv", says="nowhere/a.csv")
        self.fails("synth", "--rows", "5", "--complete", "-", code=2, says="--complete -")
        self.fails("synth", "--rows", "5", "-o", "a.csv", "--complete", "-", "--json", code=2, says="--complete -")
        full = self.ok("synth", "--rows", "5", "-o", "a.csv", "--complete", "-").rows()
        self.assertEqual([len(full), self.files()], [6, ["a.csv"]])

    def test_rank_beyond_dim(self):
        run = self.run_karma("synth", "--dim", "3", "--rank", "7", "-o", "a.csv")
        self.assertEqual(run.code, 2, str(run))
        self.assertRegex(run.err, "rank.*7.*3")
        self.assertEqual(self.files(), [])


class Repeating(Case):
    def test_threads(self):
        for classes in ("2", "3"):
            self.ok("synth", "--rows", "700", "--dim", "12", "--classes", classes, "--seed", "4", "-o", "d.csv")
            for solver in self.solvers():
                first = None
                for threads in ("1", "2", "3"):
                    self.ok("train", "--effort", "off", "d.csv", "--target", "target", "--solver", solver, "--passes", "2", "--threads",
                            threads, "-o", "m.karma", "--quiet")
                    for more in ("1", "2", "3") if threads == "1" else (threads,):
                        out = self.ok("predict", "m.karma", "d.csv", "--threads", more).raw
                        first = first or out
                        what = f"{solver}, {classes} classes, training with {threads} threads, predicting with {more}"
                        self.assertTrue(out == first, what)

    def test_processors(self):
        """All paths of this processor give the same scores, up to rounding in single precision."""
        self.ok("synth", "--rows", "300", "--dim", "12", "--seed", "4", "-o", "d.csv")
        scores = {}
        for name in ("portable", "avx2", "avx512"):
            environment = dict(os.environ, KARMA_CPU=name)
            self.ok("train", "d.csv", "--target", "target", "--kernel", "linear + subspace", "-o", "m.karma", "--quiet", env=environment)
            scores[name] = [float(row[1]) for row in self.ok("predict", "m.karma", "d.csv", env=environment).rows()[1:]]
        for name, own in scores.items():
            for got, wanted in zip(own, scores["portable"]):
                self.assertLess(abs(got - wanted), 0.02 * (1 + abs(wanted)), name)

    def test_seed(self):
        self.two_classes()
        for solver in self.solvers():
            models = {}
            for name, seed in (("one", "1"), ("again", "1"), ("two", "2")):
                self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--solver", solver, "--seed", seed, "-o", name, "--quiet")
                models[name] = self.read(name)
            self.assertTrue(models["one"] == models["again"], solver)
            if solver == "online":
                self.assertNotEqual(self.ok("predict", "one", "two.csv").out, self.ok("predict", "two", "two.csv").out)

    def test_training_replaces_the_model_whole(self):
        self.trained()
        os.chmod(self.path("m.karma"), 0o640)
        os.symlink("m.karma", self.path("link.karma"))
        before = self.read("m.karma")
        self.ok("train", "--effort", "off", "two.csv", "--target", "answer", "--gamma", "4", "-o", "link.karma", "--quiet")
        self.assertTrue(os.path.islink(self.path("link.karma")))
        self.assertNotEqual(self.read("m.karma"), before)
        self.assertEqual(os.stat(self.path("m.karma")).st_mode & 0o777, 0o640)

"""Model files: layout, predictions computed from their arrays, and every reason to refuse a file."""
import json
import math
import os
import random
import re
import struct
import zlib

from case import SOURCE, Case


class ModelFile:
    """The parts of a safetensors file, which can be changed and written again."""
    CODES = {"F64": "d", "F32": "f", "U64": "Q", "I64": "q", "U32": "I", "I32": "i", "U16": "H", "I16": "h",
             "U8": "B", "I8": "b"}
    SIZES = {"F64": 8, "F32": 4, "U64": 8, "I64": 8, "U32": 4, "I32": 4, "U16": 2, "I16": 2, "U8": 1, "I8": 1}

    def __init__(self, data):
        self.length = struct.unpack("<Q", data[:8])[0]
        self.header = json.loads(data[8:8 + self.length])
        self.data = data[8 + self.length:]
        self.document = json.loads(self.header["__metadata__"]["karma"])

    def tensor(self, name):
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        code = self.CODES[entry["dtype"]]
        return struct.unpack(f"<{(end - begin) // self.SIZES[entry['dtype']]}{code}", self.data[begin:end])

    def tensors_of(self, place):
        """The arrays of the object at this place, by their own names."""
        return {name[len(place):]: self.tensor(name) for name in self.header
                if name.startswith(place) and "." not in name[len(place):]}

    def set_number(self, name, index, value):
        entry = self.header[name]
        size = self.SIZES[entry["dtype"]]
        place = entry["data_offsets"][0] + index * size
        code = self.CODES[entry["dtype"]]
        self.data = self.data[:place] + struct.pack("<" + code, value) + self.data[place + size:]

    def bytes(self):
        """With the correct checksum of the content."""
        self.header["__metadata__"] = {"checksum": "00000000", "karma": json.dumps(self.document, separators=(",", ":"))}
        text = json.dumps(self.header, separators=(",", ":")).encode()
        text += b" " * (-(len(text) + 8) % 64)
        whole = struct.pack("<Q", len(text)) + text + self.data
        key = b'"checksum":"'
        place = whole.index(key) + len(key)
        return whole[:place] + b"%08x" % zlib.crc32(whole) + whole[place + 8:]


class Encoding:
    """One of the encodings of a model, as docs/model-format.md describes it; at most 64 attributes, rows not sparse."""

    def __init__(self, model, number):
        self.described = model.document["encodings"][number]
        self.columns = model.document["columns"]
        self.widths = {}
        for place, names in (("encodings", ("factor", "feature_start", "ranking_at", "ranking_beyond", "ranking_size",
                                            "ranking_value", "shift", "term", "term_start")),
                             ("support", ("codes", "mask", "ranks", "values"))):
            for name in names:
                full = f"{place}.{number}.{name}"
                setattr(self, name, model.tensor(full))
                self.widths[name] = model.header[full]["shape"][-1]
        self.coded = [j for j, column in enumerate(self.columns)
                      if column["kind"] == "category" and self.feature_start[j] == self.feature_start[j + 1]]
        self.centred = [j for j in range(len(self.columns)) if self.term_start[j] < self.term_start[j + 1]]
        self.rows = [self.stored(i) for i in range(len(self.mask))]

    def part(self, name, i):
        return getattr(self, name)[i * self.widths[name]:(i + 1) * self.widths[name]]

    def stored(self, i):
        """A support row in the form that `encode` returns."""
        codes = {j: None for j in range(len(self.columns)) if self.mask[i] >> j & 1}
        for j in codes:
            if j in self.coded:
                codes[j] = self.part("codes", i)[self.coded.index(j)]
            elif self.ranking_size[j]:
                codes[j] = self.part("ranks", i)[j]
        return self.part("values", i)[:self.feature_start[-1]], codes

    def encode(self, row):
        """Features, and for every observed attribute its code or rank (None for features)."""
        x, codes, values = [0.0] * self.feature_start[-1], {}, 0
        for j, (raw, column) in enumerate(zip(row, self.columns)):
            first = values
            values += self.ranking_size[j]
            if raw is None or column["kind"] != "number" and raw not in column["levels"]:
                continue
            if column["kind"] == "ordered":
                raw = column["levels"].index(raw) + 1
            codes[j] = column["levels"].index(raw) + 1 if j in self.coded else None
            if self.ranking_size[j]:
                below = [k for k in range(first, values) if self.ranking_value[k] <= raw]
                k = below[-1] if below else first
                codes[j] = (self.ranking_at if not below or self.ranking_value[k] == raw else self.ranking_beyond)[k]
            for f in range(self.feature_start[j], self.feature_start[j + 1]):
                number = column["kind"] != "category"
                own = raw if number else float(column["levels"][f - self.feature_start[j]] == raw)
                x[f] = (own - self.shift[f]) * self.factor[f]
                if number and self.described["polar"]:
                    x[f] = min(1.0, max(0.0, x[f]))
        if self.described["radius"] > 0:
            norm = max(math.sqrt(sum(v * v for v in x)), self.described["radius"])
            x = [v / norm for v in x]
        return x, codes

    def q(self, attribute, code):
        return self.term[self.term_start[attribute] + code - 1] if attribute in self.centred else 0.0

    def kappa(self, attribute, code, other):
        """κ of an attribute with codes or ranks."""
        if attribute in self.coded:
            plain = float(code == other)
        else:
            plain = -3 * abs(code - other) / 254 if attribute in self.centred else 1 - 2 * abs(code - other) / 254
        return plain + self.q(attribute, code) + self.q(attribute, other)


class Predictor(ModelFile):
    """The prediction as described in docs/model-format.md; for formulas without nested brackets and with few powers."""

    def __init__(self, data):
        super().__init__(data)
        options = self.document["options"]
        self.coefficients = self.tensor("members.0.coefficients")
        self.n_support, self.n_outputs = self.header["members.0.coefficients"]["shape"]
        self.terms, kinds, factors = [], [], iter(self.document["members"][0]["factors"])
        for product in options["kernel"].split("+"):
            weight, names = 1.0, [word for word in re.findall(r"[^*(]+(?:\([^)]*\))?", product) if word.strip()]
            if re.fullmatch(r"[\d. ]+", names[0]):
                weight = float(names.pop(0))
            term = []
            for text in names:
                kind, _, settings = text.strip().rstrip(")").partition("(")
                own = dict(options, **dict(word.strip().split("=") for word in settings.split(",") if word))
                kinds += [kind] if kind not in kinds else []
                term.append((kinds.index(kind), own, next(factors)))
            self.terms.append((weight, term))
        self.encodings = [Encoding(self, number) for number in range(len(kinds))]

    @staticmethod
    def factor(encoding, x, y, options, learned):
        bias = float(options["bias"])
        common = x[1].keys() & y[1].keys()
        total = bias * bias + sum(p * q for p, q in zip(x[0], y[0]))
        total += sum(encoding.kappa(j, x[1][j], y[1][j]) for j in common if x[1][j] is not None)
        c = len(common) + (bias != 0)
        return total * sum((c / learned["scale"]) ** power for power in range(int(options["gamma"])))

    def mapped(self, encoding, x, y, options, learned):
        f, spread, outer = self.factor(encoding, x, y, options, learned), learned["spread"], options["outer"]
        if outer == "identity":
            return f
        if outer == "poly":
            return (float(options["offset"]) + f / spread) ** int(options["degree"])
        xx, yy = (self.factor(encoding, z, z, options, learned) for z in (x, y))
        if outer == "cosine":
            return f / math.sqrt(xx * yy) if xx and yy else 0.0
        distance = max(0.0, xx + yy - 2 * f - 1e-6 * (xx + yy)) / spread
        width = float(options["width"])
        return math.exp(-distance / width ** 2 if outer == "rbf" else -math.sqrt(distance) / width)

    def scores(self, row):
        """The scores of all outputs."""
        encoded = [encoding.encode(row) for encoding in self.encodings]
        scores = [0.0] * self.n_outputs
        for i in range(self.n_support):
            k = 0.0
            for weight, term in self.terms:
                for e, options, learned in term:
                    weight *= self.mapped(self.encodings[e], encoded[e], self.encodings[e].rows[i], options, learned)
                k += weight
            for o in range(self.n_outputs):
                scores[o] += self.coefficients[i * self.n_outputs + o] * k
        return scores

    @staticmethod
    def softmax(calibration, scores):
        """Probabilities of more than two classes by a sigmoid calibration: exp(s) over its sum, s = slope·scores + offset."""
        n = len(scores)
        s = [sum(calibration["slope"][k * n + j] * scores[j] for j in range(n)) + calibration["offset"][k] for k in range(n)]
        powers = [math.exp(v - max(s)) for v in s]
        return [v / sum(powers) for v in powers]

    @staticmethod
    def calibrated(calibration, output, z):
        if calibration["kind"] == "sigmoid":
            return 1 / (1 + math.exp(-(calibration["slope"][output] * z + calibration["offset"][output])))
        first, end = calibration["start"][output:output + 2]
        at, value = calibration["at"][first:end], calibration["value"][first:end]
        k = sum(a <= z for a in at)
        if k == 0 or k == len(at):
            return value[max(0, k - 1)]
        return value[k - 1] + (value[k] - value[k - 1]) * (z - at[k - 1]) / (at[k] - at[k - 1])

    @staticmethod
    def corrected(own, quantiles, certainty):
        """Each quantile shifted by a quantile of the errors of its column, without groups."""
        n, corrected = certainty["n_rows"], []
        width = len(certainty["values"]) // (n + certainty["n_masked"])
        for q, (z, tau) in enumerate(zip(own, quantiles)):
            errors = sorted(certainty["values"][i * width + q] for i in range(n))  # all weights are 1
            rank = math.ceil(tau * (n + 1) - 1e-6) if tau >= 0.5 else math.floor(tau * (n + 1) + 1e-6)
            corrected.append(z + errors[min(max(rank, 1), n) - 1])
        return sorted(corrected)

    def answers(self, row):
        """For each target its decision, its scores and its probabilities (or None)."""
        scores, answers = self.scores(row), []
        for t, target in enumerate(self.document["targets"]):
            target = {**target, **self.tensors_of(f"targets.{t}.")}
            K = len(target.get("classes", ()))
            n = (K if K > 2 else 1) if K else len(target.get("quantiles", [0.5]))
            own, scores, p = scores[:n], scores[n:], None
            if K == 0:
                own = sorted(z / target["factor"] + target["shift"] for z in own)
                if "certainty" in target and "quantiles" in target:
                    certainty = {**target["certainty"], **self.tensors_of(f"targets.{t}.certainty.")}
                    own = self.corrected(own, target["quantiles"], certainty)
                nearest = min(range(n), key=lambda k: abs(target.get("quantiles", [0.5])[k] - 0.5))
                answers.append((own[nearest], own, None))
                continue
            calibration = target.get("calibration")
            if calibration:
                calibration = {**calibration, **self.tensors_of(f"targets.{t}.calibration.")}
            if target["loss"] == "logistic" and not calibration:
                calibration = {"kind": "sigmoid", "slope": [1.0] * n, "offset": [0.0] * n}
            if calibration and calibration["kind"] == "sigmoid" and K > 2 and target.get("calibration"):
                p = self.softmax(calibration, own)
            elif calibration:
                p = [self.calibrated(calibration, o, z) for o, z in enumerate(own)]
                p = [1 - p[0], p[0]] if K == 2 else [v / sum(p) for v in p]
            best = max(range(K), key=lambda k: p[k]) if target.get("calibration") else \
                own[0] > 0 if K == 2 else max(range(K), key=lambda k: own[k])
            answers.append((target["classes"][best], own, p))
        return answers


class Models(Case):
    def setUp(self):
        super().setUp()
        self.rows = self.trained(n=60)
        self.model = self.read("m.karma")

    def refused(self, data, says, name="bad.karma"):
        self.write(name, data)
        self.fails("predict", name, "two.csv", "-o", "p.csv", says=says)

    def test_layout(self):
        model = ModelFile(self.model)
        self.assertEqual((8 + model.length) % 8, 0, "arrays are not aligned")
        checksum = model.header["__metadata__"]["checksum"]
        blank = self.model.replace(b'"checksum":"' + checksum.encode(), b'"checksum":"00000000', 1)
        self.assertEqual(checksum, "%08x" % zlib.crc32(blank))
        place = 0
        entries = sorted((e["data_offsets"], name, e) for name, e in model.header.items() if name != "__metadata__")
        self.assertGreaterEqual(len(entries), 4)
        for (begin, end), name, entry in entries:
            self.assertEqual(begin, place, name)
            count = 1
            for extent in entry["shape"]:
                count *= extent
            self.assertEqual(end - begin, count * ModelFile.SIZES[entry["dtype"]], name)
            place = end
        self.assertEqual(place, len(model.data))
        self.assertTrue(all(isinstance(v, str) for v in model.header["__metadata__"].values()))
        self.assertEqual(model.document["targets"][0]["classes"], ["no", "yes"])

    def test_every_name_is_documented(self):
        with open(os.path.join(SOURCE, "docs", "model-format.md"), encoding="utf-8") as file:
            document = file.read()

        def names_of(node):
            for key, value in node.items() if isinstance(node, dict) else ():
                if not key.isdigit():
                    yield key
                if key != "options":
                    yield from names_of(value)
            for item in node if isinstance(node, list) else ():
                yield from names_of(item)
        self.lettered()
        names = set()
        draw = random.Random(9)  # columns that no row observes together are in different groups of a subspace
        self.write_csv("apart.csv", ["a", "b", "c", "d", "answer"], [
            [*([draw.random(), draw.random(), None, None] if i % 2 else [None, None, draw.random(), draw.random()]),
             draw.choice(["no", "yes"])] for i in range(60)])
        for options in (["--kernel", "union | rank", "--probabilities", "sigmoid"], ["--probabilities", "isotonic"],
                        ["--effort", "quick"], ["--effort", "quick", "--target", "answer,a"],
                        ["--kernel", "relevance | boost | subspace(space=ranks)", "--trees", "3", "--certainty", "on"],
                        ["--target", "a", "--loss", "pinball", "--task", "regress"], ["apart.csv", "--kernel", "subspace"]):
            target = [] if "--target" in options else ["--target", "answer"]
            table = [] if "apart.csv" in options else ["letters.csv"]
            self.ok("train", *table, *target, *options, "--subspace-rank", "1", "-o", "d.karma", "--quiet")
            model = ModelFile(self.read("d.karma"))
            names |= set(names_of(model.document)) | {name.rpartition(".")[2] for name in model.header if "." in name}
        self.assertLessEqual({"coefficients", "basis", "slope", "at", "quantiles", "zero_score", "groups", "scores",
                              "node_threshold", "group_most"}, names)
        self.assertEqual([name for name in sorted(names) if f"`{name}`" not in document], [])

    def lettered(self):
        """Writes letters.csv: the rows of two.csv with another column of seven levels before the label."""
        draw = random.Random(5)
        header, *_ = self.read_rows("two.csv")
        rows = [[*row[:-1], draw.choice(["a", "b", "c", "d", "e", "f", "g", "a", "b", None]), row[-1]] for row in self.rows]
        self.write_csv("letters.csv", [*header[:-1], "letter", header[-1]], rows)
        return rows

    def follows(self, rows, *options, target="answer", tolerance=2e-5, notes=None):
        """Trains on letters.csv and compares predictions with those computed from the model file."""
        self.ok("train", "--effort", "off", "letters.csv", "--target", target, *options, "-o", "m.karma", "--quiet")
        model = Predictor(self.read("m.karma"))
        header, *out = self.ok("predict", "m.karma", "letters.csv", notes=notes).rows()
        for row, got in list(zip(rows, out))[:25]:
            want = []
            for decision, scores, p in model.answers(row):
                want += [decision, *scores, *(p or ())]
            self.assertEqual([len(header), len(got)], [len(want)] * 2)
            for name, a, b in zip(header, got, want):
                if isinstance(b, str):
                    self.assertEqual(a, b, name)
                else:
                    self.close_to(float(a), b, tolerance, name)
        return model

    def test_predictions_follow_from_the_file(self):
        """Scores computed here from the arrays of the file: recipe, kernel with bias, coefficients."""
        rows = self.lettered()
        for options in (["--gamma", "1"], ["--gamma", "4", "--scale", "2.5"], ["--gamma", "3", "--bias", "0"],
                        ["--unit-ball", "on"], ["--standardise", "off"], ["--kernel", "rank"],
                        ["--kernel", "rank", "--rank-form", "centred", "--gamma", "3"],
                        ["--kernel", "rank", "--linear", "a"], ["--rank", "b", "--rank-form", "centred"],
                        ["--encoding", "polar"], ["--encoding", "polar", "--kernel", "rank", "--linear", "b"],
                        ["--ordered", "letter=g<f<e<d<c<b<a"], ["--ordered", "letter=a<b<c<d<e<f<g", "--rank", "letter"],
                        ["--ordered", "colour=red<green<blue", "--encoding", "polar"]):
            with self.subTest(options=options):
                model = self.follows(rows, *options)
                plain = "--unit-ball" not in options and "letter=" not in " ".join(options)
                self.assertEqual(plain, len(model.encodings[0].columns) - 1 in model.encodings[0].coded)

    def test_composed_predictions_follow_from_the_file(self):
        rows = self.lettered()
        for options in (["--outer", "rbf"], ["--outer", "cosine", "--kernel", "rank"], ["--outer", "laplace", "--width", "2"],
                        ["--outer", "poly", "--degree", "3", "--offset", "0.5"],
                        ["--kernel", "rank + 0.5*linear(gamma=1)"],
                        ["--kernel", "linear(outer=rbf, width=1.5) * rank(gamma=3,scale=paper) + 2 * linear(bias=0)",
                         "--rank-form", "centred"],
                        ["--kernel", "0.25*rank", "--outer", "poly"]):
            with self.subTest(options=options):
                self.follows(rows, *options, tolerance=1e-4)

    def test_targets_follow_from_the_file(self):
        rows = self.lettered()
        without = [row[1:] for row in rows]
        for loss in (["--loss", "pinball", "--quantile", "0.9,0.1,0.4"], []):
            self.follows(without, *loss, target="a")
        for options in (["--probabilities", "sigmoid"], ["--probabilities", "isotonic"], ["--loss", "logistic"],
                        ["--loss", "logistic", "--probabilities", "sigmoid"]):
            with self.subTest(options=options):
                self.follows(rows, *options)
                self.follows([row[:2] + row[3:] for row in rows], *options, target="colour")
        self.follows([[row[1], *row[3:]] for row in rows], "--probabilities", "isotonic", "--folds", "3", target="answer,a,colour")

    def test_own_writer_is_understood(self):
        """The refusals below are meaningful only if an unchanged model that is written here is accepted."""
        self.write("same.karma", ModelFile(self.model).bytes())
        self.assertEqual(self.ok("predict", "same.karma", "two.csv").out, self.ok("predict", "m.karma", "two.csv").out)

    def test_truncated(self):
        n = len(self.model)
        header = 8 + ModelFile(self.model).length
        for length in (0, 1, 7, 8, 9, 100, header - 1, header, header + 1, n // 2, n - 8, n - 1):
            with self.subTest(length=length):
                self.refused(self.model[:length], "bad.karma: not a usable model")
                self.fails("eval", "bad.karma", "two.csv", says="bad.karma")
                self.fails("inspect", "bad.karma", says="bad.karma")

    def test_longer(self):
        self.refused(self.model + b"\0", "bad.karma: not a usable model")

    def test_one_byte_altered(self):
        n = len(self.model)
        header = 8 + ModelFile(self.model).length
        rng = random.Random(12)
        places = {0, 7, 8, 9, header - 1, header, n - 1}
        places |= {self.model.index(b'"checksum":"') + k for k in (3, 12, 19)} | {self.model.index(b"format") + 9}
        places |= {rng.randrange(8, header) for _ in range(12)} | {rng.randrange(header, n) for _ in range(12)}
        for place in sorted(places):
            for bit in (1, 0x20):
                with self.subTest(place=place, bit=bit):
                    changed = bytearray(self.model)
                    changed[place] ^= bit
                    self.refused(bytes(changed), "^karma: bad.karma: ")

    def test_newer_version(self):
        model = ModelFile(self.model)
        model.document["format"] = 3
        model.document["version"] = "9.8.7"
        for command in (["predict", "bad.karma", "two.csv", "-o", "p.csv"], ["inspect", "bad.karma"],
                        ["eval", "bad.karma", "two.csv"]):
            self.write("bad.karma", model.bytes())
            self.fails(*command, says=r"^karma: bad.karma: made by a newer version of karma \(9\.8\.7")

    def test_other_files(self):
        self.refused(self.read("two.csv"), "bad.karma: not a usable model")
        self.refused(b"\0" * 100, "bad.karma: not a usable model")
        self.refused(struct.pack("<Q", 2 ** 63) + b"{}" * 50, "bad.karma: not a usable model")
        self.refused(struct.pack("<Q", 2) + b"{}", "bad.karma: not a usable model")
        self.refused(struct.pack("<Q", 4) + b"null", "bad.karma: not a usable model")
        deep = b"[" * 100000
        self.refused(struct.pack("<Q", len(deep)) + deep, "bad.karma: not a usable model")

    def test_wrong_content_with_a_right_checksum(self):
        def change(action):
            model = ModelFile(self.model)
            action(model)
            return model.bytes()

        def offsets(name, begin, end):
            def action(model):
                model.header[name]["data_offsets"] = [begin, end]
            return action

        def document(*path, value):
            def action(model):
                place = model.document
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = value
            return action

        support = ModelFile(self.model).document["info"]["n_support"]
        cases = {
            "array outside": offsets("support.0.values", 0, 1 << 40),
            "negative offset": offsets("support.0.values", -64, 0),
            "offsets swapped": offsets("encodings.0.shift", 64, 0),
            "overlapping arrays": offsets("encodings.0.shift", *ModelFile(self.model).header["encodings.0.factor"]["data_offsets"]),
            "no array": lambda m: m.header.pop("support.0.mask"),
            "wrong dtype": lambda m: m.header["encodings.0.shift"].update(dtype="F32"),
            "wrong shape": lambda m: m.header["support.0.values"].update(shape=[1, 1]),
            "shape is no list": lambda m: m.header["support.0.values"].update(shape="big"),
            "NaN coefficient": lambda m: m.set_number("members.0.coefficients", 0, math.nan),
            "coefficient beyond range": lambda m: m.set_number("members.0.coefficients", 0, 1e300),
            "infinite factor": lambda m: m.set_number("encodings.0.factor", 0, math.inf),
            "NaN value": lambda m: m.set_number("support.0.values", 0, math.nan),
            "value beyond range": lambda m: m.set_number("support.0.values", 0, 3e38),
            "mask beyond the columns": lambda m: m.set_number("support.0.mask", 0, 1 << 60),
            "value where nothing is observed":
                lambda m: (m.set_number("support.0.mask", 0, 0), m.set_number("support.0.values", 0, 1.0)),
            "feature_start": lambda m: m.set_number("encodings.0.feature_start", 1, 7),
            "more support rows": document("info", "n_support", value=support + 1),
            "huge support": document("info", "n_support", value=2 ** 62),
            "negative support": document("info", "n_support", value=-1),
            "scale 0": document("members", 0, "factors", 0, "scale", value=0.0),
            "no info": document("info", value={}),
            "no options": document("options", "gamma", value="0"),
            "no columns": document("columns", value=[]),
            "unknown kind": document("columns", 0, "kind", value="colour"),
            "category without levels": document("columns", 2, "levels", value=[]),
            "levels not in order": document("columns", 2, "levels", value=["red", "green", "blue"]),
            "one class": document("targets", 0, "classes", value=["no"]),
            "the same class twice": document("targets", 0, "classes", value=["no", "no"]),
            "no target": document("targets", value=None),
            "unknown task": document("targets", 0, "task", value="cluster"),
            "unknown loss": document("targets", 0, "loss", value="pain"),
            "format 0": document("format", value=0),
            "format text": document("format", value="1"),
            "radius": document("encodings", 0, "radius", value=-1.0),
        }
        for name, action in cases.items():
            with self.subTest(name):
                self.refused(change(action), "^karma: bad.karma: not a usable model: ")

    def test_endless_input(self):
        for device in ("/dev/zero", "/dev/urandom"):
            self.fails("predict", device, "two.csv", says=f"^karma: {device}: not a usable model")

    def test_bytes_depend_on_data_options_and_seed_only(self):
        for options in (["--effort", "quick"], ["--kernel", "union", "--probabilities", "sigmoid"],
                        ["--kernel", "relevance | rank(outer=rbf)"], ["--kernel", "boost | forest + rank(outer=rbf)"], ["--solver", "online"]):
            with self.subTest(options=options):
                files = []
                for threads in ("1", "2", "2"):
                    self.ok("train", "two.csv", "--target", "answer", *options, "--threads", threads, "-o", "t.karma", "--quiet")
                    files.append(self.read("t.karma"))
                self.assertEqual(files[0], files[1])
                self.assertEqual(files[1], files[2])
                self.assertNotIn(b"seconds", files[0])
                self.assertNotIn(b"threads", files[0])

    def test_labels_keep_their_spelling(self):
        labels = ["1e0", "01", "+2.50", "1_000", "\"q\"", "Größe", " x", "0x10"]
        rows = [[i % 7, labels[i % len(labels)]] for i in range(80)]
        self.write_csv("spelt.csv", ["a", "y"], rows)
        self.ok("train", "spelt.csv", "--target", "y", "--task", "classify", "--effort", "off", "-o", "m.karma", "--quiet")
        classes = ModelFile(self.read("m.karma")).document["targets"][0]["classes"]
        self.assertEqual(sorted(classes), sorted(label.strip() for label in labels))
        _, *out = self.ok("predict", "m.karma", "spelt.csv", "--quiet").rows()
        self.assertLessEqual({row[0] for row in out}, set(classes))

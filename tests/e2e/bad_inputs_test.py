#!/usr/bin/env python3
"""Bad input: exit code 4, a message that says what is wrong, and nothing written."""
import shutil
import unittest

from support import BIN, Case, DIGITS, ROOT, main, matmul_model, run, wire


class BadInputs(Case):
    def refused(self, *words, tool="dlcc", arguments=None, model=None, chip="sw26010"):
        out = self.work / "out"
        before = sorted(self.work.rglob("*"))
        result = run(tool, *(arguments or [f"--hw={chip}", model, "-o", out]), timeout=60)
        self.assertEqual(result.returncode, 4, result.stdout[-1000:] + result.stderr[-3000:])
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(before, sorted(self.work.rglob("*")), "something was written")
        return result.stderr

    def test_truncated(self):
        whole = DIGITS.read_bytes()
        for size in (1, 10, 1000, len(whole) // 2, len(whole) - 1):
            path = self.work / f"cut_{size}.onnx"
            path.write_bytes(whole[:size])
            with self.subTest(size=size):
                self.refused(path.name, model=path)

    def test_not_onnx(self):
        path = self.work / "text.onnx"
        path.write_text("this is no model\n" * 50)
        self.refused("text.onnx", model=path)
        empty = self.work / "empty.onnx"
        empty.touch()
        self.refused("empty.onnx", model=empty)
        self.refused("absent.onnx", model=self.work / "absent.onnx")
        self.refused("folder", model=self.folder("folder"))

    def folder(self, name):
        (self.work / name).mkdir()
        return self.work / name

    def test_huge_shape(self):
        model = self.model("huge.onnx", [wire.node("Relu", ["x"], ["y"])], [("x", [10**6, 10**6])], [("y", [10**6, 10**6])])
        self.refused(model=model)
        overflow = self.model("overflow.onnx", [wire.node("Relu", ["x"], ["y"])], [("x", [2**40, 2**40])], [("y", [2**40, 2**40])])
        self.refused(model=overflow)

    def test_huge_weight(self):
        tensor = wire.tensor("b", [10**6, 10**6], [])
        model = self.model("weight.onnx", [wire.node("Add", ["x", "b"], ["y"])], [("x", [1])], [("y", [10**6, 10**6])], [tensor])
        self.refused("b", model=model)

    def test_cycle(self):
        nodes = [wire.node("Add", ["x", "q"], ["p"], name="first"), wire.node("Relu", ["p"], ["q"], name="second")]
        self.refused("cycle", model=self.model("cycle.onnx", nodes, [("x", [4])], [("q", [4])]))

    def external(self, location):
        weights = [wire.external_tensor("b", [4], location)]
        return self.model("external.onnx", [wire.node("Add", ["x", "b"], ["y"])], [("x", [4])], [("y", [4])], weights)

    def test_external_data_missing(self):
        self.refused("absent.bin", model=self.external("absent.bin"))

    def test_external_data_outside(self):
        (self.work / "inside").mkdir()
        (self.work / "secret.bin").write_bytes(bytes(64))
        for location in ("../secret.bin", str(self.work / "secret.bin")):
            path = self.work / "inside" / "model.onnx"
            shutil.copy(self.external(location), path)
            with self.subTest(location=location):
                self.refused("secret.bin", model=path)

    def test_external_data_behind_a_link(self):
        (self.work / "inside").mkdir()
        (self.work / "secret.bin").write_bytes(bytes(64))
        (self.work / "inside" / "link.bin").symlink_to(self.work / "secret.bin")
        path = self.work / "inside" / "model.onnx"
        shutil.copy(self.external("link.bin"), path)
        self.refused("link.bin", model=path)

    def test_five_unknown_ops_at_once(self):
        nodes = [wire.node(f"Unknown{k}", [f"t{k}"], [f"t{k + 1}"], name=f"node{k}", domain="my.domain" if k == 4 else "") for k in range(5)]
        message = self.refused(model=self.model("unknown.onnx", nodes, [("t0", [4])], [("t5", [4])], domains=["my.domain"]))
        for k in range(5):
            self.assertIn(f"Unknown{k}", message)
            self.assertIn(f"node{k}", message)
        self.assertIn("my.domain", message)

    def test_unread_attribute(self):
        nodes = [wire.node("Relu", ["x"], ["y"], name="odd", slope=3)]
        self.refused("slope", "odd", model=self.model("attribute.onnx", nodes, [("x", [4])], [("y", [4])]))

    def test_symbolic_dimension_without_value(self):
        nodes = [wire.node("MaxPool", ["x"], ["y"], name="pool", kernel_shape=[2, 2])]
        model = self.model("symbolic.onnx", nodes, [("x", [1, 1, "height", 8])], [("y", [1, 1, "h", 7])])
        self.refused("pool", "window of 2", "--dim height=N", model=model)

    def test_chip_errors(self):
        text = (ROOT / "hw" / "chips" / "tutor.yaml").read_text()
        cases = {"clock: 1 GHz": ("clock: 1 GB", "not a frequency"), "size: 2 GiB": ("sice: 2 GiB", "did you mean 'size'"),
                 "size: 81664 B": ("size: 81664", "size"), "from: dram": ("from: dran", "did you mean 'dram'"), "\npipes:": ("\npipes: [", "yaml")}
        for old, (new, word) in cases.items():
            chip = self.work / "chip.yaml"
            chip.write_text(text.replace(old, new, 1))
            line = text[:text.index(old)].count("\n") + 1
            with self.subTest(new=new):
                message = self.refused(word, model=DIGITS, chip=chip)
                self.assertRegex(message, r"chip\.yaml:\d+:\d+: error: ")
                if "\n" not in old:
                    self.assertIn(f"chip.yaml:{line}:", message)
        self.refused("sw26011", "sw26010", model=DIGITS, chip="sw26011")

    def test_command_lines(self):
        self.refused(arguments=["--hw=sw26010"])
        self.refused(arguments=["--hw=sw26010", DIGITS, "--no-such-flag"])
        self.refused("--dim", arguments=["--hw=sw26010", DIGITS, "--dim", "N=x", "-o", self.work / "out"])
        self.refused(tool="dlsim", arguments=[self.work, "--random", "1"])
        self.refused(tool="dlhw", arguments=["check", self.work / "absent.yaml"])


@unittest.skipUnless((BIN / "dlsim").exists(), "dlsim is not built")
class BadTestData(Case):
    def test_wrong_shape_and_type(self):
        out = self.compile(self.model("m.onnx", *matmul_model(4, 8, 4)))
        data = self.work / "data"
        data.mkdir()
        cases = {"shape": wire.tensor("a", [4, 7], [0.0] * 28), "rank": wire.tensor("a", [32], [0.0] * 32),
                 "type": wire.tensor("a", [4, 8], [0] * 32, wire.INT64), "short": wire.tensor("a", [4, 8], [0.0] * 3), "junk": b"\xff" * 20}
        for name, content in cases.items():
            (data / "input_0.pb").write_bytes(content)
            with self.subTest(case=name):
                result = run("dlsim", out, "--test-data", data, "--save", self.work / "saved")
                self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
                self.assertIn("input_0.pb", result.stderr)
                self.assertFalse((self.work / "saved").exists())

    def test_wrong_value_is_exit_code_1(self):
        out = self.compile(self.model("m.onnx", *matmul_model(4, 8, 4)))
        data = self.work / "data"
        data.mkdir()
        (data / "input_0.pb").write_bytes(wire.tensor("a", [4, 8], [0.0] * 32))
        (data / "output_0.pb").write_bytes(wire.tensor("c", [4, 4], [0.0] * 15 + [0.5]))
        result = run("dlsim", out, "--test-data", data)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("element 15 is 0, expected 0.5", result.stdout)


main()

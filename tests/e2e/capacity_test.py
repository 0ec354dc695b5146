#!/usr/bin/env python3
"""No program exceeds a scratchpad: difficult layers compile and give right values, or the error itemises what does not fit."""
import json

from support import Case, ROOT, conv_model, floats, main, matmul_model, run, wire

SW = (ROOT / "hw" / "chips" / "sw26010.yaml").read_text()


class Capacity(Case):
    def small_chip(self, size):
        """sw26010 with LDM of that many bytes, 512 of them reserved for the emitted code's own variables."""
        text = SW
        for old, new in (("size: {value: 64 KiB", f"size: {{value: {size} B"), ("reserved: {value: 4 KiB", "reserved: {value: 512 B")):
            self.assertEqual(text.count(old), 1)
            text = text.replace(old, new)
        path = self.work / "small.yaml"
        path.write_text(text.replace("name: sw26010", "name: small", 1))
        return path

    def fits_or_is_itemised(self, model, chip, limit):
        """True: compiled, and every layer stays within the limit."""
        result = run("dlcc", f"--hw={chip}", model, "-q", "-o", self.work / "out")
        if result.returncode == 0:
            for layer in json.loads((self.work / "out" / "report.json").read_text())["layers"]:
                self.assertLessEqual(layer["scratchpad_bytes"], limit)
            return True
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        for word in ("bytes", str(limit), "ldm"):
            self.assertIn(word, result.stderr)
        self.assertFalse((self.work / "out").exists())
        return False

    def right(self, model, inputs):
        """The simulator and the evaluator agree on these inputs."""
        data = self.work / "data"
        data.mkdir()
        for k, content in enumerate(inputs):
            (data / f"input_{k}.pb").write_bytes(content)
        self.ok("dleval", model, "--test-data", data, "--save", data)
        self.ok("dlsim", self.work / "out", "-q", "--test-data", data)

    def test_13_17_19_in_2_kib(self):
        model = self.model("m.onnx", *matmul_model(13, 17, 19))
        self.assertTrue(self.fits_or_is_itemised(model, self.small_chip(2048), 1536))
        self.right(model, [wire.tensor("a", [13, 17], floats(1, 13 * 17))])

    def test_conv_in_2_kib(self):
        model = self.model("c.onnx", *conv_model([1, 8, 12, 12], [8, 8, 3, 3]))
        if self.fits_or_is_itemised(model, self.small_chip(2048), 1536):
            self.right(model, [wire.tensor("x", [1, 8, 12, 12], floats(1, 8 * 144))])

    def test_nothing_fits_in_64_bytes(self):
        model = self.model("c.onnx", *conv_model([1, 8, 12, 12], [8, 8, 3, 3]))
        self.assertFalse(self.fits_or_is_itemised(model, self.small_chip(576), 64))

    def test_13_17_19(self):
        model = self.model("m.onnx", *matmul_model(13, 17, 19))
        self.assertTrue(self.fits_or_is_itemised(model, "sw26010", 61440))
        self.right(model, [wire.tensor("a", [13, 17], floats(1, 13 * 17))])

    def test_grouped_conv_56(self):
        model = self.model("c.onnx", *conv_model([1, 128, 56, 56], [256, 64, 3, 3], group=2))
        self.assertTrue(self.fits_or_is_itemised(model, "sw26010", 61440))
        self.right(model, [wire.tensor("x", [1, 128, 56, 56], floats(1, 128 * 56 * 56))])

    def test_wide_matmul(self):
        # Both operands are inputs: 199 MB of weights would only make the file large.
        model = self.model("w.onnx", [wire.node("MatMul", ["a", "b"], ["c"])], [("a", [128, 2560]), ("b", [2560, 19456])], [("c", [128, 19456])])
        self.assertTrue(self.fits_or_is_itemised(model, "sw26010", 61440))
        self.ok("dlsim", self.work / "out", "-q", "--mode", "time")

    def test_wide_matmul_values(self):
        model = self.model("w.onnx", [wire.node("MatMul", ["a", "b"], ["c"])], [("a", [16, 640]), ("b", [640, 1216])], [("c", [16, 1216])])
        self.assertTrue(self.fits_or_is_itemised(model, "sw26010", 61440))
        self.right(model, [wire.tensor("a", [16, 640], floats(1, 16 * 640)), wire.tensor("b", [640, 1216], floats(2, 640 * 1216))])


main()

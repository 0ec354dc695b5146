#!/usr/bin/env python3
"""A chip is data: models on tutor are right and use its matrix intrinsic, and so they are on edited copies of its file."""
import json
import re

from support import Case, DIGITS, ROOT, conv_model, floats, main, matmul_model, shared_model, wire

TUTOR = (ROOT / "hw" / "chips" / "tutor.yaml").read_text()
# Other sizes, two flags, and an intrinsic of another shape, block and name.
EDITS = {"size: 81664 B": "size: 50016 B", "l0a: {kind: scratchpad, size: 3 KiB": "l0a: {kind: scratchpad, size: 2 KiB",
         "l0c: {kind: scratchpad, size: 12 KiB": "l0c: {kind: scratchpad, size: 7 KiB", "ids: 8": "ids: 2",
         "params: {m: 1..12, n: 1..20, k: 1..24, init: bool}": "params: {m: 1..8, n: 1..12, k: 1..16, init: bool}",
         "  mma:\n": "  block_product:\n", "name: tutor": "name: my_npu",
         "{name: core, count: 2}": "{name: core, count: 3}"}


class Tutor(Case):
    def run_on(self, chip, model, *data, intrinsic="mma"):
        """Simulates under all three transfer timings; the intrinsic stands in the report."""
        out = self.compile(model, f"out_{intrinsic}", chip)
        for dma in ("issue", "wait", "random"):
            self.ok("dlsim", out, "-q", "--dma", dma, *data, "--report", self.work / "report.json")
        used = {name for layer in json.loads((self.work / "report.json").read_text())["layers"] for name in layer["intrinsics"]}
        self.assertEqual(used, {intrinsic})

    def edited(self):
        text = TUTOR
        for old, new in EDITS.items():
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        path = self.work / "my_npu.yaml"
        path.write_text(text)
        return path

    def evaluated(self, model, inputs):
        """A test data set with the evaluator's outputs."""
        data = self.work / (model.stem + "_data")
        data.mkdir()
        for k, content in enumerate(inputs):
            (data / f"input_{k}.pb").write_bytes(content)
        self.ok("dleval", model, "--test-data", data, "--save", data)
        return data

    def product(self):
        """13x17x19 with the values of exact arithmetic: the sums of 17 products of multiples of 1/64 are exact in f32."""
        m, k, n = 13, 17, 19
        a, b = floats(1, m * k), floats(2, k * n)
        c = [sum(a[i * k + l] * b[l * n + j] for l in range(k)) for i in range(m) for j in range(n)]
        data = self.work / "product"
        data.mkdir()
        (data / "input_0.pb").write_bytes(wire.tensor("a", [m, k], a))
        (data / "output_0.pb").write_bytes(wire.tensor("c", [m, n], c))
        return self.model("product.onnx", *matmul_model(m, k, n)), data

    def convolution(self):
        model = self.model("conv.onnx", *conv_model([1, 5, 14, 11], [9, 5, 3, 3]))
        return model, self.evaluated(model, [wire.tensor("x", [1, 5, 14, 11], floats(4, 5 * 14 * 11))])

    def test_gemm_13_17_19(self):
        model, data = self.product()
        self.run_on("tutor", model, "--test-data", data, "--rtol", 0, "--atol", 0)

    def test_gemm_512(self):
        model = self.model("big.onnx", *matmul_model(512, 512, 512))
        self.run_on("tutor", model, "--test-data", self.evaluated(model, [wire.tensor("a", [512, 512], floats(1, 512 * 512))]))

    def test_conv_3x3(self):
        model, data = self.convolution()
        self.run_on("tutor", model, "--test-data", data)

    def test_digits(self):
        self.run_on("tutor", DIGITS, "--test-data", DIGITS.parent / "test_data" / "test_data_set_0")

    def test_mnist_torch_dynamo(self):
        model = shared_model("mnist_torch_dynamo")
        self.run_on("tutor", model, "--test-data", model.parent)

    def test_edited_chip(self):
        chip = self.edited()
        for model, data in (self.product(), self.convolution()):
            with self.subTest(model=model.name):
                self.run_on(chip, model, "--test-data", data, intrinsic="block_product")
        self.run_on(chip, DIGITS, "--test-data", DIGITS.parent / "test_data" / "test_data_set_0", intrinsic="block_product")

    def test_intrinsic_with_another_meaning_is_not_used(self):
        chip = self.work / "minus.yaml"
        text = TUTOR.replace("sum(l, a[i,l] * b[l,j])", "sum(l, a[i,l] - b[l,j])")
        self.assertNotEqual(text, TUTOR)
        chip.write_text(text)
        model, data = self.product()
        out = self.compile(model, "out", chip)
        self.ok("dlsim", out, "-q", "--test-data", data, "--report", self.work / "report.json", "--rtol", 0, "--atol", 0)
        self.assertFalse(re.search(r'"mma"', (self.work / "report.json").read_text()))


main()

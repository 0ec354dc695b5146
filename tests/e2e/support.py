"""What the end-to-end tests share: the tools, a scratch folder for each test, small models. Skips with exit code 77 for ctest."""
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("DLCC_BIN", ROOT / "build" / "bin"))
SHARED = pathlib.Path(os.environ.get("DLCC_SHARED", ROOT.parent / "shared"))
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
DIGITS_DATA = ROOT / "examples" / "digits" / "test_data"

sys.path.insert(0, str(ROOT / "tests" / "models"))
import onnx_wire as wire  # noqa: E402


def run(tool, *arguments, env=None, timeout=600):
    command = [str(BIN / tool), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **(env or {})}, errors="replace")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dlcc-e2e-")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)

    def ok(self, tool, *arguments, **options):
        result = run(tool, *arguments, **options)
        self.assertEqual(result.returncode, 0, f"{tool} {' '.join(map(str, arguments))}\n{result.stdout[-2000:]}{result.stderr[-3000:]}")
        return result

    def compile(self, model, out="out", chip="sw26010", *arguments):
        self.ok("dlcc", f"--hw={chip}", model, "-q", "-o", self.work / out, *arguments)
        return self.work / out

    def model(self, name, *arguments, **options):
        path = self.work / name
        path.write_bytes(wire.model(*arguments, **options))
        return path


def shared_model(name):
    folder = SHARED / "models" / name
    if not folder.exists():
        raise unittest.SkipTest(f"{folder} is not there; DLCC_SHARED names the folder of shared models")
    return folder / "model.onnx"


def floats(seed, count, scale=1.0):
    """Multiples of 1/64 in [-scale, scale): short sums of products of them are exact in f32."""
    generator = random.Random(seed)
    return [generator.randrange(-64, 64) / 64 * scale for _ in range(count)]


def matmul_model(m, k, n):
    """Arguments of wire.model: c = a * b, b an initializer."""
    return ([wire.node("MatMul", ["a", "b"], ["c"])], [("a", [m, k])], [("c", [m, n])], [wire.tensor("b", [k, n], floats(2, k * n))])


def conv_model(x, w, **attributes):
    """Arguments of wire.model: a 3x3-like convolution whose output has the input's height and width."""
    weights = [wire.tensor("w", w, floats(3, w[0] * w[1] * w[2] * w[3], 0.25))]
    pads = [w[2] // 2, w[3] // 2] * 2
    return ([wire.node("Conv", ["x", "w"], ["y"], pads=pads, kernel_shape=w[2:], **attributes)], [("x", x)], [("y", [x[0], w[0], *x[2:]])], weights)


def gather_model(table, index, axis):
    """Arguments of wire.model: y = Gather(table t, i) with run-time indices."""
    weights = [wire.tensor("t", table, floats(4, math.prod(table)))]
    return ([wire.node("Gather", ["t", "i"], ["y"], axis=axis)], [("i", index, wire.INT64)], [("y", table[:axis] + index + table[axis + 1:])], weights)


def main():
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun > 0 and len(result.skipped) == result.testsRun else 0)

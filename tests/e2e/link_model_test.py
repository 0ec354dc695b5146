#!/usr/bin/env python3
"""examples/link_model: a plain C program, linked with an x86 artifact by the commands in its own comment, gives the right scores."""
import os
import pathlib
import subprocess

from support import Case, DIGITS, DIGITS_DATA, ROOT, main, wire

EXAMPLE = ROOT / "examples" / "link_model" / "main.c"


def raw(path):
    data = path.read_bytes()
    start, end = wire.of_kind(data, (0, len(data)), 9)[0]
    return data[start:end]


class LinkModel(Case):
    def check(self, chip):
        out = self.compile(DIGITS, "out", chip)
        program = self.work / "link_model"
        objects = sorted(map(str, pathlib.Path(out).glob("model*.o")))
        command = [os.environ.get("CC", "cc"), "-Wall", "-Wextra", "-Werror", "-I", out, EXAMPLE, *objects, "-fopenmp", "-lm", "-o", program]
        built = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)
        data = DIGITS_DATA / "test_data_set_1"
        (self.work / "image.bin").write_bytes(raw(data / "input_0.pb"))
        ran = subprocess.run([program, out / "weights.bin", "image.bin", "scores.bin"], capture_output=True, text=True, cwd=self.work)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        scores = memoryview((self.work / "scores.bin").read_bytes()).cast("f").tolist()
        _, expected = wire.tensor_floats(data / "output_0.pb")
        self.assertEqual(len(scores), len(expected))
        for score, right in zip(scores, expected):
            self.assertLessEqual(abs(score - right), 1e-5 + 1e-3 * abs(right))

    def test_x86_64_v3(self):
        self.check("x86-64-v3")

    def test_x86_64_v4(self):
        self.check("x86-64-v4")


main()

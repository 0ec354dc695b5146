#!/usr/bin/env python3
"""Rows that data choose, of tables that no scratchpad holds: Gather and its kin against indexing in Python, in every way that runs them."""
import itertools
import json
import math
import random

from support import Case, floats, gather_model, main, wire


def points(shape):
    return itertools.product(*map(range, shape))


def offset(shape, at):
    flat = 0
    for extent, i in zip(shape, at):
        flat = flat * extent + i
    return flat


class Gather(Case):
    def check(self, model, index_shape, indices, shape, expected, chip, by_rows):
        data = self.work / "data"
        data.mkdir(exist_ok=True)
        (data / "input_0.pb").write_bytes(wire.tensor("i", index_shape, indices, wire.INT64))
        (data / "output_0.pb").write_bytes(wire.tensor("y", shape, expected))
        out = self.compile(model, f"out.{chip}", chip)
        exact = ["--test-data", data, "--rtol", 0, "--atol", 0]
        for dma in ("issue", "wait", "random"):
            self.ok("dlsim", out, "-q", *exact, "--dma", dma, "--report", self.work / "report.json")
        self.ok("dlrun", out, *exact)
        layers = json.loads((self.work / "report.json").read_text())["layers"]
        self.assertEqual(any("row by row" in layer["tile"] for layer in layers), by_rows, [layer["tile"] for layer in layers])

    def gather(self, table, index, axis, by_rows=True):
        count = math.prod(index)
        generator = random.Random(5)
        # From both ends, the ends themselves, and negative ones.
        indices = ([0, table[axis] - 1, -1, -table[axis]] + [generator.randrange(-table[axis], table[axis]) for _ in range(count)])[:count]
        values = floats(4, math.prod(table))
        shape = table[:axis] + index + table[axis + 1:]
        expected = []
        for at in points(shape):
            i = indices[offset(index, at[axis:axis + len(index)])] % table[axis]
            expected.append(values[offset(table, [*at[:axis], i, *at[axis + len(index):]])])
        model = self.model("g.onnx", *gather_model(table, index, axis))
        for chip in ("sw26010", "x86-64-v3"):
            with self.subTest(chip=chip):
                self.check(model, index, indices, shape, expected, chip, by_rows)

    def test_embedding(self):
        self.gather([20000, 24], [2, 9], 0)

    def test_more_rows_than_cores(self):
        self.gather([3000, 7], [131], 0)

    def test_row_larger_than_the_scratchpad(self):
        self.gather([9, 20011], [2], 0)

    def test_inner_axis(self):
        self.gather([3, 9000, 5], [4], 1)

    def test_last_axis(self):
        self.gather([11, 4000], [3], 1)

    def test_small_table_stays_on_chip(self):
        self.gather([8, 6], [50], 0, by_rows=False)

    def test_elements(self):
        table, shape = [30000, 3], [5, 3]
        indices = [29999, 0, -1, -30000, 7, 12345, 1, 2, 3, 4, 5, 6, -7, -8, -9]
        values = floats(4, math.prod(table))
        expected = [values[offset(table, [indices[offset(shape, at)] % table[0], at[1]])] for at in points(shape)]
        nodes = [wire.node("GatherElements", ["t", "i"], ["y"], axis=0)]
        model = self.model("e.onnx", nodes, [("i", shape, wire.INT64)], [("y", shape)], [wire.tensor("t", table, values)])
        for chip in ("sw26010", "x86-64-v3"):
            with self.subTest(chip=chip):
                self.check(model, shape, indices, shape, expected, chip, True)

    def test_what_reads_the_rows_is_another_group(self):
        table, index = [5000, 16], [6]
        values, bias = floats(4, math.prod(table)), floats(6, 16)
        nodes = [wire.node("Gather", ["t", "i"], ["g"], axis=0), wire.node("Add", ["g", "b"], ["y"])]
        indices = [4999, 3, -1, -5000, 17, 0]
        expected = [values[(indices[r] % 5000) * 16 + c] + bias[c] for r, c in points([6, 16])]
        weights = [wire.tensor("t", table, values), wire.tensor("b", [16], bias)]
        model = self.model("a.onnx", nodes, [("i", index, wire.INT64)], [("y", [6, 16])], weights)
        self.check(model, index, indices, [6, 16], expected, "sw26010", True)


main()

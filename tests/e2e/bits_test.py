#!/usr/bin/env python3
"""What was simulated is what ships: the emitted athread C under the shim gives the simulator's bits, and its DMAs are the simulator's, one by one."""
from support import Case, DIGITS, conv_model, gather_model, main, matmul_model, shared_model, wire

SPACES = {"arena", "weights"}


def shim_trace(path):
    """core -> [(direction, space, offset, block, blocks, stride)] in the core's order."""
    cores = {}
    for line in path.read_text().splitlines():
        core, _, direction, space, offset, _, block, blocks, stride = line.split()
        if space in SPACES:
            cores.setdefault(int(core), []).append((direction, space, int(offset), int(block), int(blocks), int(stride)))
    return cores


def simulator_trace(path):
    cores = {}
    for line in path.read_text().splitlines():
        core, direction, space, offset, block, blocks, stride = line.split()
        # One block has no stride.
        item = (direction, space, int(offset), int(block), int(blocks), int(stride) if int(blocks) > 1 else 0)
        cores.setdefault(int(core), []).append(item)
    return cores


class Bits(Case):
    def check(self, model):
        out = self.compile(model)
        bits = {}
        for dma in ("issue", "wait", "random"):
            trace = ["--dma-trace", self.work / "sim.txt"] if dma == "issue" else []
            self.ok("dlsim", out, "-q", "--random", 7, "--dma", dma, "--seed", 3, "--save", self.work / dma, *trace)
            bits[f"simulator, {dma}"] = self.saved(dma)
        for way in ("immediate", "delayed"):
            env = {"DLCC_SHIM_DMA": way, **({"DLCC_SHIM_TRACE": str(self.work / "shim.txt")} if way == "immediate" else {})}
            self.ok("dlrun", out, "--random", 7, "--save", self.work / way, env=env)
            bits[f"shim, {way}"] = self.saved(way)
        for way, value in bits.items():
            self.assertTrue(value == bits["simulator, issue"], f"{way} differs from the simulator")
        shim, simulator = shim_trace(self.work / "shim.txt"), simulator_trace(self.work / "sim.txt")
        self.assertGreater(sum(map(len, simulator.values())), 0)
        self.assertEqual(sorted(shim), sorted(simulator), "cores that transfer")
        for core, expected in simulator.items():
            self.assertEqual(shim[core], expected, f"core {core}")

    def saved(self, folder):
        return [path.read_bytes() for path in sorted((self.work / folder).glob("output_*.pb"))]

    def test_digits(self):
        self.check(DIGITS)

    def test_odd_matmul(self):
        self.check(self.model("m.onnx", *matmul_model(13, 17, 19)))

    def test_strided_grouped_conv(self):
        self.check(self.model("c.onnx", *conv_model([1, 8, 9, 11], [12, 4, 3, 3], group=2)))

    def test_rows_that_data_choose(self):
        self.check(self.model("g.onnx", *gather_model([500, 40], [37], 0)))

    def test_identities_of_integers(self):
        """Reductions in tiles start from the least or greatest integer; the inputs do not fit a scratchpad."""
        nodes = [wire.node("ArgMax", ["x"], ["a"], axis=1), wire.node("ReduceMin", ["i"], ["b"], axes=[1]), wire.node("ReduceMax", ["i"], ["c"], axes=[1])]
        inputs = [("x", [2, 17001]), ("i", [2, 9001], wire.INT64)]
        self.check(self.model("r.onnx", nodes, inputs, [(name, [2, 1], wire.INT64) for name in "abc"]))

    def test_mnist_cntk(self):
        self.check(shared_model("mnist_cntk"))

    def test_wakeword(self):
        self.check(shared_model("wakeword_alfred"))

    def test_tinyvit(self):
        self.check(shared_model("tinyvit_demo"))


main()

#!/usr/bin/env python3
"""Trains the digits CNN with numpy alone and writes digits.onnx, test_data/ and accuracy.json beside this file.

    bash toolchain/install.sh --python && build/venv/bin/python3 examples/digits/train.py

Data: the 1,797 8x8 images that scikit-learn ships; 360 are held out. The seed is fixed; the files in the repository came from one such run."""
import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).resolve().parent
BATCH, HELD_OUT, EPOCHS = 60, 360, 40


def columns(x):
    """[N,C,H,W] -> [N,H,W,C*9]: the 3x3 window around every pixel, zero outside."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


def scatter(g, shape):
    """The gradient of columns()."""
    n, c, h, w = shape
    g = g.reshape(n, h, w, c, 3, 3)
    padded = np.zeros((n, c, h + 2, w + 2), np.float32)
    for i in range(3):
        for j in range(3):
            padded[:, :, i:i + h, j:j + w] += g[..., i, j].transpose(0, 3, 1, 2)
    return padded[:, :, 1:-1, 1:-1]


class Conv:
    def __init__(self, rng, inputs, outputs):
        self.params = [(rng.standard_normal((outputs, inputs * 9)) * np.sqrt(2 / (inputs * 9))).astype(np.float32),
                       np.zeros(outputs, np.float32)]

    def forward(self, x):
        self.shape, self.cols = x.shape, columns(x)
        return np.ascontiguousarray((self.cols @ self.params[0].T + self.params[1]).transpose(0, 3, 1, 2))

    def backward(self, g):
        flat = g.transpose(0, 2, 3, 1).reshape(-1, g.shape[1])
        self.grads = [flat.T @ self.cols.reshape(len(flat), -1), flat.sum(0)]
        return scatter(flat @ self.params[0], self.shape)


class Relu:
    params = []

    def forward(self, x):
        self.on = x > 0
        return x * self.on

    def backward(self, g):
        return g * self.on


class MaxPool:
    params = []

    def forward(self, x):
        n, c, h, w = x.shape
        self.blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        self.top = self.blocks.max((3, 5), keepdims=True)
        return self.top[:, :, :, 0, :, 0]

    def backward(self, g):
        mask = self.blocks == self.top
        mask = mask / mask.sum((3, 5), keepdims=True)
        n, c, h, _, w, _ = self.blocks.shape
        return (mask * g[:, :, :, None, :, None]).reshape(n, c, 2 * h, 2 * w).astype(np.float32)


class Dense:
    def __init__(self, rng, inputs, outputs):
        self.params = [(rng.standard_normal((inputs, outputs)) * np.sqrt(1 / inputs)).astype(np.float32), np.zeros(outputs, np.float32)]

    def forward(self, x):
        self.shape, self.x = x.shape, x.reshape(len(x), -1)
        return self.x @ self.params[0] + self.params[1]

    def backward(self, g):
        self.grads = [self.x.T @ g, g.sum(0)]
        return (g @ self.params[0].T).reshape(self.shape)


def train(layers, images, labels, rng):
    """Adam on the cross entropy, with a falling rate."""
    owners = [(layer, k) for layer in layers for k in range(len(layer.params))]
    moments = [(np.zeros_like(layer.params[k]), np.zeros_like(layer.params[k])) for layer, k in owners]
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        for at in range(0, len(order) - 31, 32):
            batch = order[at:at + 32]
            x = images[batch]
            for layer in layers:
                x = layer.forward(x)
            p = np.exp(x - x.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(32), labels[batch]] -= 1
            g = (p / 32).astype(np.float32)
            for layer in reversed(layers):
                g = layer.backward(g)
            step += 1
            rate = 2e-3 * (1 - epoch / EPOCHS)
            for (layer, k), (m, v) in zip(owners, moments):
                m += 0.1 * (layer.grads[k] - m)
                v += 0.001 * (layer.grads[k] ** 2 - v)
                layer.params[k] -= (rate * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)).astype(np.float32)


def to_onnx(conv1, conv2, dense):
    def constant(name, array):
        return numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name)

    def conv(name, layer, x, y):
        w = layer.params[0]
        weights.extend([constant(f"{name}.weight", w.reshape(len(w), -1, 3, 3)), constant(f"{name}.bias", layer.params[1])])
        return helper.make_node("Conv", [x, f"{name}.weight", f"{name}.bias"], [y], name=name, kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    weights = []
    nodes = [
        conv("conv1", conv1, "image", "c1"),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("MaxPool", ["r1"], ["p1"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]),
        conv("conv2", conv2, "p1", "c2"),
        helper.make_node("Relu", ["c2"], ["r2"], name="relu2"),
        helper.make_node("Flatten", ["r2"], ["flat"], name="flatten", axis=1),
        helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["scores"], name="fc"),
    ]
    weights.extend([constant("fc.weight", dense.params[0]), constant("fc.bias", dense.params[1])])
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [BATCH, 1, 8, 8])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [BATCH, 10])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="examples/digits/train.py")
    onnx.checker.check_model(model)
    return model


def write_test_data(images, labels):
    """test_data/test_data_set_N in batches, and the accuracy of ONNX Runtime."""
    session = onnxruntime.InferenceSession(str(HERE / "digits.onnx"), providers=["CPUExecutionProvider"])
    correct = 0
    for k in range(HELD_OUT // BATCH):
        x, y = images[k * BATCH:(k + 1) * BATCH], labels[k * BATCH:(k + 1) * BATCH]
        scores, = session.run(None, {"image": x})
        correct += int((scores.argmax(1) == y).sum())
        folder = HERE / "test_data" / f"test_data_set_{k}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, file, array in (("image", "input_0.pb", x), ("scores", "output_0.pb", scores)):
            (folder / file).write_bytes(numpy_helper.from_array(np.ascontiguousarray(array), name).SerializeToString())
    facts = {"runtime": f"onnxruntime {onnxruntime.__version__}", "correct": correct, "accuracy": correct / HELD_OUT, "labels": labels.tolist()}
    (HERE / "accuracy.json").write_text(json.dumps(facts) + "\n")
    return correct


def main():
    digits = load_digits()
    rng = np.random.default_rng(8)
    order = rng.permutation(len(digits.images))
    images = (digits.images[order].astype(np.float32) / 16)[:, None]
    labels = digits.target[order]
    layers = [Conv(rng, 1, 16), Relu(), MaxPool(), Conv(rng, 16, 32), Relu(), Dense(rng, 512, 10)]
    train(layers, images[HELD_OUT:], labels[HELD_OUT:], rng)
    onnx.save(to_onnx(layers[0], layers[3], layers[5]), HERE / "digits.onnx")
    correct = write_test_data(images[:HELD_OUT], labels[:HELD_OUT])
    print(f"{correct} of {HELD_OUT} held-out images right, {100 * correct / HELD_OUT:.2f} %")


main()

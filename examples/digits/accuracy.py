#!/usr/bin/env python3
"""Accuracy of saved outputs of digits.onnx against the labels, and against the accuracy that ONNX Runtime got.

    accuracy.py FOLDER...      each holds test_data_set_N/output_0.pb, as dlsim --save and dlrun --save write them

Exit code 0: every folder has ONNX Runtime's accuracy. Needs nothing but Python."""
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def read_floats(path):
    """(shape, values) of a TensorProto with raw float data."""
    data, at = path.read_bytes(), 0
    shape, raw = [], b""
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            if key >> 3 == 1:
                shape.append(value)
        elif key & 7 == 2:
            size, at = varint(data, at)
            if key >> 3 == 1:
                end, packed = at + size, at
                while packed < end:
                    value, packed = varint(data, packed)
                    shape.append(value)
            elif key >> 3 == 9:
                raw = data[at:at + size]
            at += size
        else:
            sys.exit(f"{path}: not a tensor of raw floats")
    return shape, struct.unpack(f"<{len(raw) // 4}f", raw)


def predictions(folder):
    """The class of each image, data set by data set in order."""
    sets = sorted(folder.glob("test_data_set_*"), key=lambda p: int(p.name.rsplit("_", 1)[1]))
    for data_set in sets:
        (images, classes), scores = read_floats(data_set / "output_0.pb")
        for i in range(images):
            row = scores[i * classes:(i + 1) * classes]
            yield row.index(max(row))


def main():
    facts = json.loads((HERE / "accuracy.json").read_text())
    labels = facts["labels"]
    print(f"{'ONNX Runtime':<24} {facts['correct']} of {len(labels)} right, {100 * facts['accuracy']:.2f} %")
    same = True
    for folder in sys.argv[1:] or sys.exit(__doc__):
        found = list(predictions(pathlib.Path(folder)))
        if len(found) != len(labels):
            sys.exit(f"{folder}: {len(found)} images, {len(labels)} labels")
        right = sum(a == b for a, b in zip(found, labels))
        equal = right == facts["correct"]
        same &= equal
        print(f"{folder:<24} {right} of {len(labels)} right, {100 * right / len(labels):.2f} %{'' if equal else '  DIFFERS from ONNX Runtime'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

"""ONNX files without the onnx package: reads what the scripts of this folder need, writes small models and tensors for the tests.
Field numbers are those of onnx.proto."""
import mmap
import struct

FLOAT, INT64 = 1, 7
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


# ---- reading ----

def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data, at=0, end=None):
    """(number, wire type, value) of a message; a value of type BYTES is its (start, end)."""
    end = len(data) if end is None else end
    while at < end:
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
        elif wire == BYTES:
            size, at = read_varint(data, at)
            value, at = (at, at + size), at + size
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
            value, at = (at, at + size), at + size
        else:
            raise ValueError(f"wire type {wire}")
        yield number, wire, value


def of_kind(data, span, number):
    return [value for n, _, value in fields(data, *span) if n == number]


def text(data, span):
    return bytes(data[span[0]:span[1]]).decode()


def tensor_dims(data, span):
    dims = []
    for number, wire, value in fields(data, *span):
        if number == 1 and wire == VARINT:
            dims.append(value)
        elif number == 1:
            at = value[0]
            while at < value[1]:
                dim, at = read_varint(data, at)
                dims.append(dim)
    return dims


def tensor_shape(path):
    """The dims of a TensorProto file; they stand before the payload, which is not read."""
    with open(path, "rb") as file:
        data = file.read(65536)
    return tensor_dims(data, (0, len(data)))


def model_inputs(path):
    """[(name, [dim or symbol, ...])] of the graph's inputs that are not initializers."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        graph = of_kind(data, (0, len(data)), 7)[-1]
        weights, inputs = set(), []
        for number, _, value in fields(data, *graph):
            if number == 5:
                weights.update(text(data, name) for name in of_kind(data, value, 8))
            elif number == 11:
                inputs.append(value)
        out = []
        for info in inputs:
            name = text(data, of_kind(data, info, 1)[0])
            if name in weights:
                continue
            dims = []
            for kind in of_kind(data, info, 2):
                for tensor in of_kind(data, kind, 1):
                    for shape in of_kind(data, tensor, 2):
                        for dim in of_kind(data, shape, 1):
                            symbols = of_kind(data, dim, 2)
                            values = of_kind(data, dim, 1)
                            dims.append(text(data, symbols[0]) if symbols else values[0] if values else None)
            out.append((name, dims))
        return out


def symbols_of(model, data_set):
    """{symbol: value}: the model's symbolic input dims as the data set's inputs have them."""
    out = {}
    for k, (_, dims) in enumerate(model_inputs(model)):
        shape = tensor_shape(data_set / f"input_{k}.pb")
        for dim, size in zip(dims, shape):
            if isinstance(dim, str) and dim:
                out[dim] = size
    return out


def tensor_floats(path):
    """(dims, values) of a TensorProto file of raw floats."""
    with open(path, "rb") as file:
        data = file.read()
    raw = of_kind(data, (0, len(data)), 9)[0]
    return tensor_dims(data, (0, len(data))), list(struct.unpack(f"<{(raw[1] - raw[0]) // 4}f", data[raw[0]:raw[1]]))


# ---- writing ----

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def number_field(number, value):
    return varint(number << 3) + varint(value)


def bytes_field(number, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def tensor(name, dims, values, kind=FLOAT):
    out = b"".join(number_field(1, d) for d in dims) + number_field(2, kind) + bytes_field(8, name)
    return out + bytes_field(9, struct.pack(f"<{len(values)}{'f' if kind == FLOAT else 'q'}", *values))


def external_tensor(name, dims, location, offset=0):
    entries = [("location", location), ("offset", str(offset))]
    out = b"".join(number_field(1, d) for d in dims) + number_field(2, FLOAT) + bytes_field(8, name)
    return out + b"".join(bytes_field(13, bytes_field(1, k) + bytes_field(2, v)) for k, v in entries) + number_field(14, 1)


def attribute(name, value):
    if isinstance(value, int):
        return bytes_field(1, name) + number_field(3, value) + number_field(20, 2)
    return bytes_field(1, name) + b"".join(number_field(8, v) for v in value) + number_field(20, 7)


def node(op, inputs, outputs, name="", domain="", **attributes):
    out = b"".join(bytes_field(1, i) for i in inputs) + b"".join(bytes_field(2, o) for o in outputs)
    out += bytes_field(3, name or f"{op}_node") + bytes_field(4, op)
    out += b"".join(bytes_field(5, attribute(k, v)) for k, v in attributes.items())
    return out + (bytes_field(7, domain) if domain else b"")


def value_info(name, dims, kind=FLOAT):
    shape = b"".join(bytes_field(1, bytes_field(2, d) if isinstance(d, str) else number_field(1, d)) for d in dims)
    return bytes_field(1, name) + bytes_field(2, bytes_field(1, number_field(1, kind) + bytes_field(2, shape)))


def model(nodes, inputs, outputs, weights=(), opset=17, domains=()):
    """Bytes of a ModelProto; inputs and outputs are (name, dims), weights are tensor()s."""
    graph = b"".join(bytes_field(1, n) for n in nodes) + bytes_field(2, "graph") + b"".join(bytes_field(5, w) for w in weights)
    graph += b"".join(bytes_field(11, value_info(*i)) for i in inputs) + b"".join(bytes_field(12, value_info(*o)) for o in outputs)
    imports = [bytes_field(1, "") + number_field(2, opset)] + [bytes_field(1, domain) + number_field(2, 1) for domain in domains]
    return number_field(1, 8) + bytes_field(7, graph) + b"".join(bytes_field(8, i) for i in imports)

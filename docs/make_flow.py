#!/usr/bin/env python3
"""Writes docs/flow.svg, the picture of the README: from a model and a chip file to checked code. Run it after editing the boxes below."""
import html
import pathlib

# name: (x, y, width, title, lines, colour)
BOXES = {
    "onnx": (20, 40, 150, "model.onnx", ["weights, test data"], "#fde9c9"),
    "yaml": (20, 250, 150, "chip.yaml", ["memories, engines,", "operations, intrinsics"], "#fde9c9"),
    "frontend": (210, 40, 150, "frontend", ["Graph: shapes, folding,", "operators as statements"], "#dceafb"),
    "hw": (210, 250, 150, "hw", ["Machine: strictly read,", "every number sourced"], "#dceafb"),
    "lowering": (395, 145, 185, "lowering", ["fusion, tile plans, buffers,", "DMA, channels, kernels"], "#dceafb"),
    "program": (615, 145, 140, "Program", ["tiles, transfers,", "waits: one text form"], "#e6f4e1"),
    "sunway": (790, 20, 160, "athread C", ["sw26010 and the like"], "#e6f4e1"),
    "x86": (790, 115, 160, "LLVM objects", ["x86-64, OpenMP"], "#e6f4e1"),
    "sim": (790, 250, 160, "simulator", ["values, cycles, races", "report.json, timeline"], "#dceafb"),
    "check": (1000, 115, 150, "checked", ["same values every way;", "same bits, same DMAs"], "#f6dcec"),
}
ARROWS = [("onnx", "frontend", ""), ("yaml", "hw", ""), ("frontend", "lowering", ""), ("hw", "lowering", ""), ("lowering", "program", ""),
          ("program", "sunway", ""), ("program", "x86", ""), ("program", "sim", ""), ("hw", "sim", ""), ("sunway", "check", "shim"),
          ("x86", "check", "native"), ("sim", "check", "")]
HEIGHT = 62


def box(x, y, width, title, lines, colour):
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="7" fill="{colour}" stroke="#55606e"/>',
             f'<text x="{x + width / 2}" y="{y + 20}" class="title">{html.escape(title)}</text>']
    parts += [f'<text x="{x + width / 2}" y="{y + 37 + 15 * k}" class="line">{html.escape(line)}</text>' for k, line in enumerate(lines)]
    return parts


def arrow(start, end, label):
    x1, y1, width = BOXES[start][:3]
    x2, y2 = BOXES[end][:2]
    ax, ay, bx, by = x1 + width, y1 + HEIGHT / 2, x2 - 3, y2 + HEIGHT / 2
    middle = (ax + bx) / 2
    parts = [f'<path d="M{ax} {ay} C{middle} {ay} {middle} {by} {bx} {by}" class="arrow" marker-end="url(#head)"/>']
    if label:
        parts.append(f'<text x="{middle}" y="{(ay + by) / 2 - 6}" class="line">{label}</text>')
    return parts


def main():
    body = []
    for start, end, label in ARROWS:
        body += arrow(start, end, label)
    for values in BOXES.values():
        body += box(*values)
    svg = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1170 340" font-family="sans-serif">',
           "<style>.title{font-size:15px;font-weight:bold;text-anchor:middle}.line{font-size:11.5px;text-anchor:middle;fill:#333}"
           ".arrow{fill:none;stroke:#55606e;stroke-width:1.5}</style>",
           '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0L8 4L0 8z" fill="#55606e"/></marker></defs>',
           '<rect width="1170" height="340" fill="#ffffff"/>', *body, "</svg>"]
    (pathlib.Path(__file__).resolve().parent / "flow.svg").write_text("\n".join(svg) + "\n")


main()

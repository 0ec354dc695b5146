#!/usr/bin/env python3
"""The include rules of docs/design.md: folders include one way only, and each outside library has its place. Exit code 1 lists violations."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAY_INCLUDE = {
    "base": set(),
    "hw": {"base"},
    "frontend": {"base"},
    "lowering": {"base", "hw", "frontend"},
    "targets": {"base", "hw", "lowering"},
    "sim": {"base", "hw"},
    "toolchain": {"base", "hw", "frontend", "lowering", "targets", "sim"},
}
# Header prefix -> where it may be included.
OUTSIDE = {
    r"llvm(-c)?/": r"targets/x86/",
    r"isl/": r"lowering/oracle/",
    r"(google/protobuf|onnx)/": r"frontend/[^.]*\.cpp$",
    r"yaml-cpp/": r"hw/[^.]*\.(cpp|h)$",
    r"CLI/": r"toolchain/",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def violations():
    for folder, allowed in MAY_INCLUDE.items():
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            # The shim is C of its own, compiled on the user's side.
            if path.suffix not in (".cpp", ".h") or "/shim/" in name or "/runtime/" in name:
                continue
            for header in INCLUDE.findall(path.read_text()):
                top = header.split("/")[0]
                if top in MAY_INCLUDE and top != folder and top not in allowed:
                    yield f"{name}: includes {header}; {folder} may include {', '.join(sorted(allowed)) or 'nothing'}"
                for prefix, place in OUTSIDE.items():
                    if re.match(prefix, header) and not re.match(place, name):
                        yield f"{name}: includes {header}, which belongs into {place}"
                if top in MAY_INCLUDE and not (ROOT / header).exists():
                    yield f"{name}: no file {header}"


def main():
    found = list(violations())
    print("\n".join(found) or "include rules hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

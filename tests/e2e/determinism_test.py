#!/usr/bin/env python3
"""Same input, same bytes: artifacts of repeated compilations under address randomisation, and reports of every way to simulate."""
import hashlib
import pathlib

from support import Case, DIGITS, DIGITS_DATA, main, run, shared_model


def fingerprint(folder):
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Determinism(Case):
    def test_address_randomisation_is_on(self):
        self.assertNotEqual(pathlib.Path("/proc/sys/kernel/randomize_va_space").read_text().strip(), "0")

    def same(self, model, chip, times):
        prints = set()
        for _ in range(times):
            prints.add(fingerprint(self.compile(model, "out", chip)))
        self.assertEqual(len(prints), 1)

    def test_sw26010_20_times(self):
        self.same(DIGITS, "sw26010", 20)

    def test_x86_20_times(self):
        self.same(DIGITS, "x86-64-v4", 20)

    def test_larger_models(self):
        for name in ("ultraface_rfb320", "tinyvit_demo"):
            with self.subTest(model=name):
                self.same(shared_model(name), "sw26010", 3)

    def test_reports(self):
        out = self.compile(DIGITS)
        reports = set()
        for k, flags in enumerate((["--threads", 1], ["--threads", 2], ["--threads", 1, "--trace", self.work / "t1"],
                                   ["--threads", 2, "--trace", self.work / "t2"], ["--mode", "time"])):
            report = self.work / f"report_{k}.json"
            data = [] if "time" in flags else ["--test-data", DIGITS_DATA / "test_data_set_0"]
            self.ok("dlsim", out, "-q", *data, "--report", report, *flags)
            reports.add(report.read_bytes())
        self.assertEqual(len(reports), 1)
        self.assertEqual((self.work / "t1").read_bytes(), (self.work / "t2").read_bytes())
        self.assertEqual(reports.pop(), (out / "report.json").read_bytes(), "dlcc's own report")

    def test_outputs_do_not_depend_on_threads(self):
        out = self.compile(DIGITS)
        saved = []
        for threads in (1, 2):
            self.ok("dlsim", out, "-q", "--random", 5, "--threads", threads, "--save", self.work / str(threads))
            saved.append((self.work / str(threads) / "output_0.pb").read_bytes())
        self.assertEqual(saved[0], saved[1])


main()

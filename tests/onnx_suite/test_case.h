// One ONNX test folder (model.onnx, test_data_set_*/input_N.pb, output_N.pb) -> verdict: import, bind, infer, rewrite, define, evaluate, compare.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dlcc::suite {

enum class Verdict { Pass, Unsupported, Fail };

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

struct Outcome {
  Verdict verdict = Verdict::Pass;
  std::string op;        // the operator of a one-node model, else "(graph)"
  std::string reason;    // of anything but Pass
};

/// bind_shapes: graph inputs that an operator needs at compile time (shapes, axes, pads; the list is in test_case.cpp) are taken from the
/// first data set as constants. Everything else is a run-time input.
Outcome run_case(const std::filesystem::path& folder, const Tolerance& tolerance, bool bind_shapes);

}  // namespace dlcc::suite

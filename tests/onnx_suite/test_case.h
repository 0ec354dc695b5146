// One ONNX test folder (model.onnx, test_data_set_*/input_N.pb, output_N.pb) -> verdict: import, bind, infer, rewrite,
// define, evaluate, compare.
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
  std::string op;      // the operator of a one-node model, else "(graph)"
  std::string reason;  // of anything but Pass
};

/// official: the folder is a test of the ONNX suite. Then graph inputs that an operator needs at compile time (shapes,
/// axes, pads; the list is in test_case.cpp) are taken from the data as constants, everything else being a run-time
/// input; and opset 6 is read as 7, 23 and later as
/// 22. Otherwise the model is imported as it is.
Outcome run_case(const std::filesystem::path& folder, const Tolerance& tolerance, bool official);

}  // namespace dlcc::suite

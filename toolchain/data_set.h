// Inputs and expected outputs for dlsim and dlrun, from the command line's forms, and their comparison.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/program.h"
#include "base/te/evaluate.h"

namespace dlcc::toolchain {

struct DataOptions {
  std::string test_data;             // a folder with input_N.pb, or one with test_data_set_* folders
  std::string input, expect;         // .npz
  std::optional<uint64_t> random;    // seed
  std::optional<double> rtol, atol;  // unset until complete_tolerance()
};

struct DataSet {
  std::string name;
  std::vector<te::Array> inputs;
  std::vector<std::optional<te::Array>> expected;   // one per output, or empty
};

/// Shapes and types are checked against the program: an error that names the input, both shapes, and --dim where a symbol may be the cause.
Result<std::vector<DataSet>> load_data(const DataOptions& options, const hw::Program& program);

/// Sets what the command line left unset: from tolerance.json {"rtol": .., "atol": ..} in the test data's folder or its parent, else 1e-3 and 1e-5.
Status complete_tolerance(DataOptions& options);

struct Comparison {
  bool equal = true;
  double worst = 0;                  // largest |difference| / (atol + rtol |expected|)
  std::string message;               // of the first difference
};
/// NaN equals NaN; infinities equal themselves. Integers and bool compare exactly.
Comparison compare(const te::Array& actual, const te::Array& expected, double rtol, double atol, const std::string& name);

/// Writes output_N.pb into the folder.
Status save_outputs(const std::filesystem::path& folder, const hw::Program& program, const std::vector<te::Array>& outputs);

}  // namespace dlcc::toolchain

// The --test-data / --input / --random / --rtol / --atol flags, the same for dlsim and dlrun.
#pragma once

#include <CLI/CLI.hpp>

#include "toolchain/data_set.h"

namespace dlcc::toolchain {

inline void add_data_flags(CLI::App& app, DataOptions& data) {
  app.add_option("--test-data", data.test_data, "folder with input_N.pb and output_N.pb, or with test_data_set_* folders");
  app.add_option("--input", data.input, "inputs as .npz, arrays named like the model's inputs");
  app.add_option("--expect", data.expect, "expected outputs as .npz");
  app.add_option("--random", data.random, "random inputs from this seed");
  app.add_option("--rtol", data.rtol, "relative tolerance (default 1e-3)")->each([&](const std::string&) { data.tolerance_given = true; });
  app.add_option("--atol", data.atol, "absolute tolerance (default 1e-5)")->each([&](const std::string&) { data.tolerance_given = true; });
}

}  // namespace dlcc::toolchain

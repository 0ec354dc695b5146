#include "toolchain/data_set.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "toolchain/npz.h"

namespace dlcc::toolchain {

namespace fs = std::filesystem;

namespace {

const hw::GlobalTensor& tensor_of(const hw::Program& program, int id) { return program.tensors[static_cast<size_t>(id)]; }

Status check_type(const te::Array& array, const hw::GlobalTensor& tensor, const std::string& where) {
  if (array.type == tensor.type && array.shape == tensor.shape) {
    return ok_status();
  }
  return error(where, fmt::format("'{}' is {}[{}], the model was compiled for {}[{}] (dlcc --dim NAME=N sets a symbolic dimension)", tensor.name,
                                  name_of(array.type), fmt::join(array.shape, ","), name_of(tensor.type), fmt::join(tensor.shape, ",")));
}

Result<DataSet> load_set(const fs::path& folder, const hw::Program& program) {
  DataSet set;
  set.name = folder.string();
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const fs::path path = folder / fmt::format("input_{}.pb", i);
    DLCC_TRY(NamedArray tensor, frontend::read_tensor_file(path));
    DLCC_RETURN_IF_ERROR(check_type(tensor.value, tensor_of(program, program.inputs[i]), path.string()));
    set.inputs.push_back(std::move(tensor.value));
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const fs::path path = folder / fmt::format("output_{}.pb", i);
    set.expected.emplace_back();
    if (fs::exists(path)) {
      DLCC_TRY(NamedArray tensor, frontend::read_tensor_file(path));
      DLCC_RETURN_IF_ERROR(check_type(tensor.value, tensor_of(program, program.outputs[i]), path.string()));
      set.expected.back() = std::move(tensor.value);
    }
  }
  return set;
}

Result<std::vector<fs::path>> set_folders(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    return error(folder.string(), "no such folder of test data");
  }
  if (fs::exists(folder / "input_0.pb")) {
    return std::vector<fs::path>{folder};
  }
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_")) {
      sets.push_back(entry.path());
    }
  }
  std::sort(sets.begin(), sets.end());
  if (sets.empty()) {
    return error(folder.string(), "holds neither input_0.pb nor test_data_set_* folders");
  }
  return sets;
}

/// The array of that name, or the only one / the one at that position when names do not match.
Result<te::Array> pick(std::vector<NamedArray>& arrays, const std::string& name, size_t position, size_t count, const std::string& where) {
  for (NamedArray& array : arrays) {
    if (array.name == name) {
      return std::move(array.value);
    }
  }
  if (arrays.size() == count && arrays[position].name == fmt::format("arr_{}", position)) {
    return std::move(arrays[position].value);
  }
  return error(where, fmt::format("has no array '{}'", name));
}

Result<DataSet> load_npz(const DataOptions& options, const hw::Program& program) {
  DataSet set;
  set.name = options.input;
  DLCC_TRY(std::vector<NamedArray> inputs, read_npz(options.input));
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const hw::GlobalTensor& tensor = tensor_of(program, program.inputs[i]);
    DLCC_TRY(te::Array array, pick(inputs, tensor.name, i, program.inputs.size(), options.input));
    DLCC_RETURN_IF_ERROR(check_type(array, tensor, options.input));
    set.inputs.push_back(std::move(array));
  }
  set.expected.resize(program.outputs.size());
  if (!options.expect.empty()) {
    DLCC_TRY(std::vector<NamedArray> outputs, read_npz(options.expect));
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      const hw::GlobalTensor& tensor = tensor_of(program, program.outputs[i]);
      DLCC_TRY(te::Array array, pick(outputs, tensor.name, i, program.outputs.size(), options.expect));
      DLCC_RETURN_IF_ERROR(check_type(array, tensor, options.expect));
      set.expected[i] = std::move(array);
    }
  }
  return set;
}

DataSet random_set(uint64_t seed, const hw::Program& program) {
  DataSet set;
  set.name = fmt::format("random {}", seed);
  std::mt19937_64 generator(seed);
  for (int id : program.inputs) {
    const hw::GlobalTensor& tensor = tensor_of(program, id);
    te::Array array = te::Array::zeros(tensor.type, tensor.shape);
    for (int64_t i = 0; i < array.count(); ++i) {
      const uint64_t bits = generator();
      te::Value value;
      value.f = static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;   // [-1, 1)
      value.i = static_cast<int64_t>(bits % (tensor.type == DType::Bool ? 2 : 8));
      te::store_element(tensor.type, array.data.data(), i, value);
    }
    set.inputs.push_back(std::move(array));
  }
  set.expected.resize(program.outputs.size());
  return set;
}

}  // namespace

Result<std::vector<DataSet>> load_data(const DataOptions& options, const hw::Program& program) {
  const int forms = (options.test_data.empty() ? 0 : 1) + (options.input.empty() ? 0 : 1) + (options.random ? 1 : 0);
  if (forms != 1) {
    return error("command line", "give exactly one of --test-data, --input and --random");
  }
  std::vector<DataSet> sets;
  if (!options.test_data.empty()) {
    DLCC_TRY(const std::vector<fs::path> folders, set_folders(options.test_data));
    for (const fs::path& folder : folders) {
      DLCC_TRY(DataSet set, load_set(folder, program));
      sets.push_back(std::move(set));
    }
  } else if (!options.input.empty()) {
    DLCC_TRY(DataSet set, load_npz(options, program));
    sets.push_back(std::move(set));
  } else {
    sets.push_back(random_set(*options.random, program));
  }
  return sets;
}

namespace {
/// The JSON object of a tolerance.json beside the test data; null when there is none.
Result<nlohmann::json> stored_tolerance(const std::string& test_data) {
  if (test_data.empty()) {
    return nlohmann::json();
  }
  for (const fs::path& folder : {fs::path(test_data), fs::path(test_data).parent_path()}) {
    const fs::path path = folder / "tolerance.json";
    if (!fs::exists(path)) {
      continue;
    }
    DLCC_TRY(const std::string text, read_text_file(path));
    nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || !json.value("rtol", nlohmann::json(0.0)).is_number() || !json.value("atol", nlohmann::json(0.0)).is_number()) {
      return error(path.string(), "not an object with numbers rtol and atol");
    }
    return json;
  }
  return nlohmann::json();
}
}  // namespace

Status complete_tolerance(DataOptions& options) {
  DLCC_TRY(const nlohmann::json stored, stored_tolerance(options.test_data));
  const auto complete = [&stored](std::optional<double>& value, const char* key, double otherwise) {
    if (!value) {
      value = stored.is_object() ? stored.value(key, otherwise) : otherwise;
    }
  };
  complete(options.rtol, "rtol", 1e-3);
  complete(options.atol, "atol", 1e-5);
  return ok_status();
}

Comparison compare(const te::Array& actual, const te::Array& expected, double rtol, double atol, const std::string& name) {
  Comparison result;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const te::Value a = te::load_element(actual.type, actual.data.data(), i);
    const te::Value e = te::load_element(expected.type, expected.data.data(), i);
    double units = 0;
    if (!is_float(expected.type)) {
      units = a.i == e.i ? 0 : INFINITY;
    } else if (a.f == e.f || (std::isnan(a.f) && std::isnan(e.f))) {
      units = 0;
    } else {
      const double distance = std::fabs(a.f - e.f);
      units = std::isfinite(distance) ? distance / (atol + rtol * std::fabs(e.f)) : INFINITY;
    }
    result.worst = std::max(result.worst, units);
    if (units > 1 && result.equal) {
      result.equal = false;
      result.message = is_float(expected.type) ? fmt::format("{}: element {} is {:.9g}, expected {:.9g}", name, i, a.f, e.f)
                                               : fmt::format("{}: element {} is {}, expected {}", name, i, a.i, e.i);
    }
  }
  return result;
}

Status save_outputs(const fs::path& folder, const hw::Program& program, const std::vector<te::Array>& outputs) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    return error(folder.string(), "cannot create: " + failed.message());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = tensor_of(program, program.outputs[i]).name;
    DLCC_RETURN_IF_ERROR(frontend::write_tensor_file(folder / fmt::format("output_{}.pb", i), {name, outputs[i]}));
  }
  return ok_status();
}

}  // namespace dlcc::toolchain

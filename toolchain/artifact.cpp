#include "toolchain/artifact.h"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hw/machine_yaml.h"

namespace dlcc::toolchain {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kFormatVersion = 1;
constexpr const char* kFormat = "dlcc-artifact";

Json describe_tensors(const hw::Program& program, const std::vector<int>& ids) {
  Json list = Json::array();
  for (int id : ids) {
    const hw::GlobalTensor& tensor = program.tensors[static_cast<size_t>(id)];
    list.push_back({{"name", tensor.name}, {"type", std::string(name_of(tensor.type))}, {"shape", tensor.shape}});
  }
  return list;
}

std::string manifest(const hw::Program& program, const hw::Machine& machine, const targets::Emitted& emitted) {
  Json json;
  json["format"] = kFormat;
  json["version"] = kFormatVersion;
  json["model"] = program.model;
  json["chip"] = machine.name;
  json["inputs"] = describe_tensors(program, program.inputs);
  json["outputs"] = describe_tensors(program, program.outputs);
  json["arena_bytes"] = program.arena_bytes;
  json["weights_bytes"] = program.weights_bytes;
  json["build"] = emitted.build.commands;
  return json.dump(2) + "\n";
}

/// Blob by blob, so that models of any size need no second copy in memory.
Status write_weights(const std::filesystem::path& path, const lowering::Compiled& compiled) {
  std::ofstream out(path, std::ios::binary);
  int64_t at = 0;
  const auto pad_to = [&](int64_t offset) {
    for (; at < offset; ++at) {
      out.put(0);
    }
  };
  for (const lowering::WeightBlob& blob : compiled.weights) {
    pad_to(blob.offset);
    out.write(static_cast<const char*>(blob.data), blob.bytes);
    at += blob.bytes;
  }
  pad_to(compiled.program.weights_bytes);
  out.close();
  return out ? ok_status() : Status(error(path.string(), "cannot write"));
}

Result<Json> read_manifest(const std::filesystem::path& path) {
  DLCC_TRY(const std::string text, read_text_file(path / "manifest.json"));
  const Json json = Json::parse(text, nullptr, false);
  const std::string where = (path / "manifest.json").string();
  if (!json.is_object() || json.value("format", "") != kFormat) {
    return error(where, "not a dlcc artifact");
  }
  if (!json.contains("version") || !json["version"].is_number_integer() || json["version"].get<int>() != kFormatVersion) {
    return error(where, fmt::format("artifact version {}, this build reads {}", json.value("version", Json()).dump(), kFormatVersion));
  }
  return json;
}

}  // namespace

Status write_artifact(const std::filesystem::path& path, const lowering::Compiled& compiled, const hw::Machine& machine,
                      const targets::Emitted& emitted, const std::string& report) {
  DLCC_TRY(OutputDirectory directory, OutputDirectory::create(path));
  for (const auto& [name, content] : emitted.files) {
    DLCC_RETURN_IF_ERROR(directory.write(name, content));
  }
  DLCC_RETURN_IF_ERROR(directory.write("program.txt", hw::print(compiled.program, machine)));
  DLCC_RETURN_IF_ERROR(directory.write("chip.yaml", machine.yaml_text));
  DLCC_RETURN_IF_ERROR(directory.write("report.json", report));
  DLCC_RETURN_IF_ERROR(write_weights(directory.path() / "weights.bin", compiled));
  DLCC_RETURN_IF_ERROR(directory.write("manifest.json", manifest(compiled.program, machine, emitted)));
  return directory.commit();
}

Result<Artifact> read_artifact(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return error(path.string(), "not a directory; dlcc writes one with -o");
  }
  DLCC_TRY(const Json json, read_manifest(path));
  Artifact artifact;
  artifact.path = path;
  DLCC_TRY(artifact.machine, hw::load_machine((path / "chip.yaml").string()));
  DLCC_TRY(const std::string text, read_text_file(path / "program.txt", size_t{1} << 32));
  DLCC_TRY(artifact.program, hw::parse_program(text, artifact.machine, (path / "program.txt").string()));
  if (artifact.program.weights_bytes > 0) {
    DLCC_TRY(artifact.weights_file, MappedFile::open(path / "weights.bin"));
    if (artifact.weights_file->bytes().size() != static_cast<size_t>(artifact.program.weights_bytes)) {
      return error((path / "weights.bin").string(), fmt::format("{} bytes, program.txt expects {}", artifact.weights_file->bytes().size(),
                                                                artifact.program.weights_bytes));
    }
  }
  for (const Json& command : json.value("build", Json::array())) {
    artifact.build_commands.push_back(command.is_string() ? command.get<std::string>() : "");
  }
  return artifact;
}

}  // namespace dlcc::toolchain

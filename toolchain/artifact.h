// The artifact: a directory model.<chip>/ with everything that runs, checks or builds a compiled model.
//
//   manifest.json   what this is (format version), inputs and outputs, how to build
//   program.txt     the tile-level program        chip.yaml   the chip file it was compiled for
//   weights.bin     constants, by the offsets in program.txt
//   report.json     the per-layer report           model.h, ...  the emitter's files
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "hw/machine.h"
#include "hw/program.h"
#include "lowering/lower.h"
#include "targets/target.h"

namespace dlcc::toolchain {

struct Artifact {
  std::filesystem::path path;
  hw::Machine machine;
  hw::Program program;
  std::shared_ptr<const MappedFile> weights_file;   // null: no weights
  std::vector<std::string> build_commands;
  std::span<const std::byte> weights() const { return weights_file ? weights_file->bytes() : std::span<const std::byte>(); }
};

/// Writes the directory, complete or not at all. report: the text of report.json.
Status write_artifact(const std::filesystem::path& path, const lowering::Compiled& compiled, const hw::Machine& machine,
                      const targets::Emitted& emitted, const std::string& report);

/// Reads it back; a missing or damaged part is an error that names it.
Result<Artifact> read_artifact(const std::filesystem::path& path);

}  // namespace dlcc::toolchain

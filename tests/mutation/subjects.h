// What is mutated: small modules in text, and ONNX models from the shared folder.
#pragma once

#include <string>
#include <vector>

#include "frontend/graph.h"
#include "frontend/ops.h"

namespace dlcc::mutation {

struct Subject {
  std::string name;
  frontend::Graph graph;            // keeps the constants of an ONNX model alive
  frontend::Definition definition;  // and the module
};

/// The modules written in this folder, then those of `models` that the shared folder has. Errors are ours: a module
/// that does not parse.
Result<std::vector<Subject>> subjects(const std::string& shared, const std::vector<std::string>& models);

}  // namespace dlcc::mutation

// Graph: an ONNX model after import. Vectors of nodes and values with typed indices; dims may be symbolic until bind_dims.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/files.h"
#include "base/result.h"
#include "base/te/evaluate.h"

namespace dlcc::frontend {

using ValueId = int;
using NodeId = int;
constexpr ValueId kAbsent = -1;      // an optional input or output left out
constexpr int64_t kMaxElements = int64_t{1} << 33;   // of one tensor; more is an error, so that no byte count can overflow
constexpr size_t kMaxRank = 32;
constexpr int kMinOpset = 7, kMaxOpset = 22;         // of ai.onnx

/// A dimension: a number, or a symbol ("batch") that bind_dims replaces. An unnamed unknown dim gets a symbol of its own ("input.0").
struct Dim {
  int64_t value = -1;
  std::string symbol;                // non-empty: value is meaningless
  bool is_symbolic() const { return !symbol.empty(); }
};

/// Elements of a constant: either owned, or a span into a mapped file that `keep_alive` holds.
struct ConstantData {
  std::shared_ptr<const void> keep_alive;
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

struct Value {
  std::string name;
  DType type = DType::F32;
  std::vector<Dim> shape;
  bool shape_known = false;          // type and rank are valid
  std::optional<ConstantData> constant;
};

struct Graph;
/// One attribute, in ONNX's own kinds.
using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                               std::shared_ptr<const te::Array>, std::shared_ptr<const Graph>>;

struct Node {
  std::string name;                  // the model's, or made from the op and first output
  std::string domain;                // "" for ai.onnx
  std::string op;
  int version = 0;                   // opset of the domain as imported by the model
  std::vector<ValueId> inputs, outputs;   // kAbsent for left-out ones
  std::map<std::string, Attribute> attributes;
};

/// In a subgraph (the body of an If), a value that is neither an input, nor constant, nor any node's output is captured: it is the
/// enclosing graph's value of that name.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;           // topological order
  std::vector<ValueId> inputs;       // without initializers
  std::vector<ValueId> outputs;
};

/// Reads an ONNX file: IR 3+, opset 7..22 of ai.onnx, external data mapped (inside the model's folder only), topologically sorted (a cycle is an
/// error), initializers and Constant attributes as constants. Nodes' operators are not looked at yet.
Result<Graph> import_onnx(const std::string& path);
/// The same from memory; `where` names it in messages. Without a `folder`, external data is refused.
Result<Graph> import_onnx_bytes(std::span<const std::byte> bytes, const std::string& where, const std::filesystem::path& folder = {});

/// At most kMaxRank dims in 0..kMaxElements, with at most kMaxElements elements (zeros counted as ones), else an error that starts with `what` ("value 'x'").
Status check_shape(const std::vector<int64_t>& shape, const std::string& where, const std::string& what);
/// Numbers of a shape without symbols (checked).
std::vector<int64_t> concrete_shape(const Value& value);

/// Symbols of the graph's inputs, in order of appearance.
std::vector<std::string> symbols_of(const Graph& graph);
/// Replaces symbols by numbers; an unknown symbol in `bindings` is an error with "did you mean"; symbols without a binding become 1, and are
/// returned in `defaulted`.
Status bind_dims(Graph& graph, const std::map<std::string, int64_t>& bindings, std::vector<std::string>* defaulted);

/// Text form of --emit=graph.
std::string print(const Graph& graph);

}  // namespace dlcc::frontend

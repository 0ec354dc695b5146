// The only file that knows yaml-cpp: parser events in, TreeNode out.
#include "hw/machine_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

namespace dlcc::hw {
namespace {

Position position_of(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

std::string where_text(const std::string& file, Position at) {
  return fmt::format("{}:{}:{}", file, at.line, at.column);
}

/// Leaves the parser; caught in parse_yaml_tree.
struct Refusal {
  Position at;
  std::string message;
};

/// Builds the tree from events. A node under construction lies in a stack frame until its end event.
class TreeBuilder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (done_) {
      throw Refusal{position_of(mark), "a chip file holds one YAML document, this is a second one"};
    }
  }
  void OnDocumentEnd() override { done_ = true; }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(TreeNode{TreeNode::Kind::Null, position_of(mark), {}, {}, {}});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal{position_of(mark), "YAML aliases are not accepted, write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    refuse_anchor(mark, anchor);
    add(TreeNode{TreeNode::Kind::Scalar, position_of(mark), value, {}, {}});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(TreeNode::Kind::List, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(TreeNode::Kind::Map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

  TreeNode take() { return std::move(root_); }

 private:
  struct Frame {
    TreeNode node;
    bool has_key = false;
    std::string key;
    Position key_at;
  };

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) {
      throw Refusal{position_of(mark), "YAML anchors are not accepted, write the value out"};
    }
  }
  void open(TreeNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    if (stack_.size() >= kMaxYamlDepth) {
      throw Refusal{position_of(mark), fmt::format("nested deeper than {} levels", kMaxYamlDepth)};
    }
    stack_.push_back(Frame{TreeNode{kind, position_of(mark), {}, {}, {}}, false, {}, {}});
  }
  void close() {
    TreeNode node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }
  void add(TreeNode node) {
    if (++count_ > kMaxYamlNodes) {
      throw Refusal{node.at, fmt::format("more than {} values", kMaxYamlNodes)};
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& top = stack_.back();
    if (top.node.kind == TreeNode::Kind::List) {
      top.node.items.push_back(std::move(node));
    } else if (top.has_key) {
      top.node.entries.push_back(TreeEntry{std::move(top.key), top.key_at, std::move(node)});
      top.has_key = false;
    } else if (node.kind == TreeNode::Kind::Scalar) {
      top.has_key = true;
      top.key = std::move(node.text);
      top.key_at = node.at;
    } else {
      throw Refusal{node.at, "a key must be a plain name"};
    }
  }

  std::vector<Frame> stack_;
  TreeNode root_;
  size_t count_ = 0;
  bool done_ = false;
};

/// Offset of the first byte that is no printable UTF-8 text, or npos.
size_t find_bad_byte(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = byte < 0x80 ? 1 : (byte >> 5) == 6 ? 2 : (byte >> 4) == 14 ? 3 : (byte >> 3) == 30 ? 4 : 0;
    const bool control = byte == 0x7f || (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t');
    if (length == 0 || control || i + length > text.size()) {
      return i;
    }
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) {
        return i;
      }
    }
    i += length;
  }
  return std::string_view::npos;
}

Position position_at(std::string_view text, size_t offset) {
  Position at;
  for (size_t i = 0; i < offset; ++i) {
    at.column = text[i] == '\n' ? 1 : at.column + 1;
    at.line += text[i] == '\n' ? 1 : 0;
  }
  return at;
}

}  // namespace

Result<TreeNode> parse_yaml_tree(std::string_view yaml, const std::string& file) {
  if (yaml.size() > kMaxYamlBytes) {
    return error(file, fmt::format("the file has {} bytes, a chip file has at most {}", yaml.size(), kMaxYamlBytes));
  }
  if (const size_t bad = find_bad_byte(yaml); bad != std::string_view::npos) {
    return error(where_text(file, position_at(yaml, bad)),
                 fmt::format("byte 0x{:02x} is not text (UTF-8)", static_cast<unsigned char>(yaml[bad])));
  }
  try {
    std::istringstream stream{std::string(yaml)};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Refusal& refusal) {
    return error(where_text(file, refusal.at), refusal.message);
  } catch (const YAML::Exception& exception) {
    return error(where_text(file, position_of(exception.mark)), "not valid YAML: " + exception.msg);
  }
}

}  // namespace dlcc::hw

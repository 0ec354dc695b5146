// What every pass of lowering gets: the machine, the options, and the sink for `--explain`.
#pragma once

#include <string>
#include <vector>

#include "hw/machine.h"

namespace dlcc::lowering {

/// Why something was refused: "conv_3: tile co:64 oh:28 refused: needs 81920 bytes of ldm, has 61440".
class Explain {
 public:
  explicit Explain(bool enabled = false) : enabled_(enabled) {}
  bool enabled() const { return enabled_; }
  void add(const std::string& subject, const std::string& reason) {
    if (enabled_) {
      lines_.push_back(subject + ": " + reason);
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  bool enabled_;
  std::vector<std::string> lines_;
};

struct Context {
  const hw::Machine& machine;
  Explain& explain;
};

}  // namespace dlcc::lowering

// One group of a Program -> the C function that a slave runs for it, with a function for each Compute leaf. Internal to targets/sunway.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hw/program.h"

namespace dlcc::targets::sunway {

/// Reply words of a group's channels: first word of each channel, and how many there are.
struct ReplyWords {
  std::vector<int> first;
  int count = 0;
};
ReplyWords reply_words(const hw::Group& group);

/// "static void dlcc_g3_k0(...) {...} ... void dlcc_group_3(dlcc_slave *s) {...}"
Result<std::string> group_code(const hw::Program& program, const hw::Machine& machine, int group);

}  // namespace dlcc::targets::sunway

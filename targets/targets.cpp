// The table of emitters: a name of Codegen::emitter in, its functions out.
#include <algorithm>
#include <array>

#include "targets/sunway/sunway.h"
#include "targets/target.h"
#include "targets/x86/x86.h"

namespace dlcc::targets {
namespace {

Result<Emitted> emit_nothing(const hw::Program&, const hw::Machine&) {
  return Emitted{};
}
Result<std::string> no_text(const hw::Program&, const hw::Machine&, std::string_view) {
  return std::string();
}

constexpr std::array<Target, 3> kTargets = {{
    {"none", emit_nothing, no_text},
    {"sunway", sunway::emit, sunway::emit_text},
    {"x86", x86::emit, x86::emit_text},
}};

}  // namespace

std::span<const Target> all_targets() {
  return kTargets;
}

const Target* find_target(std::string_view name) {
  const auto it = std::find_if(kTargets.begin(), kTargets.end(), [&](const Target& t) { return t.name == name; });
  return it == kTargets.end() ? nullptr : &*it;
}

}  // namespace dlcc::targets

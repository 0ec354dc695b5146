#include "toolchain/driver.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>

namespace dlcc::toolchain {

int run_tool(const char* name, const std::function<Result<int>()>& body) {
  try {
    const Result<int> code = body();
    if (code.ok()) {
      return *code;
    }
    fmt::print(stderr, "{}\n", to_string(code.diags()));
    return kBadInput;
  } catch (const InternalError& bug) {
    fmt::print(stderr, "{}: internal error: {}\nThis is a bug in dlcc; please report it with the command line and the input.\n", name, bug.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{}: internal error: out of memory\n", name);
  }
  return kInternal;
}

}  // namespace dlcc::toolchain

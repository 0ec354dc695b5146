// DLCC_CHECK(condition) << ...: our own invariants. On in every build; a failure is an internal error (exit code 5),
// thrown as InternalError so that the drivers can name the pass and the fuzzers can tell it from a refusal.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace dlcc {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

namespace detail {
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    text_ << file << ":" << line << ": check failed: " << condition << " ";
  }
  template <class T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }
  // Throwing here keeps `DLCC_CHECK(x) << "why"` an ordinary statement.
  ~CheckFailure() noexcept(false) { throw InternalError(text_.str()); }

 private:
  std::ostringstream text_;
};
struct CheckVoidify {
  void operator&(const CheckFailure&) const {}
};
}  // namespace detail

#define DLCC_CHECK(condition)                     \
  (condition) ? (void)0                           \
              : ::dlcc::detail::CheckVoidify() & ::dlcc::detail::CheckFailure(__FILE__, __LINE__, #condition)

}  // namespace dlcc

// Result<T>: a value, or the diagnostics that say why there is none. Every fallible function outside
// the drivers returns one; nothing outside `toolchain/` exits, aborts or throws for a user's mistake.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace dlcc {

/// Error: the user's model, chip file or command line is wrong. Unsupported: it is valid, and dlcc does not handle it.
/// (The third kind of failure, a bug of ours, is DLCC_CHECK.)
enum class DiagKind { Error, Unsupported };

/// One message. `where` names the file (with line and column where there is one) or the node; `message` is lower-case,
/// has no final period, and gives the value and the limit.
struct Diag {
  DiagKind kind = DiagKind::Error;
  std::string where;
  std::string message;
};
using Diags = std::vector<Diag>;

/// "where: error: message" (or "unsupported:"), a line each, without a final newline.
std::string to_string(const Diags& diags);

inline Diags error(std::string where, std::string message) {
  return {{DiagKind::Error, std::move(where), std::move(message)}};
}
inline Diags unsupported(std::string where, std::string message) {
  return {{DiagKind::Unsupported, std::move(where), std::move(message)}};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Diags diags) : diags_(std::move(diags)) { DLCC_CHECK(!diags_.empty()) << "a failure without a message"; }
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& value() & { DLCC_CHECK(ok()) << to_string(diags_); return *value_; }
  const T& value() const& { DLCC_CHECK(ok()) << to_string(diags_); return *value_; }
  T&& value() && { DLCC_CHECK(ok()) << to_string(diags_); return *std::move(value_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Diags& diags() const { return diags_; }

 private:
  std::optional<T> value_;
  Diags diags_;
};

struct Unit {};
/// The result of a function that only can fail.
using Status = Result<Unit>;
inline Status ok_status() { return Unit{}; }

/// DLCC_TRY(auto x, f()); unwraps or returns the failure. DLCC_RETURN_IF_ERROR(f()); the same without a value.
#define DLCC_CONCAT_(a, b) a##b
#define DLCC_CONCAT(a, b) DLCC_CONCAT_(a, b)
#define DLCC_TRY(declaration, expression)                                 \
  auto DLCC_CONCAT(try_, __LINE__) = (expression);                        \
  if (!DLCC_CONCAT(try_, __LINE__).ok()) {                                \
    return DLCC_CONCAT(try_, __LINE__).diags();                           \
  }                                                                       \
  declaration = std::move(DLCC_CONCAT(try_, __LINE__)).value()
#define DLCC_RETURN_IF_ERROR(expression)                                  \
  do {                                                                    \
    auto status_ = (expression);                                          \
    if (!status_.ok()) {                                                  \
      return status_.diags();                                             \
    }                                                                     \
  } while (false)

}  // namespace dlcc

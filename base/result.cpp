// Diagnostics -> text.
#include "base/result.h"

namespace dlcc {

std::string to_string(const Diags& diags) {
  std::string text;
  for (const Diag& diag : diags) {
    if (!text.empty()) {
      text += '\n';
    }
    if (!diag.where.empty()) {
      text += diag.where + ": ";
    }
    text += diag.kind == DiagKind::Error ? "error: " : "unsupported: ";
    text += diag.message;
  }
  return text;
}

}  // namespace dlcc

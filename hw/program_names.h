// How the text form of a Program refers to things by name: a list of names -> the spelling of entry i, and back.
// A name that is empty or not unique is spelled by its number, $3.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace dlcc::hw {

/// The name that lexer.name() would read; empty when there is none.
inline std::string peek_name(const Lexer& lexer) {
  const Token& token = lexer.peek();
  if (token.kind == TokenKind::String) {
    return unquote(token.text);
  }
  return token.kind == TokenKind::Identifier ? std::string(token.text) : std::string();
}

class Names {
 public:
  void add(std::string_view name) {
    const int index = static_cast<int>(spelled_.size());
    spelled_.push_back(quote_name(name));
    const auto [at, fresh] = index_of_.emplace(std::string(name), index);
    if (!fresh || name.empty()) {
      spelled_.back() = by_number(index);
      if (at->second != kAmbiguous) {
        spelled_[static_cast<size_t>(at->second)] = by_number(at->second);
        at->second = kAmbiguous;
      }
    }
  }
  int size() const { return static_cast<int>(spelled_.size()); }

  /// An index outside the list is spelled by its number too, and refused when it is read back.
  std::string spell(int index) const {
    return index >= 0 && index < size() ? spelled_[static_cast<size_t>(index)] : by_number(index);
  }

  /// Reads a reference; what: "buffer", "tensor", ... for the message.
  Result<int> read(Lexer& lexer, const char* what) const {
    if (lexer.accept("$")) {
      DLCC_TRY(const int64_t number, lexer.integer());
      if (number < 0 || number >= size()) {
        return lexer.fail("no " + std::string(what) + " number " + std::to_string(number) + ", there are " +
                          std::to_string(size()));
      }
      return static_cast<int>(number);
    }
    const auto at = index_of_.find(peek_name(lexer));
    if (at == index_of_.end() || at->second < 0) {
      return lexer.fail("expected the name of one " + std::string(what));
    }
    lexer.next();
    return at->second;
  }

 private:
  static constexpr int kAmbiguous = -1;
  static std::string by_number(int index) { return "$" + std::to_string(index); }

  std::vector<std::string> spelled_;
  std::unordered_map<std::string, int> index_of_;  // only looked up
};

}  // namespace dlcc::hw

// Lexer shared by every text form of ours (.te statements, Program, TilePlan, cost expressions), and an indenting printer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dlcc {

enum class TokenKind : uint8_t { Identifier, Integer, Float, String, Punct, Newline, End };
struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;   // points into the source; String without its quotes (escapes undone by unquote)
  int line = 1;
  int column = 1;
};

/// `#` starts a comment. Identifiers: [A-Za-z_][A-Za-z0-9_.$]* ; names with other characters are written as "strings".
/// Punctuation: single characters, and += <= >= == != && || -> := ..
class Lexer {
 public:
  Lexer(std::string_view source, std::string where, bool newlines = false);
  const Token& peek(int ahead = 0) const;
  Token next();
  bool accept(std::string_view text);          // consumes a punctuation or identifier with that spelling
  Status expect(std::string_view text);
  Result<std::string> name();                  // identifier or string
  Result<int64_t> integer();                   // with optional minus
  Result<double> number();                     // integer or float, inf, -inf, nan
  bool at_end() const;
  /// "where:line:column: error: message" at the current token.
  Diags fail(const std::string& message) const;
  Diags fail_at(const Token& token, const std::string& message) const;

 private:
  std::string_view source_;
  std::string where_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

/// A name as the lexer reads it back: itself when it is an identifier, else a quoted string.
std::string quote_name(std::string_view name);
std::string unquote(std::string_view body);
/// Shortest decimal text that reads back to the same double ("1", "0.1", "inf", "-inf", "nan").
std::string print_number(double value);

/// Lines with two spaces an indent level.
class Printer {
 public:
  void line(std::string_view text);
  void indent() { ++level_; }
  void dedent() { --level_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int level_ = 0;
};

}  // namespace dlcc

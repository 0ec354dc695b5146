// The shared lexer and printer: source text -> tokens with positions; names and numbers -> text that reads back.
#include "base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace dlcc {
namespace {

// ASCII only, whatever the locale says.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_char(char c) {
  return is_name_start(c) || is_digit(c) || c == '$';
}

/// A byte for a message: itself when printable, else \xNN.
std::string printable(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string result;
  for (const char c : text.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
    } else {
      result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return result;
}

/// Length of the token that starts at `at`, and its kind.
class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source) {}

  std::pair<TokenKind, size_t> scan(size_t at) const {
    const char c = source_[at];
    if (is_name_start(c)) {
      return {TokenKind::Identifier, identifier_end(at) - at};
    }
    if (is_digit(c)) {
      return number(at);
    }
    if (c == '"') {
      const size_t end = string_end(at);
      return end == std::string_view::npos ? std::pair{TokenKind::Punct, size_t{1}}
                                           : std::pair{TokenKind::String, end - at};
    }
    static constexpr std::array<std::string_view, 10> kPairs = {
        "+=", "<=", ">=", "==", "!=", "&&", "||", "->", ":=", ".."};
    for (const std::string_view pair : kPairs) {
      if (source_.substr(at, 2) == pair) {
        return {TokenKind::Punct, 2};
      }
    }
    return {TokenKind::Punct, 1};
  }

 private:
  char at(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }

  size_t identifier_end(size_t i) const {
    // A dot belongs to the name only when a name character follows: "a..b" is a range, "a." ends a sentence.
    while (is_name_char(at(i)) || (at(i) == '.' && is_name_char(at(i + 1)))) {
      ++i;
    }
    return i;
  }

  std::pair<TokenKind, size_t> number(size_t start) const {
    size_t i = start;
    TokenKind kind = TokenKind::Integer;
    while (is_digit(at(i))) {
      ++i;
    }
    if (at(i) == '.' && is_digit(at(i + 1))) {
      kind = TokenKind::Float;
      ++i;
      while (is_digit(at(i))) {
        ++i;
      }
    }
    if (at(i) == 'e' || at(i) == 'E') {
      const size_t digits = at(i + 1) == '+' || at(i + 1) == '-' ? i + 2 : i + 1;
      if (is_digit(at(digits))) {
        kind = TokenKind::Float;
        i = digits;
        while (is_digit(at(i))) {
          ++i;
        }
      }
    }
    return {kind, i - start};
  }

  /// One past the closing quote, or npos: strings do not span lines.
  size_t string_end(size_t i) const {
    for (++i; i < source_.size() && source_[i] != '\n'; ++i) {
      if (source_[i] == '\\') {
        ++i;
      } else if (source_[i] == '"') {
        return i + 1;
      }
    }
    return std::string_view::npos;
  }

  std::string_view source_;
};

}  // namespace

Lexer::Lexer(std::string_view source, std::string where, bool newlines) : source_(source), where_(std::move(where)) {
  const Scanner scanner(source_);
  int line = 1;
  size_t line_start = 0;
  const auto column = [&](size_t at) { return static_cast<int>(at - line_start) + 1; };
  for (size_t at = 0; at < source_.size();) {
    const char c = source_[at];
    if (c == '\n') {
      if (newlines && !tokens_.empty() && tokens_.back().kind != TokenKind::Newline) {
        tokens_.push_back({TokenKind::Newline, source_.substr(at, 1), line, column(at)});
      }
      ++line;
      line_start = ++at;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == '#') {
      while (at < source_.size() && source_[at] != '\n') {
        ++at;
      }
    } else {
      const auto [kind, length] = scanner.scan(at);
      const std::string_view text = source_.substr(at, length);
      tokens_.push_back({kind, kind == TokenKind::String ? text.substr(1, length - 2) : text, line, column(at)});
      at += length;
    }
  }
  tokens_.push_back({TokenKind::End, source_.substr(source_.size()), line, column(source_.size())});
}

const Token& Lexer::peek(int ahead) const {
  const size_t at = at_ + static_cast<size_t>(ahead);
  return at < tokens_.size() ? tokens_[at] : tokens_.back();
}

Token Lexer::next() {
  const Token token = peek();
  if (at_ + 1 < tokens_.size()) {
    ++at_;
  }
  return token;
}

bool Lexer::accept(std::string_view text) {
  const Token& token = peek();
  if ((token.kind != TokenKind::Punct && token.kind != TokenKind::Identifier) || token.text != text) {
    return false;
  }
  next();
  return true;
}

namespace {
std::string describe_token(const Token& token) {
  switch (token.kind) {
    case TokenKind::End:
      return "the end of the text";
    case TokenKind::Newline:
      return "the end of the line";
    case TokenKind::String:
      return "string \"" + printable(token.text) + "\"";
    default:
      return "'" + printable(token.text) + "'";
  }
}
}  // namespace

Status Lexer::expect(std::string_view text) {
  if (!accept(text)) {
    return fail("expected '" + std::string(text) + "', found " + describe_token(peek()));
  }
  return ok_status();
}

Result<std::string> Lexer::name() {
  const Token& token = peek();
  if (token.kind == TokenKind::Identifier) {
    return std::string(next().text);
  }
  if (token.kind == TokenKind::String) {
    return unquote(next().text);
  }
  return fail("expected a name, found " + describe_token(token));
}

Result<int64_t> Lexer::integer() {
  const bool minus = peek().kind == TokenKind::Punct && peek().text == "-" && peek(1).kind == TokenKind::Integer;
  const Token token = peek(minus ? 1 : 0);
  if (token.kind != TokenKind::Integer) {
    return fail("expected an integer, found " + describe_token(peek()));
  }
  uint64_t magnitude = 0;
  const auto [end, code] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), magnitude);
  const uint64_t limit = (uint64_t{1} << 63) - (minus ? 0 : 1);
  if (code != std::errc() || magnitude > limit) {
    return fail("integer " + std::string(minus ? "-" : "") + printable(token.text) + " does not fit 64 bits");
  }
  next();
  if (minus) {
    next();
  }
  return static_cast<int64_t>(minus ? 0 - magnitude : magnitude);
}

Result<double> Lexer::number() {
  const bool minus = peek().kind == TokenKind::Punct && peek().text == "-";
  const Token token = peek(minus ? 1 : 0);
  double value = 0;
  if (token.kind == TokenKind::Identifier && token.text == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (token.kind == TokenKind::Identifier && token.text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (token.kind == TokenKind::Integer || token.kind == TokenKind::Float) {
    const auto [end, code] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (code != std::errc()) {
      return fail("number " + printable(token.text) + " is outside the range of a double");
    }
  } else {
    return fail("expected a number, found " + describe_token(peek()));
  }
  next();
  if (minus) {
    next();
  }
  return minus ? -value : value;
}

bool Lexer::at_end() const {
  return peek().kind == TokenKind::End;
}

Diags Lexer::fail(const std::string& message) const {
  return fail_at(peek(), message);
}

Diags Lexer::fail_at(const Token& token, const std::string& message) const {
  return error(where_ + ":" + std::to_string(token.line) + ":" + std::to_string(token.column), message);
}

std::string quote_name(std::string_view name) {
  if (!name.empty() && is_name_start(name[0])) {
    bool plain = true;
    for (size_t i = 1; i < name.size(); ++i) {
      plain = plain && (is_name_char(name[i]) || (name[i] == '.' && i + 1 < name.size() && is_name_char(name[i + 1])));
    }
    if (plain) {
      return std::string(name);
    }
  }
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string unquote(std::string_view body) {
  const auto hex = [](char c) { return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::string text;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      text += body[i];
    } else if (body[i + 1] == 'x' && i + 3 < body.size() && hex(body[i + 2]) >= 0 && hex(body[i + 3]) >= 0) {
      text += static_cast<char>(hex(body[i + 2]) * 16 + hex(body[i + 3]));
      i += 3;
    } else {
      text += body[++i];
    }
  }
  return text;
}

std::string print_number(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  std::array<char, 32> buffer;
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end);
}

void Printer::line(std::string_view text) {
  text_.append(static_cast<size_t>(level_) * 2, ' ');
  text_ += text;
  text_ += '\n';
}

}  // namespace dlcc

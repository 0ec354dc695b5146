// dtypes, results, the lexer, numbers, quantities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/dtype.h"
#include "base/result.h"
#include "base/text.h"
#include "base/units.h"

namespace dlcc {
namespace {

using testing::HasSubstr;

TEST(dtype, names_and_sizes_round_trip) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(type)), type);
  }
  EXPECT_EQ(bytes_of(DType::F16), 2);
  EXPECT_EQ(bytes_of(DType::U64), 8);
  EXPECT_EQ(bytes_of(DType::Bool), 1);
  EXPECT_FALSE(dtype_from_name("float"));
  EXPECT_TRUE(is_float(DType::F64));
  EXPECT_FALSE(is_signed_int(DType::U8));
  EXPECT_TRUE(is_signed_int(DType::I64));
}

TEST(half, every_value_round_trips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      EXPECT_EQ(float_to_half(value), bits);
    }
  }
}

TEST(half, known_values_and_rounding_to_even) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(half_to_float(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(float_to_half(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);      // halfway to 65536: even is up
  EXPECT_EQ(float_to_half(1 + 0x1p-11f), 0x3c00);  // halfway, even is down
  EXPECT_EQ(float_to_half(1 + 0x1.8p-10f), 0x3c02);
  EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);  // half the smallest denormal
  EXPECT_EQ(float_to_half(0x1.8p-25f), 0x0001);
  EXPECT_EQ(float_to_half(-0.0f), 0x8000);
  // Through float this would first become exactly halfway and then 1.
  EXPECT_EQ(double_to_half(1 + 0x1p-11 + 0x1p-40), 0x3c01);
}

TEST(result, text_of_diagnostics_names_kind_and_place) {
  Diags diags = error("a.yaml:3:1", "unknown key 'x'");
  diags.push_back({DiagKind::Unsupported, "", "op Foo"});
  EXPECT_EQ(to_string(diags), "a.yaml:3:1: error: unknown key 'x'\nunsupported: op Foo");
}

TEST(result, reading_a_failure_is_an_internal_error) {
  const Result<int> failure = error("here", "no");
  EXPECT_FALSE(failure.ok());
  EXPECT_THROW(failure.value(), InternalError);
}

std::vector<std::string> tokens_of(std::string_view text, bool newlines = false) {
  Lexer lexer(text, "t", newlines);
  std::vector<std::string> result;
  while (!lexer.at_end()) {
    const Token token = lexer.next();
    result.push_back(token.kind == TokenKind::Newline ? "NL" : std::string(token.text));
  }
  return result;
}

TEST(lexer, splits_names_numbers_and_punctuation) {
  using testing::ElementsAre;
  EXPECT_THAT(tokens_of("a.b$1 += 2*x # comment"), ElementsAre("a.b$1", "+=", "2", "*", "x"));
  EXPECT_THAT(tokens_of("0..4 n..m 1.5 1e-3 2e 64KiB"),
              ElementsAre("0", "..", "4", "n", "..", "m", "1.5", "1e-3", "2", "e", "64", "KiB"));
  EXPECT_THAT(tokens_of("a->b:=c<=d&&e||f!=g"),
              ElementsAre("a", "->", "b", ":=", "c", "<=", "d", "&&", "e", "||", "f", "!=", "g"));
  EXPECT_THAT(tokens_of("\n\na\n\n b # x\n", true), ElementsAre("a", "NL", "b", "NL"));
}

TEST(lexer, errors_carry_line_and_column) {
  Lexer lexer("ab\n  cd 7", "file.te");
  EXPECT_TRUE(lexer.accept("ab"));
  const Status status = lexer.expect("x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(to_string(status.diags()), "file.te:2:3: error: expected 'x', found 'cd'");
}

TEST(lexer, strings_quote_any_bytes) {
  const std::string name("a/b \"c\"\\\n\x01 d#", 14);
  const std::string quoted = quote_name(name);
  Lexer lexer(quoted, "t");
  EXPECT_EQ(lexer.name().value(), name);
  EXPECT_TRUE(lexer.at_end());
  EXPECT_EQ(quote_name("conv_1.w"), "conv_1.w");
  EXPECT_EQ(quote_name("conv."), "\"conv.\"");
  EXPECT_EQ(quote_name(""), "\"\"");
}

TEST(lexer, integers_are_checked) {
  EXPECT_EQ(Lexer("-9223372036854775808", "t").integer().value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Lexer("9223372036854775807", "t").integer().value(), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(Lexer("9223372036854775808", "t").integer().ok());
  EXPECT_FALSE(Lexer("99999999999999999999999", "t").integer().ok());
  EXPECT_FALSE(Lexer("1.5", "t").integer().ok());
}

TEST(lexer, numbers_round_trip) {
  for (const double value : {0.0, -0.0, 1.0, 0.1, -1.5e300, 5e-324, 1e20, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    const std::string text = print_number(value);
    const double back = Lexer(text, "t").number().value();
    EXPECT_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(value)) << text;
  }
  EXPECT_TRUE(std::isnan(Lexer(print_number(std::nan("")), "t").number().value()));
  EXPECT_EQ(print_number(0.1), "0.1");
  EXPECT_FALSE(Lexer("1e999", "t").number().ok());
}

TEST(lexer, odd_input_ends) {
  EXPECT_EQ(tokens_of("\"open").front(), "\"");
  EXPECT_FALSE(Lexer("\xff\xfe", "t").name().ok());
  EXPECT_THAT(to_string(Lexer("\xff", "t").name().diags()), HasSubstr("\\xff"));
}

TEST(printer, indents_by_two) {
  Printer printer;
  printer.line("a");
  printer.indent();
  printer.line("b");
  printer.dedent();
  printer.line("c");
  EXPECT_EQ(printer.take(), "a\n  b\nc\n");
}

TEST(units, quantities) {
  const auto value = [](std::string_view text, UnitKind kind) {
    const auto quantity = parse_quantity(text, "t");
    EXPECT_TRUE(quantity.ok()) << text;
    EXPECT_EQ(quantity->kind, kind) << text;
    return quantity->value;
  };
  EXPECT_EQ(value("64 KiB", UnitKind::Bytes), 65536);
  EXPECT_EQ(value("64KiB", UnitKind::Bytes), 65536);
  EXPECT_EQ(value("2 kB", UnitKind::Bytes), 2000);
  EXPECT_EQ(value("1.45 GHz", UnitKind::Hertz), 1.45e9);
  EXPECT_EQ(value("34.1 GB/s", UnitKind::BytesPerSecond), 34.1e9);
  EXPECT_EQ(value("1 MiB/s", UnitKind::BytesPerSecond), 1048576);
  EXPECT_EQ(value("16 B/cycle", UnitKind::BytesPerCycle), 16);
  EXPECT_EQ(value("290 cycles", UnitKind::Cycles), 290);
  EXPECT_EQ(value("1 cycle", UnitKind::Cycles), 1);
  EXPECT_EQ(value("15 us", UnitKind::Seconds), 15e-6);
  EXPECT_EQ(value("2 ms", UnitKind::Seconds), 2e-3);
}

TEST(units, wrong_ones_list_the_accepted) {
  for (const char* text :
       {"64 KB/s", "64", "KiB", "", "-1 B", "nan B", "inf s", "1 KiHz", "3 us/s", "1e400 B", "5 b"}) {
    EXPECT_FALSE(parse_quantity(text, "chip.yaml:4:9").ok()) << text;
  }
  const std::string message = to_string(parse_quantity("64 KB/s", "chip.yaml:4:9").diags());
  EXPECT_THAT(message, HasSubstr("chip.yaml:4:9: error: unknown unit \"KB/s\""));
  EXPECT_THAT(message, HasSubstr("did you mean kB/s?"));
  EXPECT_THAT(message, HasSubstr("B/cycle"));
  EXPECT_THAT(message, HasSubstr("Ki"));
}

TEST(units, nearest_name_stays_near) {
  EXPECT_EQ(nearest_name("memorys", {"paths", "memories", "memory"}), "memory");
  EXPECT_EQ(nearest_name("clok", {"clock", "cores"}), "clock");
  EXPECT_EQ(nearest_name("zzz", {"clock", "cores"}), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), {"clock"}), "");
}

}  // namespace
}  // namespace dlcc

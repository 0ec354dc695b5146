// Two arrays -> nothing, or the first difference beyond the tolerance.
#pragma once

#include <string>

#include "base/te/evaluate.h"
#include "tests/onnx_suite/test_case.h"

namespace dlcc::suite {

/// Empty: equal. Floats: |got - want| <= absolute + relative * |want|, NaN equals NaN; integers and bool: exactly.
std::string compare(const te::Array& got, const te::Array& want, const Tolerance& tolerance);

}  // namespace dlcc::suite

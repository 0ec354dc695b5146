// Cost expressions of a chip file: "20 + ceil(m,16)*ceil(n,16)". ceil(a,b) = ceiling of a/b. Integers only, + - * ( )
// min max ceil.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace dlcc::hw {

/// Value for given parameters. An unknown name or a syntax error is an error that names `where`.
Result<int64_t> evaluate_cost(const std::string& expression,
                              const std::function<const int64_t*(std::string_view)>& param, const std::string& where);

}  // namespace dlcc::hw

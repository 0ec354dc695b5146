// See inline.cpp.
#pragma once

#include <vector>

#include "base/te/stmt.h"

namespace dlcc::lowering {

/// Inlines Map statements of a group into the Map statement that is their only reader. The last statement stays last.
void inline_maps(std::vector<te::Stmt>& stmts);

}  // namespace dlcc::lowering

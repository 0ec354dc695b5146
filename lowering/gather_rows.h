// Gather by transfers alone. A tile of an ordinary plan holds the whole looked-up dim of a table; that is too much for an embedding table in a
// scratchpad, and most of it is not needed. Here a core reads one index after the other and moves the row that it names.
#pragma once

#include <functional>

#include "hw/program.h"
#include "lowering/analysis.h"

namespace dlcc::lowering {

/// The one indirect read of a plain Gather, or -1.
int gathered_read(const te::Stmt& stmt);

/// True when the statement is a plain Gather (one indirect read, copied) that this machine had better do row by row: the table is several times
/// the result, or its looked-up dim does not fit the work memory. The table is the tensor of the indirect read. Such a statement is fused with
/// nothing. Machines of decoupled pipes never: their flags order pipes, not a transfer after the value that addresses it.
bool gathers_rows(const te::Stmt& stmt, DType table_type, const std::vector<int64_t>& table_shape, const hw::Machine& machine);
/// The same with the tensors that the statement numbers (of a module or of a group).
bool gathers_rows(const te::Stmt& stmt, const auto& tensors, const hw::Machine& machine) {
  const int read = gathered_read(stmt);
  if (read < 0) {
    return false;
  }
  const auto& table = tensors[static_cast<size_t>(stmt.reads[static_cast<size_t>(read)].tensor)];
  return gathers_rows(stmt, table.type, table.shape, machine);
}

/// The group's program: steps (points of the index times tiles of the row) are dealt to the cores in runs of neighbours.
hw::Group lower_rows(const GroupAnalysis& group, const std::function<int(int)>& tensor_of, const hw::Machine& machine);

}  // namespace dlcc::lowering

// Small questions about statements that fusion, analysis and planning all ask.
#pragma once

#include "base/te/stmt.h"

namespace dlcc::lowering {

/// Every index of the write is one Par dim with coefficient 1, or a constant, and every Par dim appears once: the box of dims that produces
/// a box of the tensor can be read off.
bool writes_by_identity(const te::Stmt& stmt);

/// A reduction whose body multiplies two loads of different accesses: matrix products, convolutions.
bool is_contraction(const te::Stmt& stmt);

/// The Par dim that index `axis` of the write runs along, or -1.
int dim_of_write_axis(const te::Stmt& stmt, size_t axis);

/// Points of the dims, by kind.
int64_t par_points(const te::Stmt& stmt);
int64_t red_points(const te::Stmt& stmt);

/// Arithmetic operations of the whole statement.
int64_t flops_of(const te::Stmt& stmt);

/// Name of a dim of the statement, for messages.
std::string dim_name(const te::Stmt& stmt, int dim);

}  // namespace dlcc::lowering

//===- Layers.h - results of range analysis for each rounding ------------------------===//
#ifndef TILEWRIGHT_LIB_GRAPH_FIXED_LAYERS_H
#define TILEWRIGHT_LIB_GRAPH_FIXED_LAYERS_H

#include "lib/Graph/Fixed/Arithmetic.h"

namespace tilewright::fixed {

/// Returns an entry of the list `layers` in the attribute `tw.fixed`. The entry describes the rounding of `exact` to
/// `result`, in `format`, at line `line` of the user's file.
mlir::Attribute describeRounding(mlir::Builder &builder, const Number &exact, const Number &result,
                                 const Format &format, llvm::StringRef line);
/// Returns an entry for a weight whose format cannot represent all its elements.
mlir::Attribute describeWeight(mlir::Builder &builder, llvm::StringRef name, const Format &format);

} // namespace tilewright::fixed

#endif

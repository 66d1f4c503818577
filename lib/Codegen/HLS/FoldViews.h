//===- FoldViews.h - access arrays directly, not through views ----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_FOLDVIEWS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_FOLDVIEWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// Returns the array from which `view` (a slice or a reshape) is derived. Returns `view` itself if it is not a view.
mlir::Value arrayOf(mlir::Value view);

/// Replaces every affine load and store of a view (a slice, a reshape) by a load or store of the array that the view
/// refers to, because banks are chosen per array. Accesses of a view whose shape, offset or stride is known only at run
/// time are not changed. Views that become unused are erased.
void foldViews(mlir::func::FuncOp kernel);

} // namespace tilewright::hls

#endif

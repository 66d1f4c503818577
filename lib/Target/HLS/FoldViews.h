//===- FoldViews.h - accesses of the array itself, not of a view of it --------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_FOLDVIEWS_H
#define TILEWRIGHT_TARGET_HLS_FOLDVIEWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::hls {

/// The array that `view` is a part or a reshape of; itself if it is none.
mlir::Value arrayOf(mlir::Value view);

/// Every affine load and store of a view (a slice, a reshape) becomes one of its array, so that banks can be chosen per
/// array. Views that begin at a place known only at run time stay.
void foldViews(mlir::func::FuncOp kernel);

} // namespace tilewright::hls

#endif

//===- CopyReason.h - why a copy exists, in its location -------------------===//
//
// A pass that adds a copy (a transpose, padding, packing) stores the reason in the location of the op, as metadata of a
// fused location: loc(fused<"matmul needs ...">["model.py":12:0]). Passes preserve locations, and a location affects
// neither the code nor the comparison of kernels. `tilewright explain` shows the reason of each step that only copies.
//
// Test: test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_COPYREASON_H
#define TILEWRIGHT_DIALECTS_TILE_COPYREASON_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/Twine.h"

namespace tilewright::tile {

/// Returns the location `loc` of a copy with the reason for the copy. The reason is a phrase without a period.
inline mlir::Location withCopyReason(mlir::Location loc, const llvm::Twine &reason) {
  return mlir::FusedLoc::get(loc.getContext(), {loc}, mlir::StringAttr::get(loc.getContext(), reason));
}

/// Returns the first reason in `loc`, or an empty text.
inline llvm::StringRef copyReason(mlir::Location loc) {
  llvm::StringRef reason;
  loc->walk([&](mlir::Location inner) {
    auto fused = mlir::dyn_cast<mlir::FusedLoc>(inner);
    auto text = fused ? mlir::dyn_cast_or_null<mlir::StringAttr>(fused.getMetadata()) : mlir::StringAttr();
    if (!text)
      return mlir::WalkResult::advance();
    reason = text.getValue();
    return mlir::WalkResult::interrupt();
  });
  return reason;
}

} // namespace tilewright::tile

#endif

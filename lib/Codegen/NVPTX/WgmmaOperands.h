//===- WgmmaOperands.h - coordinates of the tiles of A and B in their tensor maps -----------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_WGMMAOPERANDS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_WGMMAOPERANDS_H

#include "lib/Codegen/GPU/ContractionCode.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "lib/Codegen/NVPTX/WarpGroupCode.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

/// The base class of the emitter of the schedule `wgmma`. It computes which box of a tensor map a step along k needs.
class WgmmaOperands : protected WarpGroupCode {
protected:
  WgmmaOperands(ThreadKernel &kernel, Contraction contraction)
      : WarpGroupCode(kernel), code(kernel, std::move(contraction)), product(code.contraction), taps(tapsOf(product)) {}

  /// An operand, A or B, with its tensor map and its tile in a slot.
  struct Operand {
    MappedOperand mapped;
    TensorMapRecipe recipe;
    mlir::Value map;
    const mlir::Value *origin; ///< origin of the block's tile in m or n
    int64_t side;              ///< extent of the part that one block loads, in m or n
    int64_t parts = 1;         ///< number of parts of the tile; each block of the cluster loads one
    int64_t slotOffset = 0;    ///< offset in a slot
    int64_t bytes() const { return parts * side * lineBytes; }
    /// Returns the size in bytes of a box, for an operand that is not contiguous along k. Such a box has one line for
    /// each of lineElements() values of k.
    int64_t boxBytes() const { return lineElements(mapped.element) * lineBytes; }
  };
  /// Describes an operand of `of` whose tile has `size` rows (A) or columns (B), the first one at `origin`. If TMA
  /// cannot load the operand, emits an error and returns std::nullopt.
  std::optional<Operand> describe(const Contraction &of, mlir::OpOperand *operand, llvm::ArrayRef<unsigned> side,
                                  int64_t size, const mlir::Value *origin, mlir::Value map);

  /// The position of a step along k: the indices of the tap loops, and the linear index `rest` in the other reduction
  /// loops.
  struct Depth {
    llvm::SmallVector<mlir::Value> taps;
    mlir::Value rest;
  };
  /// The coordinates of a load (i32), the fastest dimension first. For a map of windows, also the offsets of the load.
  struct Coordinates {
    llvm::SmallVector<mlir::Value> at, offsets;
  };
  /// Returns the coordinates of box number `box` of the operand's tile for one step along k. `windows` is the result of
  /// windowsOf().
  Coordinates coordinatesOf(const Operand &operand, llvm::ArrayRef<mlir::Value> windows, int64_t box, const Depth &at);
  /// Returns the coordinates that are the same for all steps: the position of the tile's first window, the width first,
  /// and the image of this window. Returns an empty list if the rows (columns) of the operand are not windows.
  llvm::SmallVector<mlir::Value> windowsOf(const Operand &operand);

  ContractionCode code;
  Contraction &product;
  llvm::SmallVector<unsigned> taps; ///< the loops along k that are taps of windows
  mlir::Value rank;                 ///< rank of this block in the cluster

private:
  /// Returns the first row (column) of box number `box` in the part of the tile that this block loads.
  mlir::Value sideOf(const Operand &operand, int64_t box);
  /// Returns the coordinates of a box of patches. The box has one line of channels at one tap, which begins at row
  /// `side` of A (column of B), for one line of windows along k.
  Coordinates patchesAt(const Operand &operand, mlir::Value side, const Depth &at);
  /// Returns the distances of a tap from the positions of the windows, the width first.
  llvm::SmallVector<mlir::Value> offsetsOf(const Operand &operand, const Depth &at);
  /// Returns the index of the step's first term in a run of the part Depth.
  mlir::Value depthOf(const MappedOperand::Run &run, const Depth &at);
  /// Returns the linear index of a tap in the loops `loops`.
  mlir::Value tapOf(llvm::ArrayRef<unsigned> loops, const Depth &at);
  /// Returns the bf16 part that `expr` selects.
  mlir::Value partOf(mlir::AffineExpr expr, const Depth &at);
  /// Returns the indices of the first element of a box.
  llvm::SmallVector<mlir::Value> indicesOf(const Operand &operand, mlir::Value side, const Depth &at);
};

} // namespace tilewright::cuda

#endif

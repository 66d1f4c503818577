//===- NarrowElements.h - elements that do not take one, two, four or eight bytes -------------===//
//
// Integers with other widths than 1, 8, 16, 32 and 64 bits, and 4-bit floats, are called narrow here. Two
// representations replace a tensor of narrow elements:
//   - stored: the tensor in memory. Elements of less than 8 bits that have a dtype are packed into bytes, the first in
//     the lowest bits (Dtypes.def). Every other narrow integer takes its container.
//   - container: one integer of 8, 16, 32 or 64 bits per element, which has the value of the element. Computations use
//     it. The container of a float has the bits of the float.
//
// Test: test/Graph/pack-elements.mlir, test/Python/test_narrow_elements.py
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_GRAPH_NARROWELEMENTS_H
#define TILEWRIGHT_LIB_GRAPH_NARROWELEMENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tilewright::graph {

/// Returns true if `element` is narrow.
bool isNarrow(mlir::Type element);
/// Returns the number of bits of one packed element, or 0 if elements of this type are not packed.
unsigned packedBits(mlir::Type element);
/// Returns the container of a narrow element type.
mlir::IntegerType containerOf(mlir::Type element);

/// The stored tensor of a tensor of narrow elements.
struct StoredTensor {
  mlir::RankedTensorType type;
  bool byRows = false; ///< true: at most the last dimension differs from that of the tensor
};

/// Returns the stored tensor of `type`. If elements are not packed, the elements of the stored tensor are containers.
/// Otherwise, they are bytes. If a row consists of whole bytes, the last dimension becomes the number of bytes of a
/// row. If not, the whole tensor becomes a vector of bytes. Both forms have the same contents in memory. Returns
/// nullopt if elements are packed, and the number of bytes depends on symbolic sizes and is not known to be whole.
std::optional<StoredTensor> storedTensor(mlir::RankedTensorType type);

/// Returns the number of bytes of `count` elements of `bits` bits, or null if it is not known to be whole.
mlir::AffineExpr wholeBytes(mlir::AffineExpr count, unsigned bits);

/// Returns the containers of a stored tensor. `type` is the tensor of narrow elements.
mlir::Value loadContainers(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored,
                           mlir::RankedTensorType type);
/// Returns the stored tensor of `containers`. Only the low bits of a container are used, so values outside of the range
/// of the narrow type wrap around.
mlir::Value storeContainers(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value containers,
                            mlir::RankedTensorType type);

} // namespace tilewright::graph

#endif

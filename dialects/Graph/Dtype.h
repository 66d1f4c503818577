//===- Dtype.h - element types of graphs, and their names ------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_DTYPE_H
#define TILEWRIGHT_DIALECTS_GRAPH_DTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace tilewright {

/// The supported torch dtypes of graphs (Dtypes.def). Complex tensors are rewritten as pairs of real numbers before the
/// import (docs/decisions/0046-complex-numbers.md); importers reject tensors of other dtypes.
enum class ScalarType : uint8_t {
#define TW_DTYPE(ENUM, ...) ENUM,
#include "dialects/Graph/Dtypes.def"
};

/// The properties of one element type.
struct ScalarTypeInfo {
  ScalarType type;
  llvm::StringLiteral name; ///< torch's name, such as "float32"
  unsigned bits;            ///< number of bits of one element in memory
  int dlpack;               ///< the type code of DLPack (DLDataTypeCode)
  llvm::StringLiteral npy;  ///< the field `descr` of a .npy file
};
const ScalarTypeInfo &infoOf(ScalarType type);
/// Returns the properties of all element types, in the order of Dtypes.def.
llvm::ArrayRef<ScalarTypeInfo> scalarTypes();

/// Returns torch's name of a dtype, such as "float32" for F32.
llvm::StringRef scalarTypeName(ScalarType type);
/// Returns the dtype with this name in torch, or nullopt if the dtype is not supported.
std::optional<ScalarType> scalarTypeFromName(llvm::StringRef name);
/// Returns the number of bits of one element in memory. Elements of less than 8 bits are packed.
unsigned scalarTypeBits(ScalarType type);

/// Returns the element type in the IR: i1 for bool, unsigned types such as ui8 for unsigned integers, signless types
/// for other integers, and the float type of the same format for floats.
mlir::Type elementTypeOf(ScalarType type, mlir::MLIRContext *context);
/// Returns the dtype of an element type of the IR; nullopt if graphs have no such dtype.
std::optional<ScalarType> scalarTypeOf(mlir::Type elementType);
/// Returns torch's name of the dtype of an element type, such as "float32". If graphs have no such dtype, returns the
/// type as MLIR prints it.
std::string dtypeName(mlir::Type elementType);

} // namespace tilewright

#endif

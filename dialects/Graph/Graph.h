//===- Graph.h - the tw dialect --------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_GRAPH_H
#define TILEWRIGHT_DIALECTS_GRAPH_GRAPH_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/ElementTypes.h"

namespace tilewright::graph {
/// Verifies constraints c1 to c3 of the ops of the elementwise table (GraphOps.td).
mlir::LogicalResult verifyElementwise(mlir::Operation *op);

/// Marks the ops of the elementwise table (GraphOps.td), whose operands are broadcast to the single result.
template <typename ConcreteType> class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyElementwise(op); }
};

/// Marks the elementwise ops that are defined only for floats.
template <typename ConcreteType> class FloatsOnly : public mlir::OpTrait::TraitBase<ConcreteType, FloatsOnly> {};
} // namespace tilewright::graph

#include "dialects/Graph/GraphDialect.h.inc"
#include "dialects/Graph/GraphEnums.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.h.inc"

namespace tilewright::graph {

/// Argument attributes of a symbolic size (an `index` argument of a tw function): its name and its range.
using tilewright::symbolAttrName;
inline constexpr llvm::StringLiteral symbolMinAttrName = "tw.min", symbolMaxAttrName = "tw.max";

/// A symbolic size of a function.
struct SymbolicSize {
  std::string name;
  int64_t min = 0, max = INT64_MAX;
};

/// Returns the symbolic sizes of `function`, in the order of its `index` arguments. Default names are s0, s1, ...
llvm::SmallVector<SymbolicSize> symbolicSizesOf(mlir::FunctionOpInterface function);

// Code generators also read the attributes below, which AttributeNames.h defines.
using tilewright::fromStartAttrName, tilewright::intoAttrName, tilewright::nameAttrName, tilewright::staticAttrName;
/// Attribute of @main: relations between its symbolic sizes that each call checks (lib/Graph/GuardSizes.cpp).
inline constexpr llvm::StringLiteral guardsAttrName = "tw.guards";
/// Attribute of a function or of the module: the decisions of passes with their reasons, for the report.
inline constexpr llvm::StringLiteral decisionsAttrName = "tw.decisions";
/// Discardable unit attribute of convolutions and pooling ops that --tw-propagate-layout has changed to channels-last.
/// Shapes are N x spatial x C, and weights spatial x C/groups x F (transposed convolutions: spatial x C x F/groups).
inline constexpr llvm::StringLiteral channelsLastAttrName = "tw.channels_last";
/// Attribute of a tw.cast between float types that the importer inserted in order to express another operator. If the
/// cast is fused with adjacent ops, its rounding may be omitted.
inline constexpr llvm::StringLiteral implicitAttrName = "tw.implicit";

/// Returns the sizes of `type` as affine expressions over the function's symbols; static sizes are constants.
llvm::SmallVector<mlir::AffineExpr> sizesOf(mlir::RankedTensorType type);

/// Returns the normal form of a size (GraphSizes.cpp). Sizes with the same normal form are equal.
mlir::AffineExpr canonicalSize(mlir::AffineExpr size);

/// Returns the number of elements of `type`, in normal form.
mlir::AffineExpr elementCount(mlir::RankedTensorType type);

/// Returns the tensor type with these sizes in normal form. Constants become static dimensions. If there are other
/// sizes, they become `?`, and the encoding of the type contains all sizes.
mlir::RankedTensorType tensorWithSizes(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::Type elementType);

/// Returns true if `a` and `b` have the same size expressions.
bool sameShape(mlir::RankedTensorType a, mlir::RankedTensorType b);

using tilewright::isFloat8;

/// Returns true for the element types of graphs: signless and unsigned integers of at most 64 bits, and the float types
/// in Dtypes.def.
bool isElementType(mlir::Type type);

/// Returns `type` with another element type.
mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type elementType);

} // namespace tilewright::graph

#endif

//===- Importer.h - the module under construction and its values -------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_BUILDER_IMPORTER_H
#define TILEWRIGHT_LIB_IMPORT_BUILDER_IMPORTER_H

#include "dialects/Graph/Graph.h"
#include "lib/Import/Builder/SizeExpression.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/GraphBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright {

/// The maximum number of steps of a recurrent layer. The importers unroll the steps.
inline constexpr int64_t mostUnrolledSteps = 512;

/// The internal state of a GraphBuilder: the module under construction and the values of its nodes.
struct Importer {
  explicit Importer(mlir::MLIRContext &context);

  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  llvm::StringMap<SizeSymbol> symbols;
  llvm::DenseMap<int64_t, llvm::SmallVector<mlir::Value, 2>> values;
  int64_t nextId = 0;
  unsigned refusedNodes = 0;
  mlir::Value seed; ///< the hidden last argument; null until a random op needs it
  int64_t randomStreams = 0;
  /// If true, sizes that may be equal for some values of symbols are assumed to be equal, and every call checks this
  /// assumption. False for graphs of torch, which already have guards.
  bool guardsSizes = false;
  llvm::DenseSet<mlir::AffineExpr> varying;  ///< symbols that must not be fixed to a number
  llvm::SmallVector<mlir::Attribute> guards; ///< guards that follow from no op (lib/Graph/GuardSizes.cpp)

  /// Returns the value of an input or node, or null if there is none.
  mlir::Value valueOf(ValueRef ref) const {
    auto found = values.find(ref.id);
    return found == values.end() || ref.result >= found->second.size() ? mlir::Value() : found->second[ref.result];
  }
  llvm::Expected<mlir::AffineExpr> size(const Size &size);
  llvm::Expected<mlir::RankedTensorType> tensorType(const TensorMeta &meta);
  mlir::Value seedArgument();
};

/// Returns the dtype and the sizes of a tensor in a form such as "float32[2, s0, 768]".
std::string tensorName(mlir::RankedTensorType type);

/// Returns the memory order of the dimensions, outermost first. If the tensor is not dense, returns row-major order and
/// dense = false.
DenseLayout layoutOf(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<mlir::AffineExpr> strides);

} // namespace tilewright

#endif

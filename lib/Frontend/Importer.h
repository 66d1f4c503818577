//===- Importer.h - the module being built and its values --------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_IMPORTER_H
#define TILEWRIGHT_LIB_FRONTEND_IMPORTER_H

#include "dialects/Graph/Graph.h"
#include "lib/Frontend/SizeExpression.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/GraphBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright {

/// What a GraphBuilder has built so far.
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
  mlir::Value seed; ///< the hidden last argument, once a random op asked for it
  int64_t randomStreams = 0;
  /// Sizes that symbols make equal or not are taken as equal, and every call checks it. Of torch's graphs all is known.
  bool guardsSizes = false;
  llvm::DenseSet<mlir::AffineExpr> varying;  ///< symbols that the user wants to vary: they are no number
  llvm::SmallVector<mlir::Attribute> guards; ///< of what no op says (lib/Graph/GuardSizes.cpp)

  /// The value of an input or node; null when there is none.
  mlir::Value valueOf(ValueRef ref) const {
    auto found = values.find(ref.id);
    return found == values.end() || ref.result >= found->second.size() ? mlir::Value() : found->second[ref.result];
  }
  llvm::Expected<mlir::AffineExpr> size(const Size &size);
  llvm::Expected<mlir::RankedTensorType> tensorType(const TensorMeta &meta);
  mlir::Value seedArgument();
};

/// bool is i1, uint8 ui8 (and wider unsigned likewise), other integers signless.
mlir::Type elementTypeOf(ScalarType type, mlir::MLIRContext *context);
/// The dtype as torch prints it, from an element type.
std::string dtypeName(mlir::Type elementType);
/// The same for a tensor: "float32[2, s0, 768]".
std::string tensorName(mlir::RankedTensorType type);

/// The order in which the dimensions lie in memory, outermost first; not dense: row-major order and dense = false.
DenseLayout layoutOf(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<mlir::AffineExpr> strides);

} // namespace tilewright

#endif

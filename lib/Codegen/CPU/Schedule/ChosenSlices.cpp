//===- ChosenSlices.cpp - operands that are slices chosen from a parameter ----===//
//
// Before:
//   func @kernel_0(%table, %numbers, %out) { linalg.generic ins(%numbers) { tensor.extract %table[%number, ...] } }
//   func @main: %w = call @kernel_0(%parameter, %n, %e); call @kernel_1(%x, %w, %f)
// After:
//   func @main: call @kernel_1(%x, %parameter, %n, %f)
//
// Test: test/Codegen/CPU/Schedule/resolve-chosen.mlir
//
//===----------------------------------------------------------------------===//
#include "ChosenSlices.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::tiled {
using namespace tile;
namespace {

/// Returns the linalg.generic of `kernel` if the kernel has no other ops except constants, otherwise null.
linalg::GenericOp onlyGenericOf(func::FuncOp kernel) {
  linalg::GenericOp generic;
  for (Operation &op : kernel.getBody().front())
    if (auto found = dyn_cast<linalg::GenericOp>(op)) {
      if (generic)
        return {};
      generic = found;
    } else if (!isa<arith::ConstantOp, func::ReturnOp>(op)) {
      return {};
    }
  return generic;
}

std::optional<Choice> choiceOf(func::FuncOp kernel) {
  auto generic = kernel && !kernel.isExternal() ? onlyGenericOf(kernel) : linalg::GenericOp();
  if (!generic || generic.getNumDpsInputs() != 1 || generic.getNumResults() != 1 || generic.getNumLoops() != 3 ||
      generic.getNumReductionLoops() != 0 || !generic.getIndexingMapsArray()[1].isIdentity())
    return std::nullopt;
  AffineMap read = generic.getIndexingMapsArray()[0];
  auto numbers = dyn_cast<BlockArgument>(generic.getDpsInputs()[0]);
  auto extract = generic.getBody()->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  auto table = extract ? dyn_cast<BlockArgument>(extract.getTensor()) : BlockArgument();
  if (!numbers || !table || read.getNumResults() != 1 || read.getResult(0) != getAffineDimExpr(0, read.getContext()) ||
      !cast<RankedTensorType>(table.getType()).hasStaticShape() || extract.getIndices().size() != 3)
    return std::nullopt;
  Choice choice;
  choice.table = table.getArgNumber();
  choice.numbers = numbers.getArgNumber();
  choice.dims.assign(3, -1);
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    if (auto loop = index.getDefiningOp<linalg::IndexOp>()) {
      choice.dims[loop.getDim()] = dim;
      continue;
    }
    auto placeOp = index.getDefiningOp<PlaceOp>();
    auto cast = placeOp ? placeOp.getNumber().getDefiningOp<arith::IndexCastOp>() : arith::IndexCastOp();
    if (!cast || cast.getIn() != generic.getBody()->getArgument(0))
      return std::nullopt;
    choice.dims[0] = dim;
    choice.fromEnd = placeOp.getFromEnd();
  }
  return llvm::is_contained(choice.dims, -1) ? std::nullopt : std::optional(choice);
}

bool operator==(const Choice &a, const Choice &b) {
  return a.table == b.table && a.numbers == b.numbers && a.dims == b.dims && a.fromEnd == b.fromEnd &&
         a.tableType == b.tableType && a.numbersType == b.numbersType;
}

func::FuncOp calleeOf(func::CallOp call) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
}

} // namespace

std::optional<Choice> choiceOfArgument(ArrayRef<func::CallOp> calls, unsigned argument,
                                       function_ref<bool(Value)> isStatic) {
  std::optional<Choice> common;
  for (func::CallOp call : calls) {
    auto made = call.getOperand(argument).getDefiningOp<func::CallOp>();
    if (!made || !made.getResult(0).hasOneUse())
      return std::nullopt;
    std::optional<Choice> choice = choiceOf(calleeOf(made));
    if (!choice || !isStatic(made.getOperand(choice->table)))
      return std::nullopt;
    choice->tableType = cast<RankedTensorType>(made.getOperand(choice->table).getType());
    choice->numbersType = cast<RankedTensorType>(made.getOperand(choice->numbers).getType());
    if (common && !(*common == *choice))
      return std::nullopt;
    common = choice;
  }
  return common;
}

SmallVector<func::FuncOp> takeTable(func::FuncOp kernel, ArrayRef<func::CallOp> calls, BlockArgument argument,
                                    const Choice &choice) {
  const unsigned number = argument.getArgNumber(), symbols = indexArguments(kernel).size();
  MLIRContext *context = kernel.getContext();
  Builder builder(context);
  AffineExpr batches = sizeOf(argument, 0);
  SmallVector<AffineExpr> sizes;
  for (int64_t size : choice.tableType.getShape())
    sizes.push_back(getAffineConstantExpr(size, context));
  argument.setType(choice.tableType);
  kernel.setArgAttr(number, sizesAttrName, AffineMapAttr::get(AffineMap::get(0, symbols, sizes, context)));
  auto numberSizes = builder.getDictionaryAttr(
      builder.getNamedAttr(sizesAttrName, AffineMapAttr::get(AffineMap::get(0, symbols, batches))));
  (void)kernel.insertArgument(number + 1, choice.numbersType, numberSizes, kernel.getLoc());
  SmallVector<Type> inputs(kernel.getBody().front().getArgumentTypes());
  kernel.setFunctionType(FunctionType::get(context, inputs, kernel.getResultTypes()));
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (auto over = kernel.getArgAttrOfType<DenseI64ArrayAttr>(i, overAttrName)) {
      SmallVector<int64_t> moved(over.asArrayRef());
      for (int64_t &dim : moved)
        dim += dim > int64_t(number);
      kernel.setArgAttr(i, overAttrName, builder.getDenseI64ArrayAttr(moved));
    }
  SmallVector<func::FuncOp> choosers;
  for (func::CallOp call : calls) {
    auto made = call.getOperand(number).getDefiningOp<func::CallOp>();
    call.setOperand(number, made.getOperand(choice.table));
    call->insertOperands(number + 1, made.getOperand(choice.numbers));
    choosers.push_back(calleeOf(made));
    Operation *destination = made.getOperands().back().getDefiningOp();
    made.erase();
    if (destination && isOpTriviallyDead(destination))
      destination->erase();
  }
  return choosers;
}

} // namespace tilewright::tiled

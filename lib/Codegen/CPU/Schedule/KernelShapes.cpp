//===- KernelShapes.cpp - properties of kernels for the cost model -----------------------===//
//
// Test: test/Codegen/CPU/Schedule/select-schedule.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Schedule/KernelShapes.h"
#include "dialects/Tile/Blocks.h"
#include "dialects/Tile/Sizes.h"

using namespace mlir;

namespace tilewright::tiled {
using namespace tile;

int64_t estimate(AffineExpr size) {
  constexpr int64_t unknownSize = 128;
  auto constant = dyn_cast_or_null<AffineConstantExpr>(size);
  return constant ? constant.getValue() : unknownSize;
}

FailureOr<CostMachine> costMachineOf(func::FuncOp kernel, int64_t threads, int64_t cacheBytes, int64_t sharedBytes,
                                     FirstCache first, StringRef rates) {
  CostMachine machine{MachineRates(), threads, cacheBytes, sharedBytes, first};
  if (first.bytes <= 0 || first.ways <= 0 || first.lineBytes <= 0 || first.bytes % (first.ways * first.lineBytes)) {
    kernel.emitError("an L1 cache of ") << first.bytes << " bytes cannot consist of " << first.ways << " ways of "
                                        << first.lineBytes << "-byte lines";
    return failure();
  }
  if (parseRates(rates, machine.rates))
    return machine;
  kernel.emitError("the rates '") << rates << "' are not in the format of MachineRates.h";
  return failure();
}

int64_t countOf(ArrayRef<AffineExpr> sizes) {
  int64_t product = 1;
  for (AffineExpr size : sizes)
    product *= std::max<int64_t>(1, estimate(size));
  return product;
}

SmallVector<Operation *> membersOf(func::FuncOp kernel) {
  SmallVector<Operation *> members;
  for (Operation &op : kernel.getBody().front())
    if ((isa<linalg::LinalgOp>(op) && !isa<linalg::FillOp>(op)) || op.getName().getDialectNamespace() == "tw_tile" ||
        isa<tensor::PadOp, tensor::InsertSliceOp>(op))
      members.push_back(&op);
  return members;
}

bool isGrouped(MatmulOp matmul, bool splitF16) {
  Type element = cast<ShapedType>(matmul.getInputs()[1].getType()).getElementType();
  return matmul.getGroup() > 1 && !(splitF16 && element.isF16());
}

bool readsTransposed(MatmulOp matmul) {
  return matmul.getLhsPermutation().back() + 1 != int64_t(matmul.getLhsPermutation().size());
}

ProductShape productShapeOf(MatmulOp matmul, ArrayRef<AffineExpr> own, const ProductMachine &machine) {
  const int64_t rank = own.size();
  Type element = cast<ShapedType>(matmul.getInputs()[1].getType()).getElementType();
  ProductShape shape;
  for (AffineExpr size : own.drop_back(2))
    shape.batches *= std::max<int64_t>(1, estimate(size));
  shape.m = std::max<int64_t>(1, estimate(own[rank - 2]));
  shape.panelColumns = matmul.getPanel();
  shape.panels = std::max<int64_t>(1, llvm::divideCeil(estimate(own[rank - 1]), shape.panelColumns));
  shape.k = std::max<int64_t>(1, estimate(tile::sizeOf(matmul.getInputs()[0], matmul.getLhsPermutation().back())));
  shape.bytes = cast<ShapedType>(matmul.getInputs()[0].getType()).getElementTypeBitWidth() / 8;
  // A task copies or converts its operands before it multiplies them in two cases. In the first case, A is transposed.
  // In the second case, the product has more than `rowsNotSplit` rows, and its 16-bit operands are either split into
  // two parts (f16), or converted to f32 because B is not packed in groups along k.
  const bool split = machine.splitF16 && element.isF16(), widened = shape.bytes == 2 && matmul.getGroup() == 1;
  const bool grouped = isGrouped(matmul, machine.splitF16);
  shape.prepared = readsTransposed(matmul) || ((split || widened) && shape.m > rowsNotSplit);
  shape.tiles = machine.tileUnit && (grouped || split);
  const MachineRates &rates = machine.rates;
  shape.rate = !grouped && !split     ? rates.f32
               : element.isF16()      ? rates.f16
               : element.isInteger(8) ? rates.int8
                                      : rates.bf16;
  return shape;
}

RowsShape rowsShapeOf(ArrayRef<Operation *> members, const RowMap &rows) {
  Operation *anchor = members.back();
  SmallVector<AffineExpr> sizes = tile::sizesOf(anchor->getResult(0));
  const int64_t rank = sizes.size();
  RowsShape shape;
  shape.inside = countOf(ArrayRef(sizes).drop_front(rows.numRows));
  for (Operation *member : members)
    for (OpOperand &operand : member->getOpOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.get().getType()); type && type.getRank() > rank)
        shape.inside =
            std::max<int64_t>(shape.inside, llvm::divideCeil(countOf(tile::sizesOf(operand.get())), countOf(sizes)));
  // An op that uses the result of a reduction reads the rows a second time, from the L1 cache.
  shape.readAgain = members.size() > 1 && llvm::any_of(members, [](Operation *member) {
                      auto generic = dyn_cast<linalg::GenericOp>(member);
                      return generic && generic.getNumReductionLoops() > 0;
                    });
  shape.elements = std::max<int64_t>(shape.inside, 1) * countOf(ArrayRef(sizes).take_front(rows.numRows));
  double bytes = 0;
  for (Value argument : anchor->getParentOfType<func::FuncOp>().getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()); type && type.getElementType().isIntOrFloat())
      bytes += double(countOf(tile::sizesOf(argument))) * std::max(1u, type.getElementTypeBitWidth() / 8);
  shape.bytesPerElement = bytes / double(shape.elements);
  return shape;
}

std::optional<SmallVector<OpenRow>> openRows(func::FuncOp kernel) {
  SmallVector<Operation *> members = membersOf(kernel);
  std::string reason;
  std::optional<RowMap> rows;
  for (Operation *member : members) {
    if (isa<PackOp, AttentionGradientOp>(member))
      return SmallVector<OpenRow>{};
    if (isa<AttentionOp>(member))
      return SmallVector<OpenRow>{{2, 1}};
    if (!isa<MatmulOp, ConvolutionOp>(member))
      continue;
    if (!rows && !(rows = computeRows(members, reason)))
      return SmallVector<OpenRow>{};
    // The tile size can be chosen for the rows of a matrix or the lines of an image. For columns and filters, it can be
    // chosen in whole panels.
    ArrayRef<int64_t> rowOfLoop = rows->rowOfLoop[member];
    if (auto matmul = dyn_cast<MatmulOp>(member)) {
      int64_t loops = numLoops(member);
      return SmallVector<OpenRow>{{rowOfLoop[loops - 2], 1}, {rowOfLoop[loops - 1], int64_t(matmul.getPanel())}};
    }
    return SmallVector<OpenRow>{{rowOfLoop[1], 1}, {rowOfLoop[3], int64_t(cast<ConvolutionOp>(member).getPanel())}};
  }
  return std::nullopt;
}

} // namespace tilewright::tiled

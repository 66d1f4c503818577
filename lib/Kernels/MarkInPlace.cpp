//===- MarkInPlace.cpp - results of kernels that may overwrite operands ------------===//
//
// Before:
//   func @kernel_0(%p, %g, %new) attributes {tw.kernel} {
//     %0 = linalg.generic {p[i] - 0.1 * g[i]} ins(%p, %g) outs(%new) ; return %0 }
// After:
//   func @kernel_0(%p, %g, %new {tw.over = array<i64: 0, 1>}) ...
//
// A result may use the memory of an operand if no element is read after it is written. There are two such cases. In the
// first, only the op that computes the result reads the operand, and only at the index that it writes. In the second,
// earlier ops read the operand, too, but all ops of the kernel compute element by element, so that a tile reads only
// its own elements. Each tile must compute a separate part of the result. Only kernels that consist of linalg.generic
// ops without contractions are marked.
//
// The attribute tw.over is needed for results that are written into arguments (tw.into on @main's results), as in an
// optimizer's step or for running means.
//
// Test: test/Kernels/mark-in-place.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "dialects/Tile/Rows.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Pass/Pass.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_MARKINPLACE
#include "tilewright/Passes.h.inc"
namespace structured {
namespace {

/// Returns true if the op has one loop per dimension of its results, and accesses all tensors of that rank at the
/// indices of the loops.
bool isElementByElement(linalg::GenericOp op) {
  if (op.getNumReductionLoops() > 0)
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool whole = map.getNumResults() == op.getNumLoops();
    if ((whole || op.isDpsInit(&operand)) && !map.isIdentity())
      return false;
  }
  return true;
}

class OverFinder {
public:
  explicit OverFinder(func::FuncOp kernel) : kernel(kernel) {
    for (Operation &op : kernel.getBody().front()) {
      if (isa<linalg::FillOp>(op))
        continue;
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (generic) {
        members.push_back(&op);
        plain &= isElementByElement(generic);
      }
      // `others` is true if contractions or ops other than linalg.generic compute results, such as concatenations and
      // ops of tw_tile.
      others |= tile::isContractionRoot(&op) || (!generic && isa<TilingInterface, DestinationStyleOpInterface>(op));
    }
  }

  void run() {
    Operation *end = kernel.getBody().front().getTerminator();
    unsigned first = kernel.getNumArguments() - end->getNumOperands();
    std::string reason;
    if (!others && !members.empty())
      rows = tile::computeRows(members, reason);
    if (!rows)
      return;
    for (OpOperand &returned : end->getOpOperands()) {
      auto producer = returned.get().getDefiningOp<linalg::GenericOp>();
      if (!producer || producer.getNumReductionLoops() > 0 || !hasAllRows(producer))
        continue;
      SmallVector<int64_t> over;
      for (BlockArgument operand : kernel.getArguments().take_front(first))
        if (operand.getType() == returned.get().getType() && allows(operand, cast<OpResult>(returned.get())))
          over.push_back(operand.getArgNumber());
      if (!over.empty())
        kernel.setArgAttr(first + returned.getOperandNumber(), overAttrName,
                          DenseI64ArrayAttr::get(kernel.getContext(), over));
    }
  }

private:
  bool hasAllRows(Operation *op) {
    SmallVector<int64_t> own = rows->rowOfLoop.lookup(op);
    return llvm::all_of(llvm::seq<int64_t>(0, rows->numRows),
                        [&](int64_t row) { return llvm::is_contained(own, row); });
  }

  bool allows(BlockArgument operand, OpResult result) {
    auto producer = cast<linalg::GenericOp>(result.getOwner());
    AffineMap written = producer.getIndexingMapMatchingResult(result);
    return llvm::all_of(operand.getUses(), [&](OpOperand &use) {
      auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!reader || reader.isDpsInit(&use))
        return false;
      AffineMap read = reader.getMatchingIndexingMap(&use);
      if (reader == producer)
        return read == written && written.isPermutation();
      return plain && reader->isBeforeInBlock(producer) && read.isIdentity() && written.isIdentity() &&
             rows->rowOfLoop.lookup(reader) == rows->rowOfLoop.lookup(producer);
    });
  }

  func::FuncOp kernel;
  SmallVector<Operation *> members;
  std::optional<tile::RowMap> rows;
  bool plain = true, others = false;
};

struct MarkInPlace : impl::MarkInPlaceBase<MarkInPlace> {
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    bool wanted = false;
    for (unsigned i = 0; main && i < main.getNumResults(); ++i)
      wanted |= bool(main.getResultAttr(i, graph::intoAttrName));
    if (!wanted)
      return;
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName))
        OverFinder(kernel).run();
  }
};
} // namespace

} // namespace structured
} // namespace tilewright

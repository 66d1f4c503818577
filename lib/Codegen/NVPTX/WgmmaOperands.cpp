//===- WgmmaOperands.cpp - coordinates of the tiles of A and B in their tensor maps ---------===//
//
// Tests: test/Codegen/NVPTX/wgmma.mlir, test/Codegen/NVPTX/convolution-wgmma.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/NVPTX/WgmmaOperands.h"
#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;

std::optional<WgmmaOperands::Operand> WgmmaOperands::describe(const Contraction &of, OpOperand *operand,
                                                              ArrayRef<unsigned> side, int64_t size,
                                                              const Value *origin, Value map) {
  std::string reason;
  std::optional<MappedOperand> mapped = mapOperand(of, operand, side, reason);
  if (!mapped) {
    kernel.from.emitOpError("its schedule `wgmma` does not fit: ") << reason;
    return std::nullopt;
  }
  uint32_t buffer = 0;
  for (BlockArgument argument : kernel.from.getArguments().take_front(imageOf(operand->get()).getArgNumber()))
    buffer += isa<RankedTensorType>(argument.getType());
  return Operand{*mapped, mapped->recipe(buffer, size), map, origin, size};
}

Value WgmmaOperands::sideOf(const Operand &operand, int64_t box) {
  Value side = elements.add(*operand.origin, index(box * lineElements(operand.mapped.element)));
  if (operand.parts == 1)
    return side;
  Value part = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), rank);
  return elements.add(side, elements.multiply(part, index(operand.side)));
}

WgmmaOperands::Coordinates WgmmaOperands::coordinatesOf(const Operand &operand, ArrayRef<Value> windows, int64_t box,
                                                        const Depth &at) {
  if (operand.mapped.patches)
    return patchesAt(operand, sideOf(operand, box), at);
  if (windows.empty())
    return {indicesOf(operand, sideOf(operand, box), at), {}};
  SmallVector<Value> indices{toI32(depthOf(operand.mapped.runs.front(), at))};
  llvm::append_range(indices, windows);
  return {indices, offsetsOf(operand, at)};
}

SmallVector<Value> WgmmaOperands::windowsOf(const Operand &operand) {
  if (!operand.mapped.hasWindows() || operand.mapped.patches)
    return {};
  SmallVector<unsigned> loops(operand.mapped.runs.back().loops);
  const size_t images = loops.size();
  for (const MappedOperand::Run &run : llvm::reverse(operand.mapped.runs))
    if (run.window && run.window->window)
      loops.push_back(*run.window->window);
  Value side = sideOf(operand, 0);
  // In a cluster, a tile may begin after the last window. The results of such a tile are not stored, but the position
  // of its loads must be valid.
  if (schedule.cluster > 1)
    side = arith::MinUIOp::create(builder, loc, side, elements.add(code.extentOf(loops), index(-1)));
  SmallVector<Value> extents = code.extentsOf(loops), at = elements.delinearize(side, extents), made;
  size_t number = loops.size();
  for (const MappedOperand::Run &run : operand.mapped.runs)
    if (run.window) {
      Value first = run.window->window ? elements.multiply(at[--number], index(run.window->step)) : index(0);
      made.push_back(toI32(elements.add(first, index(run.window->lower))));
    }
  made.push_back(toI32(elements.linearize(ArrayRef(at).take_front(images), ArrayRef(extents).take_front(images))));
  return made;
}

WgmmaOperands::Coordinates WgmmaOperands::patchesAt(const Operand &operand, Value side, const Depth &at) {
  const Patches &patches = *operand.mapped.patches;
  SmallVector<Value> tapExtents, windowExtents{index(patches.images)};
  int64_t rows = patches.channels;
  for (const WindowDimension &window : patches.windows) {
    tapExtents.push_back(index(window.taps));
    windowExtents.push_back(index(window.windows));
    rows *= window.taps;
  }
  tapExtents.push_back(index(patches.channels));
  // Results of rows after the last row are not stored, but the boxes of these rows must be valid.
  side = arith::MinUIOp::create(builder, loc, side, index(rows - lineElements(operand.mapped.element)));
  Value first = at.rest;
  if (!product.batches.empty())
    first = elements.add(elements.multiply(code.batchOf(product.batches), index(patches.rows)), first);
  const SmallVector<Value> tap = elements.delinearize(side, tapExtents),
                           window = elements.delinearize(first, windowExtents);
  Coordinates made{{toI32(tap.back())}, {}};
  for (size_t dim = patches.windows.size(); dim-- > 0;) {
    const WindowDimension &each = patches.windows[dim];
    made.at.push_back(toI32(elements.add(elements.multiply(window[dim + 1], index(each.step)), index(each.lower))));
    made.offsets.push_back(toI32(elements.multiply(tap[dim], index(each.dilation))));
  }
  made.at.push_back(toI32(elements.add(window[0], index(patches.firstImage))));
  return made;
}

SmallVector<Value> WgmmaOperands::offsetsOf(const Operand &operand, const Depth &at) {
  SmallVector<Value> offsets;
  for (const MappedOperand::Run &run : operand.mapped.runs)
    if (run.window)
      offsets.push_back(toI32(
          run.window->tap ? elements.multiply(tapOf({*run.window->tap}, at), index(run.window->dilation)) : index(0)));
  return offsets;
}

Value WgmmaOperands::depthOf(const MappedOperand::Run &run, const Depth &at) {
  if (!run.batch)
    return at.rest;
  return elements.add(elements.multiply(code.batchOf({*run.batch}), code.extentOf(run.loops)), at.rest);
}

Value WgmmaOperands::tapOf(ArrayRef<unsigned> loops, const Depth &at) {
  SmallVector<Value> indices =
      llvm::map_to_vector(loops, [&](unsigned loop) { return at.taps[size_t(llvm::find(taps, loop) - taps.begin())]; });
  return elements.linearize(indices, code.extentsOf(loops));
}

Value WgmmaOperands::partOf(AffineExpr expr, const Depth &at) {
  SmallVector<Value> loops(product.op.getNumLoops());
  const unsigned loop = *loopOfParts(expr);
  loops[loop] = tapOf({loop}, at);
  return affine::expandAffineExpr(builder, loc, expr, loops, {});
}

SmallVector<Value> WgmmaOperands::indicesOf(const Operand &operand, Value side, const Depth &at) {
  using Part = MappedOperand::Part;
  return llvm::map_to_vector(operand.mapped.runs, [&](const MappedOperand::Run &run) {
    return toI32(run.part == Part::Side    ? side
                 : run.part == Part::Depth ? depthOf(run, at)
                 : run.part == Part::Tap   ? (run.index ? partOf(run.index, at) : tapOf(run.loops, at))
                                           : code.batchOf(run.loops));
  });
}

} // namespace tilewright::cuda

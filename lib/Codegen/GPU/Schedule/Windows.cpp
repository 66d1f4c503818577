//===- Windows.cpp - select the tile of a grouped convolution --------------------------------===//
//
//   tw_tile.grouped_convolution {3 x 3, padding = [1, 1]} ins(%x : 32x112x112x96xbf16) outs(...)
//     ->  tw.schedule = #tw_gpu.schedule<kind = windows, threads = 128, vector = 8, tile = [2, 4]>
//
// A thread computes `vector` channels of a tile of lines and pixels. A larger tile reads fewer elements of the input
// and of the weight per result, until its sums do not fit in registers. A smaller tile leaves fewer pixels of the last
// tile of a line unused, and gives the GPU more threads. The time of a tile is estimated by the number of loads of 16
// bytes, which the L1 cache executes, and of multiply-adds.
//
// Tests: test/Codegen/NVPTX/grouped-convolution.mlir, test/Python/test_cuda_windows.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/Windows.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns `size`, or `otherwise` if it is symbolic.
int64_t sizeOr(int64_t size, int64_t otherwise) { return ShapedType::isDynamic(size) ? otherwise : size; }

} // namespace

WindowSizes::WindowSizes(tile::GroupedConvolutionOp op) {
  auto weight = cast<ShapedType>(op.getInputs()[1].getType());
  lines = weight.getDimSize(0);
  pixels = weight.getDimSize(1);
  perGroup = weight.getDimSize(2);
  filters = weight.getDimSize(3) / op.getGroups();
}

tile::GroupedConvolutionOp matchWindows(func::FuncOp kernel) {
  tile::GroupedConvolutionOp found;
  llvm::SmallPtrSet<Value, 8> dependent;
  auto reads = [&](Value value) { return dependent.contains(value); };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto grouped = dyn_cast<tile::GroupedConvolutionOp>(op)) {
      if (found || !grouped.getFirst().empty() || llvm::any_of(op.getOperands(), reads))
        return {};
      found = grouped;
      dependent.insert(op.getResult(0));
      continue;
    }
    if (isa<tile::ScanOp, tile::ScatterOp, tile::SortOp, tile::DepthwiseGradientOp>(op))
      return {};
    auto inside = op.walk([&](Operation *inner) {
      return inner != &op && llvm::any_of(inner->getOperands(), reads) ? WalkResult::interrupt()
                                                                       : WalkResult::advance();
    });
    if (inside.wasInterrupted())
      return {};
    if (llvm::none_of(op.getOperands(), reads))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || generic.getNumReductionLoops() > 0)
      return {};
    for (OpOperand &operand : op.getOpOperands())
      if ((reads(operand.get()) || generic.isDpsInit(&operand)) &&
          !generic.getMatchingIndexingMap(&operand).isIdentity())
        return {};
    for (Value result : op.getResults())
      dependent.insert(result);
  }
  if (!found || !llvm::all_of(kernel.getBody().front().getTerminator()->getOperands(), reads))
    return {};
  return found;
}

Schedule chooseWindows(tile::GroupedConvolutionOp op, int64_t vector, const Arch &arch) {
  const WindowSizes window(op);
  auto type = cast<ShapedType>(op->getResult(0).getType());
  const bool isDouble = type.getElementType().isF64();
  Schedule schedule;
  schedule.kind = Schedule::Kind::Windows;
  schedule.threads = 128;
  // The filters of a group read the same channels. If a vector had filters of two groups, its loads would not be
  // merged.
  if (window.filters > 1)
    while (vector > 1 && window.filters % vector != 0 && vector % window.filters != 0)
      vector /= 2;
  schedule.vector = isDouble ? std::min<int64_t>(vector, 4) : vector;
  const int64_t sums = mostSumsOfWindows / 2 / (isDouble || window.sumsLines() ? 2 : 1) / schedule.vector;
  // A symbolic batch is assumed to have one image, and a symbolic image 32 lines and pixels.
  const int64_t images = sizeOr(type.getDimSize(0), 1), height = sizeOr(type.getDimSize(1), 32),
                width = sizeOr(type.getDimSize(2), 32), groups = type.getDimSize(3) / schedule.vector;
  const double bytes = cast<ShapedType>(op.getInputs()[0].getType()).getElementTypeBitWidth() / 8.0,
               weightBytes = type.getElementTypeBitWidth() / 8.0;
  constexpr int64_t mostPixels = 8, mostLines = 2;
  // If a multiprocessor has fewer blocks than this number, it waits for loads.
  constexpr int64_t leastBlocks = 3;
  double least = 0;
  for (int64_t lines = 1; lines <= (window.unrollsWindow() ? mostLines : 1); ++lines)
    for (int64_t pixels = 1; pixels <= mostPixels && (lines * pixels <= sums || lines * pixels == 1); ++pixels) {
      const int64_t threads =
          images * int64_t(llvm::divideCeil(height, lines) * llvm::divideCeil(width, pixels)) * groups;
      const int64_t blocks = int64_t(llvm::divideCeil(threads, schedule.threads * arch.multiprocessors));
      const int64_t linesRead = (lines - 1) * op.getStrides()[0] + (window.lines - 1) * op.getDilations()[0] + 1;
      const int64_t columnsRead = std::min(window.columns(pixels, op), pixels * window.pixels);
      const double loads = double(std::min(linesRead, lines * window.lines) * columnsRead) * bytes +
                           double(window.lines * window.pixels) * weightBytes;
      // In one cycle, a multiprocessor loads 128 bytes from the L1 cache, and computes 128 multiply-adds.
      const double cycles = loads + double(lines * pixels * window.lines * window.pixels);
      const double time = cycles * double(std::max(blocks, leastBlocks));
      if (least == 0 || time < least) {
        least = time;
        schedule.tileM = lines;
        schedule.tileN = pixels;
      }
    }
  return schedule;
}

std::string whyNotWindows(const Schedule &schedule, tile::GroupedConvolutionOp op) {
  const WindowSizes window(op);
  if (schedule.tileM > 1 && !window.unrollsWindow())
    return "a tile of several lines needs a depthwise window of at most 9 elements";
  if (schedule.tileM * schedule.tileN * schedule.vector > mostSumsOfWindows)
    return "the tile of a thread has more than " + std::to_string(mostSumsOfWindows) + " sums";
  return "";
}

} // namespace tilewright::gpu

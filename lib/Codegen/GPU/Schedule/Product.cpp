//===- Product.cpp - contractions that tensor cores support ------------------------------===//
#include "lib/Codegen/GPU/Schedule/Product.h"
#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "lib/Codegen/GPU/Schedule/SharedTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {

Type elementOf(Contraction product) { return getElementTypeOrSelf(product.lhs()->get().getType()); }
Type rhsElementOf(Contraction product) { return getElementTypeOrSelf(product.rhs()->get().getType()); }

std::string whyNotOnTensorCores(Contraction product, TensorFormats formats, bool mayPad) {
  linalg::LinalgOp op = product.op;
  Type a = elementOf(product), b = rhsElementOf(product), c = getElementTypeOrSelf(op->getResult(0).getType());
  bool isSigned = llvm::none_of(*op.getBlock(), [](Operation &inner) { return isa<arith::ExtUIOp>(inner); });
  const bool tf32 = formats.tf32 || op->hasAttr(tf32AttrName);
  bool floats = (a.isBF16() || a.isF16() || (tf32 && a.isF32())) && c.isF32();
  bool float8 = formats.float8 && isFloat8(a) && isFloat8(b) && c.isF32();
  bool integers = a.isInteger(8) && isSigned && (c.isInteger(32) || c.isInteger(8));
  if (!float8 && (a != b || !(floats || integers)))
    return "tensor cores multiply bf16 and f16 into f32, f32 where it may be rounded to tf32 (arch sm_80+tf32; in "
           "convolutions also the option tf32_convolutions), "
           "signed i8 into i32 or i8, and e4m3 and e5m2 into f32 (from sm_89 on)";
  auto isInMemory = [&](OpOperand *operand) {
    return isa<BlockArgument>(operand->get()) ||
           (mayPad && (matchPaddedImage(operand->get()) || matchPatches(operand->get())));
  };
  if (!isInMemory(product.lhs()) || !isInMemory(product.rhs()))
    return "an operand is computed in the kernel";
  if (mayPad)
    return ""; // tensor maps do not require this
  if (multipliesParts(product))
    return "an operand consists of bf16 parts of f32 elements, which only the schedule wgmma multiplies";
  auto liesSideBySide = [&](OpOperand *operand, ArrayRef<unsigned> side) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    auto last = dyn_cast_or_null<AffineDimExpr>(map.getNumResults() ? map.getResults().back() : AffineExpr());
    return last && (last.getPosition() == product.depth.back() || last.getPosition() == side.back());
  };
  if (!liesSideBySide(product.lhs(), product.rows) || !liesSideBySide(product.rhs(), product.columns))
    return "an operand is contiguous neither along the sum nor along its innermost row or column loop";
  return "";
}

AffineExpr partOfPair(AffineExpr pair) {
  constexpr int64_t parts = 3;
  return (pair * -6).floorDiv(5) % parts;
}

std::optional<unsigned> loopOfParts(AffineExpr expr) {
  std::optional<unsigned> loop;
  expr.walk([&](AffineExpr each) {
    if (isa<AffineDimExpr>(each) && expr == partOfPair(each))
      loop = cast<AffineDimExpr>(each).getPosition();
  });
  return loop;
}

bool multipliesParts(Contraction product) {
  return llvm::any_of(product.op.getIndexingMapsArray(), [](AffineMap map) {
    return llvm::any_of(map.getResults(), [](AffineExpr expr) { return loopOfParts(expr).has_value(); });
  });
}

bool addsTiles(Contraction product) { return isFloat8(elementOf(product)) || multipliesParts(product); }

int64_t registersOf(const Schedule &schedule, int64_t sets) {
  const int64_t rows = schedule.m / schedule.warpsM, columns = schedule.n / schedule.warpsN;
  return sets * rows * columns / warpSize + rows / 16 * 4 + columns / 8 * 2 + aroundRegisters;
}

std::string whyNotMma(const Schedule &schedule, Contraction product, int64_t sharedBytes) {
  int64_t rows = schedule.m / schedule.warpsM, columns = schedule.n / schedule.warpsN;
  if (schedule.m % schedule.warpsM != 0 || rows % 16 != 0)
    return "a warp has " + std::to_string(rows) + " rows, which is not a multiple of 16";
  if (std::string reason = whyNotWholeRows(product, columns); !reason.empty())
    return reason;
  if (schedule.n % schedule.warpsN != 0 || columns % 16 != 0)
    return "a warp has " + std::to_string(columns) + " columns, which is not a multiple of 16";
  int64_t step = stepOf(elementOf(product));
  if (schedule.k % step != 0)
    return "k is " + std::to_string(schedule.k) + ", but must be a multiple of " + std::to_string(step);
  if (!llvm::isPowerOf2_64(schedule.m) || !llvm::isPowerOf2_64(schedule.n) || !llvm::isPowerOf2_64(schedule.k))
    return "the sizes of a block's tile must be powers of two";
  if (schedule.stages < 2)
    return "stages must be two or more";
  if (schedule.threads != schedule.warpsM * schedule.warpsN * warpSize)
    return "it has " + std::to_string(schedule.threads) + " threads, but its warps have " +
           std::to_string(schedule.warpsM * schedule.warpsN * warpSize);
  if (schedule.threads > mostThreads)
    return "a block has at most " + std::to_string(mostThreads) + " threads";
  int64_t bytes = (schedule.m + schedule.n) * schedule.k * bytesOf(elementOf(product)) * schedule.stages;
  int64_t most = std::min(sharedBytes, mostStaticShared);
  if (bytes > most)
    return "it needs " + std::to_string(bytes) + " bytes of shared memory, and a block has " + std::to_string(most);
  if (int64_t used = registersOf(schedule, setsOfSums(product)); used > mostRegisters)
    return "it needs about " + std::to_string(used) + " registers, and a thread has " + std::to_string(mostRegisters);
  return "";
}

} // namespace tilewright::gpu

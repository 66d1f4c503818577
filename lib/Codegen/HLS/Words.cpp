//===- Words.cpp - arrays whose banks can be concatenated into words ---------------------------===//
//
//   for i (unrolled by 16): w[k, j * 16 + i]          the 16 banks are one word, addressed by k and j
//   for i (unrolled by 16): w[k, j + i]               the banks are not one word: the elements may be in two words
//   w[k, j] = ...                                     the banks are not one word: the store would have to read the word
//
// Test: test/Codegen/HLS/place-words.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Words.h"
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/DataMovers.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include <optional>

using namespace mlir;

namespace tilewright::hls {
namespace {

/// The elements that all unrolled copies of an access use along one dimension of the array.
struct Span {
  int64_t elements = 1;
  bool isAligned = true; ///< the span begins with the first bank
  bool isWhole = true;   ///< the span consists of whole words
};

/// Returns result number `result` of `map` as a linear expression: a coefficient for each dimension, and a constant.
/// Returns std::nullopt if the result is not linear.
std::optional<SmallVector<int64_t>> linear(AffineMap map, unsigned result) {
  SmallVector<int64_t> coefficients;
  if (map.getNumSymbols() > 0 ||
      failed(getFlattenedAffineExpr(map.getResult(result), map.getNumDims(), 0, &coefficients)) ||
      coefficients.size() != map.getNumDims() + 1)
    return std::nullopt;
  return coefficients;
}

/// Returns the span of an access along a dimension of `banks` banks. The index is linear in `operands`.
Span spanOf(ArrayRef<int64_t> coefficients, OperandRange operands, int64_t banks) {
  Span span;
  int64_t together = 1;
  for (auto [coefficient, operand] : llvm::zip(coefficients.drop_back(), operands)) {
    affine::AffineForOp loop = affine::getForInductionVarOwner(operand);
    auto attribute = loop ? loop->getAttrOfType<LoopAttr>(loopAttrName) : LoopAttr();
    const int64_t copies = attribute ? attribute.getUnroll() : 1;
    span.isAligned &= coefficient >= 0 && (copies > 1 || coefficient % banks == 0);
    if (copies > 1 && coefficient > 0) {
      span.elements += (copies - 1) * coefficient;
      together *= copies;
    }
  }
  span.isAligned &= coefficients.back() % banks == 0;
  span.isWhole = together == span.elements && span.elements % banks == 0;
  return span;
}

bool takesWholeWords(MemRefType type, AffineMap map, OperandRange operands, bool writes) {
  PartitionAttr banks = banksOf(type);
  if (!banks)
    return false;
  int64_t words = 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    std::optional<SmallVector<int64_t>> coefficients = linear(map, dim);
    if (!coefficients)
      return false;
    const int64_t count = banks.getBanks(dim, type.getDimSize(dim));
    const Span span = spanOf(*coefficients, operands, count);
    if (count == 1) {
      words *= span.elements;
      continue;
    }
    if (span.elements == 1 && !writes) // a load of one element reads the whole word
      continue;
    if (!span.isAligned || (writes && !span.isWhole))
      return false;
    words *= llvm::divideCeil(span.elements, count);
  }
  return words <= portsOfBank;
}

} // namespace

bool takesWholeWords(Value array) {
  auto type = cast<MemRefType>(array.getType());
  return llvm::all_of(array.getUsers(), [&](Operation *user) {
    if (auto load = dyn_cast<affine::AffineLoadOp>(user))
      return takesWholeWords(type, load.getAffineMap(), load.getMapOperands(), /*writes=*/false);
    if (auto store = dyn_cast<affine::AffineStoreOp>(user))
      return store.getMemRef() == array &&
             takesWholeWords(type, store.getAffineMap(), store.getMapOperands(), /*writes=*/true);
    return isa<TaskOp>(user);
  });
}

} // namespace tilewright::hls

//===- Combiner.cpp - how reductions, scans and scatters combine elements -------------===//
//
// Test: test/Unit/Dialects/CombinerTest.cpp
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Combiner.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace tilewright::tile {
namespace {

enum class Elements { Float, Integer, Signed, Unsigned };
enum class Identity { Zero, One, Least, Greatest, AllOnes };

struct Facts {
  Identity identity;
  bool rounds;
};

Facts factsOf(Combiner combiner) {
  switch (combiner) {
#define TW_COMBINER(NAME, IDENTITY, ROUNDS)                                                                            \
  case Combiner::NAME:                                                                                                 \
    return {Identity::IDENTITY, ROUNDS};
#include "dialects/Tile/Combiners.def"
  }
  llvm_unreachable("every combiner has a row");
}

bool contains(Elements elements, Type element, bool isUnsigned) {
  switch (elements) {
  case Elements::Float:
    return isa<FloatType>(element);
  case Elements::Integer:
    return isa<IntegerType, IndexType>(element);
  case Elements::Signed:
    return isa<IntegerType, IndexType>(element) && !isUnsigned;
  case Elements::Unsigned:
    return isa<IntegerType, IndexType>(element) && isUnsigned;
  }
  llvm_unreachable("every kind of elements is above");
}

template <Elements elements, typename OpTy>
Value create(OpBuilder &b, Location loc, Value x, Value y, arith::FastMathFlags flags) {
  if constexpr (elements == Elements::Float)
    return OpTy::create(b, loc, x, y, arith::FastMathFlagsAttr::get(b.getContext(), flags));
  else
    return OpTy::create(b, loc, x, y);
}

APFloat floatIdentity(Identity identity, const llvm::fltSemantics &semantics) {
  switch (identity) {
  case Identity::Zero:
    return APFloat::getZero(semantics);
  case Identity::One:
    return APFloat(semantics, 1);
  case Identity::Least:
    return APFloat::getInf(semantics, /*Negative=*/true);
  case Identity::Greatest:
    return APFloat::getInf(semantics);
  case Identity::AllOnes:
    break; // only integers have this identity
  }
  llvm::reportFatalInternalError("a bitwise combiner has no identity for floats");
}

APInt integerIdentity(Identity identity, unsigned width, bool isUnsigned) {
  switch (identity) {
  case Identity::Zero:
    return APInt::getZero(width);
  case Identity::One:
    return APInt(width, 1);
  case Identity::Least:
    return isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  case Identity::Greatest:
    return isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  case Identity::AllOnes:
    return APInt::getAllOnes(width);
  }
  llvm_unreachable("every identity is above");
}

} // namespace

Combiner combinerOf(ScanKind kind) {
  switch (kind) {
  case ScanKind::Sum:
    return Combiner::Sum;
  case ScanKind::Prod:
    return Combiner::Product;
  case ScanKind::Max:
    return Combiner::Maximum;
  case ScanKind::Min:
    return Combiner::Minimum;
  }
  llvm_unreachable("every kind of scan is above");
}

std::optional<Combiner> combinerOf(ScatterKind kind) {
  switch (kind) {
  case ScatterKind::Set:
    return std::nullopt;
  case ScatterKind::Add:
    return Combiner::Sum;
  case ScatterKind::Mul:
    return Combiner::Product;
  case ScatterKind::Max:
    return Combiner::Maximum;
  case ScatterKind::Min:
    return Combiner::Minimum;
  }
  llvm_unreachable("every kind of scatter is above");
}

std::optional<Combiner> combinerOf(Operation *op) {
#define TW_COMBINER_OP(NAME, ELEMENTS, OP, VECTOR_KIND)                                                                \
  if (isa<arith::OP>(op))                                                                                              \
    return Combiner::NAME;
#include "dialects/Tile/Combiners.def"
  return std::nullopt;
}

Operation *combinerOf(linalg::LinalgOp op, unsigned number) {
  Block *body = op.getBlock();
  Operation *combiner = body->getTerminator()->getOperand(number).getDefiningOp();
  BlockArgument accumulator = op.getRegionOutputArgs()[number];
  if (!combiner || combiner->getBlock() != body || !accumulator.hasOneUse() || *accumulator.user_begin() != combiner)
    return nullptr;
  return combinerOf(combiner) ? combiner : nullptr;
}

bool dependsOnOrder(Combiner combiner, Type element) { return isa<FloatType>(element) && factsOf(combiner).rounds; }

TypedAttr identityOf(Combiner combiner, Type element, bool isUnsigned) {
  const Identity identity = factsOf(combiner).identity;
  OpBuilder b(element.getContext());
  if (auto type = dyn_cast<FloatType>(element))
    return b.getFloatAttr(type, floatIdentity(identity, type.getFloatSemantics()));
  const unsigned width =
      isa<IndexType>(element) ? IndexType::kInternalStorageBitWidth : element.getIntOrFloatBitWidth();
  return b.getIntegerAttr(element, integerIdentity(identity, width, isUnsigned));
}

TypedAttr identityOf(Operation *combiner) {
  Type element = combiner->getResult(0).getType();
#define TW_COMBINER_OP(NAME, ELEMENTS, OP, VECTOR_KIND)                                                                \
  if (isa<arith::OP>(combiner))                                                                                        \
    return identityOf(Combiner::NAME, element, Elements::ELEMENTS == Elements::Unsigned);
#include "dialects/Tile/Combiners.def"
  llvm::reportFatalInternalError("no combiner: " + combiner->getName().getStringRef());
}

Value combine(OpBuilder &b, Location loc, Combiner combiner, Value x, Value y, bool isUnsigned,
              arith::FastMathFlags flags) {
  Type element = getElementTypeOrSelf(x.getType());
#define TW_COMBINER_OP(NAME, ELEMENTS, OP, VECTOR_KIND)                                                                \
  if (combiner == Combiner::NAME && contains(Elements::ELEMENTS, element, isUnsigned))                                 \
    return create<Elements::ELEMENTS, arith::OP>(b, loc, x, y, flags);
#include "dialects/Tile/Combiners.def"
  llvm::reportFatalInternalError("a combiner is not defined on elements of this type");
}

} // namespace tilewright::tile

//===- SplitF32.cpp - products of f32 as products of bf16 parts ------------------------------===//
//
// Before:
//   %r = call @kernel_0(%x, %w, %b, %into)             // x: 4096 x 768 x f32, w: 768 x 3072 x f32
// After:
//   %p = call @kernel_0_bf16_parts(%x, %empty0)        // 4096 x 3 x 768 x bf16: the three parts of each row
//   %q = call @kernel_0_bf16_parts_0(%w, %empty1)      // 768 x 6 x 3072 x bf16: the parts 2, 1, 1, 0, 0, 0 of each row
//   %r = call @kernel_0_bf16(%p, %q, %b, %into)        // sums over the rows of w and over six pairs of parts
//
// A finite f32 has 24 significant bits. It is the exact sum of three bf16 parts of eight bits each. Part 0 is the
// element, rounded to bf16. Each further part is the remaining difference, rounded to bf16.
// is the sum of nine products of parts, each of which is exact in f32. Three of them are together at most 2^-24 of the
// product and are left out, so tensor cores compute six products of bf16 instead of one of f32. The loop over the pairs
// comes first, with the smallest products first. The sums of each step along k are added in f32 (addsTiles()), because
// tensor cores truncate sums. The indices of the parts are affine functions of the loop, so the product is an ordinary
// linalg op:
//
//   pair                          0 1 2 3 4 5
//   part of the ordered operand   2 1 1 0 0 0    its parts are stored in the order of the pairs
//   part of the other operand     0 1 0 2 1 0    (-6 pair floordiv 5) mod 3, partOfPair()
//
// Parts below 2^-133 are rounded, because bf16 has no smaller numbers. Elements below 2^-110 therefore have fewer than
// 24 bits. If an element is infinite, or a result overflows, the result may be NaN, because infinity is multiplied by
// parts that are 0, or because sums of different pairs overflow with different signs. An operand that the kernel also
// reads elsewhere, or on both sides of the product, is not divided. The option f32_fma turns this pass off. See Henry,
// Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations",
// 2019.
//
// Tests: test/Codegen/GPU/Schedule/split-f32.mlir, test/Python/test_cuda_f32_parts.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/SplitF32.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr int64_t numParts = 3, numPairs = 6;

class PartSplitter {
public:
  PartSplitter(ModuleOp module, const Arch &arch)
      : module(module), symbols(module), arch(arch), builder(module), copies(builder, symbols) {}

  void run() {
    for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (kernel->hasAttr(kernelAttrName) && !kernel->hasAttr(scheduleAttrName))
        split(kernel);
  }

private:
  /// An argument of the kernel that is an operand of the product.
  struct Operand {
    BlockArgument argument;
    int64_t parts; ///< numPairs for the ordered operand, else numParts
    RankedTensorType type() const { return cast<RankedTensorType>(argument.getType()); }
    /// Returns the type of the copy, which has `parts` bf16 parts of each row.
    RankedTensorType partsType() const {
      SmallVector<int64_t> shape(type().getShape());
      shape.insert(shape.end() - 1, parts);
      return RankedTensorType::get(shape, BFloat16Type::get(type().getContext()));
    }
  };

  /// Returns the operands of an f32 product, or an empty list if they cannot be divided into parts.
  static SmallVector<Operand> operandsOf(Contraction &product) {
    if (product.op->hasAttr(tf32AttrName))
      return {};
    SmallVector<Operand> operands;
    for (OpOperand *operand : {product.lhs(), product.rhs()}) {
      auto argument = dyn_cast<BlockArgument>(operand->get());
      auto type = dyn_cast<RankedTensorType>(operand->get().getType());
      if (!argument || !argument.hasOneUse() || !type.hasStaticShape() || type.getRank() < 2 ||
          !type.getElementType().isF32() || !product.op.getMatchingIndexingMap(operand).isProjectedPermutation())
        return {};
      operands.push_back({argument, numParts});
    }
    const bool firstIsSmaller = operands[0].type().getNumElements() < operands[1].type().getNumElements();
    operands[firstIsSmaller ? 0 : 1].parts = numPairs;
    return operands;
  }

  /// Returns an estimate of the nanoseconds that the schedule `fma` takes.
  double nanosecondsOfFma(Contraction &product) const {
    // Operations per nanosecond of all multiprocessors, and nanoseconds of a launch. On an H200, f32 products of 1024
    // to 4096 rows run at 26 to 28 Tflop/s with this schedule.
    constexpr double rate = 27e3, launch = 3000;
    const std::optional<Schedule> fma = chooseFma(product);
    if (!fma)
      return 0;
    const auto tiles =
        double(llvm::divideCeil(product.likelySizeOf(product.rows), fma->m) *
               llvm::divideCeil(product.likelySizeOf(product.columns), fma->n) * product.likelySizeOf(product.batches));
    const double waves = std::ceil(tiles / double(arch.multiprocessors));
    const double operations = 2 * double(fma->m * fma->n * product.likelySizeOf(product.depth));
    return waves * operations * double(arch.multiprocessors) / rate + launch;
  }

  /// Returns an estimate of the nanoseconds of copying the operands to their parts.
  static double nanosecondsOfCopies(ArrayRef<Operand> operands) {
    constexpr double moved = 1 / 4e3, launch = 3000; // nanoseconds per byte and of a launch (H200)
    double time = 0;
    for (const Operand &operand : operands)
      time += double(operand.type().getNumElements() * (4 + 2 * operand.parts)) * moved + launch;
    return time;
  }

  void split(func::FuncOp kernel) {
    std::string reason;
    std::optional<Contraction> product = matchContraction(kernel, reason);
    if (!product || whyNotOnTensorCores(*product, arch.formats(), /*mayPad=*/true).empty())
      return;
    SmallVector<Operand> operands = operandsOf(*product);
    if (operands.empty())
      return;
    func::FuncOp made = makeProduct(kernel, *product, operands);
    symbols.insert(made);
    std::optional<Contraction> ofParts = matchContraction(made, reason);
    const std::optional<Schedule> schedule = ofParts ? wgmmaFor(*ofParts, arch) : std::nullopt;
    if (!schedule ||
        nanosecondsOfWgmma(*schedule, *ofParts, arch) + nanosecondsOfCopies(operands) >= nanosecondsOfFma(*product))
      return symbols.erase(made);
    setSchedule(made, *schedule);
    for (func::CallOp call : callsOf(module, kernel))
      replace(call, made, operands);
    symbols.erase(kernel);
  }

  /// Returns a new kernel that computes the same as `kernel` from bf16 parts. The caller adds calls of the new kernel.
  func::FuncOp makeProduct(func::FuncOp kernel, Contraction &product, ArrayRef<Operand> operands) {
    SmallVector<Type> types(kernel.getArgumentTypes());
    for (const Operand &operand : operands)
      types[operand.argument.getArgNumber()] = operand.partsType();
    func::FuncOp made =
        makeKernel(builder, kernel, "_bf16", types, kernel.getResultTypes(), kernel->getAttr(opsAttrName));
    copySizes(kernel, made);
    IRMapping mapping;
    mapping.map(kernel.getArguments(), made.getArguments());
    for (Operation &op : kernel.getBody().front()) {
      if (&op != product.op.getOperation())
        builder.clone(op, mapping);
      else
        mapping.map(op.getResult(0), multiplyParts(product, operands, mapping));
    }
    return made;
  }

  /// Creates the sum over all pairs of parts. The loop over the pairs comes before the other loops.
  Value multiplyParts(Contraction &product, ArrayRef<Operand> operands, IRMapping &mapping) {
    linalg::LinalgOp op = product.op;
    const unsigned loops = op.getNumLoops() + 1;
    const AffineExpr pair = builder.getAffineDimExpr(0);
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    const SmallVector<OpOperand *> reads{product.lhs(), product.rhs()};
    for (auto [operand, read] : llvm::zip_equal(operands, reads)) {
      AffineMap map = op.getMatchingIndexingMap(read).shiftDims(1);
      SmallVector<AffineExpr> exprs(map.getResults());
      exprs.insert(exprs.end() - 1, operand.parts == numPairs ? pair : partOfPair(pair));
      maps.push_back(AffineMap::get(loops, 0, exprs, builder.getContext()));
      inputs.push_back(mapping.lookup(Value(operand.argument)));
    }
    OpOperand *init = op.getDpsInitOperand(0);
    maps.push_back(op.getMatchingIndexingMap(init).shiftDims(1));
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    kinds.insert(kinds.begin(), utils::IteratorType::reduction);
    auto made = linalg::GenericOp::create(
        builder, op.getLoc(), op->getResultTypes(), inputs, ValueRange(mapping.lookup(init->get())), maps, kinds,
        [&](OpBuilder &inner, Location at, ValueRange values) {
          Value a = arith::ExtFOp::create(inner, at, inner.getF32Type(), values[0]);
          Value b = arith::ExtFOp::create(inner, at, inner.getF32Type(), values[1]);
          Value both = arith::MulFOp::create(inner, at, a, b);
          linalg::YieldOp::create(inner, at, arith::AddFOp::create(inner, at, both, values[2]).getResult());
        });
    if (Attribute name = op->getAttr(opAttrName))
      made->setAttr(opAttrName, name);
    return made.getResult(0);
  }

  /// Returns a new kernel, inserted before `origin`, that divides the elements of `operand` into parts.
  func::FuncOp makeCopy(const Operand &operand, func::FuncOp origin) {
    const RankedTensorType from = operand.type(), to = operand.partsType();
    const Location loc = origin.getLoc();
    const Attribute name = builder.getStringAttr("bf16 parts");
    func::FuncOp made = makeKernel(builder, origin, "_parts", {from, to}, {to}, name);
    const auto rank = unsigned(to.getRank());
    SmallVector<AffineExpr> read;
    for (unsigned dim = 0; dim < rank; ++dim)
      if (dim != rank - 2)
        read.push_back(builder.getAffineDimExpr(dim));
    auto copy = linalg::GenericOp::create(
        builder, loc, TypeRange(to), ValueRange(made.getArgument(0)), ValueRange(made.getArgument(1)),
        ArrayRef<AffineMap>{AffineMap::get(rank, 0, read, builder.getContext()), builder.getMultiDimIdentityMap(rank)},
        SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
        [&](OpBuilder &inner, Location at, ValueRange values) {
          Value part = linalg::IndexOp::create(inner, at, rank - 2);
          linalg::YieldOp::create(inner, at, partOf(inner, at, values[0], part, operand.parts == numPairs));
        });
    copy->setAttr(opAttrName, name);
    func::ReturnOp::create(builder, loc, copy.getResult(0));
    return made;
  }

  /// Emits part number `part` of the f32 `element`, or, if `isOrdered`, the part of pair number `part`.
  static Value partOf(OpBuilder &builder, Location loc, Value element, Value part, bool isOrdered) {
    const Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
    // Returns x, rounded to eight bits, or truncated if x is so large that rounding could overflow.
    auto rounded = [&](Value x) {
      constexpr int32_t half = 0x8000, kept = int32_t(0xffff0000), large = 0x7f000000;
      auto word = [&](int32_t bits) {
        return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(bits)).getResult();
      };
      Value bits = arith::BitcastOp::create(builder, loc, i32, x);
      Value magnitude = arith::AndIOp::create(builder, loc, bits, word(0x7fffffff));
      Value isSmall = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, magnitude, word(large));
      Value more = arith::SelectOp::create(builder, loc, isSmall, word(half), word(0));
      bits = arith::AndIOp::create(builder, loc, arith::AddIOp::create(builder, loc, bits, more), word(kept));
      return arith::BitcastOp::create(builder, loc, f32, bits).getResult();
    };
    auto minus = [&](Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b).getResult(); };
    auto constant = [&](double value) {
      return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(float(value))).getResult();
    };
    auto isBelow = [&](int64_t number) {
      Value limit = arith::ConstantIndexOp::create(builder, loc, number);
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, part, limit).getResult();
    };
    auto select = [&](Value condition, Value a, Value b) {
      return arith::SelectOp::create(builder, loc, condition, a, b).getResult();
    };
    // An infinite element, or NaN, is the first part, and the other parts are 0.
    Value isFinite =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, math::AbsFOp::create(builder, loc, element),
                              constant(std::numeric_limits<double>::infinity()));
    Value first = select(isFinite, rounded(element), element);
    Value rest = select(isFinite, minus(element, first), constant(0));
    Value second = rounded(rest), third = minus(rest, second);
    Value found = isOrdered ? select(isBelow(1), third, select(isBelow(3), second, first))
                            : select(isBelow(1), first, select(isBelow(2), second, third));
    return arith::TruncFOp::create(builder, loc, builder.getBF16Type(), found);
  }

  /// Changes `call`, a call of the original kernel, to call `product`.
  void replace(func::CallOp call, func::FuncOp product, ArrayRef<Operand> arguments) {
    SmallVector<Value> operands(call.getOperands());
    for (const Operand &each : arguments) {
      Value &operand = operands[each.argument.getArgNumber()];
      operand = copies.copyOf(call.getLoc(), operand, each.partsType(), [&] { return makeCopy(each, product); });
    }
    redirectCall(call, product, operands);
  }

  ModuleOp module;
  SymbolTable symbols;
  const Arch &arch;
  OpBuilder builder;
  OperandCopies copies;
};

} // namespace

void splitF32(ModuleOp module, const Arch &arch) {
  if (arch.groupFlops > 0)
    PartSplitter(module, arch).run();
}

} // namespace tilewright::gpu

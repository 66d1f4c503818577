//===- SplitSums.cpp - long sums of few results, in parts ---------------------------------===//
//
// Before:
//   %r = call @kernel_0(%x, %w, %b, %into)       // x: 3 x 4096, w: 256 x 4096; r = gelu(x w' + b): 16 tiles of 16 x 16
// After:
//   %x1 = tensor.expand_shape %x [[0], [1, 2]] : 3 x 8 x 512            // views: nothing is copied
//   %w1 = tensor.expand_shape %w [[0], [1, 2]] : 256 x 8 x 512
//   %p = call @kernel_0_parts(%x1, %w1, %empty) : 8 x 3 x 256 x f32     // a batch of 8 products: 128 tiles
//   %r = call @kernel_0(%p, %b, %into)                                  // adds the parts up, in order; what followed
//
// The parts are kernels as others: any schedule of products takes them. The partial sums lie in the arena, and are
// added in the same order in every run: there are no atomics. docs/decisions/0034-split-sums.md
//
// Tests: test/Target/CUDA/split-sums.mlir, test/Python/test_cuda_matrix.py (product-split)
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CUDA/SplitSums.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Target/CUDA/ProductSpace.h"
#include "lib/Target/CUDA/WgmmaSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tilewright::cuda {
namespace {

/// Terms of a part at least, and what their number is a multiple of: rows of operands still begin at 128 bytes.
constexpr int64_t leastTerms = 256, termsUnit = 128;

bool isStatic(func::FuncOp kernel) {
  return llvm::all_of(kernel.getArgumentTypes(), [](Type type) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    return shaped && shaped.hasStaticShape();
  });
}

/// Which dimension of an operand's tensor the sum runs over, or -1.
int64_t depthDimension(Contraction &product, OpOperand *operand) {
  int64_t found = -1;
  for (auto [dim, expr] : llvm::enumerate(product.op.getMatchingIndexingMap(operand).getResults())) {
    if (!expr.isFunctionOfDim(product.depth[0]))
      continue;
    if (found >= 0 || !isa<AffineDimExpr>(expr))
      return -1;
    found = int64_t(dim);
  }
  return found;
}

/// What the model expects of the product in so many parts, in nanoseconds.
double timeOf(Contraction &product, const Arch &arch, int64_t parts) {
  double time;
  if (arch.groupFlops > 0 && whyNotOnWarpGroups(product, arch.tf32).empty())
    time = nanosecondsOfWgmma(chooseWgmma(product, arch, parts), product, arch, parts);
  else
    time = nanosecondsOfMma(chooseMma(product, arch, parts), product, arch, parts);
  if (parts == 1)
    return time;
  // The second kernel: it begins when the first has ended, and reads what that has written.
  constexpr double begin = 2500;
  const int64_t results =
      product.sizeOf(product.batches) * product.sizeOf(product.rows) * product.sizeOf(product.columns);
  return time + begin + double(results * parts * 4) / arch.deviceRate;
}

/// In how many parts; 1: it stays whole.
int64_t partsOf(func::FuncOp kernel, Contraction &product, const Arch &arch) {
  if (product.depth.size() != 1 || !isStatic(kernel) || !whyNotOnTensorCores(product, arch.tf32).empty())
    return 1;
  if (depthDimension(product, product.lhs()) < 0 || depthDimension(product, product.rhs()) < 0 ||
      product.lhs()->get() == product.rhs()->get())
    return 1;
  constexpr double worth = 0.8; // of the time of one kernel; the model is a model
  const int64_t terms = product.sizeOf(product.depth);
  int64_t best = 1;
  if (terms < 2 * leastTerms)
    return best;
  double least = timeOf(product, arch, 1) * worth;
  for (int64_t parts = 2; parts <= 32 && terms % (parts * termsUnit) == 0 && terms / parts >= leastTerms; parts *= 2)
    if (double time = timeOf(product, arch, parts); time < least) {
      least = time;
      best = parts;
    }
  return best;
}

RankedTensorType expanded(Value tensor, int64_t dim, int64_t parts) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[size_t(dim)] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return RankedTensorType::get(shape, type.getElementType());
}

void setSizes(func::FuncOp kernel, unsigned argument) {
  Builder builder(kernel.getContext());
  SmallVector<AffineExpr> sizes;
  for (int64_t size : cast<ShapedType>(kernel.getArgument(argument).getType()).getShape())
    sizes.push_back(builder.getAffineConstantExpr(size));
  kernel.setArgAttr(argument, tile::sizesAttrName,
                    AffineMapAttr::get(AffineMap::get(0, 0, sizes, kernel.getContext())));
}

class Split {
public:
  Split(func::FuncOp kernel, Contraction product, int64_t parts)
      : kernel(kernel), product(std::move(product)), op(this->product.op), parts(parts), builder(kernel) {
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<int64_t> shape{parts};
    llvm::append_range(shape, result.getShape());
    partial = RankedTensorType::get(shape, result.getElementType());
    for (OpOperand *operand : {this->product.lhs(), this->product.rhs()}) {
      sides.push_back(cast<BlockArgument>(operand->get()).getArgNumber());
      dims.push_back(depthDimension(this->product, operand));
    }
  }

  void run(ModuleOp module, SymbolTable &symbols) {
    func::FuncOp first = makeParts();
    symbols.insert(first);
    addUp();
    for (auto call : llvm::to_vector(module.getOps<func::FuncOp>()))
      call.walk([&](func::CallOp each) {
        if (each.getCallee() == kernel.getName())
          rewrite(each, first);
      });
    for (unsigned side : llvm::reverse(unused))
      (void)kernel.eraseArgument(side);
  }

private:
  /// The kernel that makes the parts: a batch of products.
  func::FuncOp makeParts() {
    Location loc = op.getLoc();
    SmallVector<Type> types;
    for (auto [operand, dim] : llvm::zip_equal(ArrayRef<unsigned>(sides), dims))
      types.push_back(expanded(kernel.getArgument(operand), dim, parts));
    types.push_back(partial);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(kernel);
    auto made = func::FuncOp::create(builder, kernel.getLoc(), (kernel.getName() + "_parts").str(),
                                     builder.getFunctionType(types, {partial}));
    made.setPrivate();
    made->setAttr("tw.kernel", builder.getUnitAttr());
    made->setAttr("tw.ops", builder.getStringAttr("matmul"));
    Block *body = made.addEntryBlock();
    for (unsigned argument = 0; argument < made.getNumArguments(); ++argument)
      setSizes(made, argument);
    builder.setInsertionPointToStart(body);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(partial.getElementType()));
    Value fill = linalg::FillOp::create(builder, loc, zero, body->getArgument(2)).getResult(0);
    // The parts are one more loop, the last, over which operands and result run.
    const unsigned part = op.getNumLoops();
    AffineExpr partExpr = builder.getAffineDimExpr(part);
    SmallVector<AffineMap> maps;
    for (auto [operand, dim] : llvm::zip_equal(ArrayRef<OpOperand *>{product.lhs(), product.rhs()}, dims)) {
      SmallVector<AffineExpr> exprs(op.getMatchingIndexingMap(operand).getResults());
      exprs.insert(exprs.begin() + dim, partExpr);
      maps.push_back(AffineMap::get(part + 1, 0, exprs, builder.getContext()));
    }
    SmallVector<AffineExpr> exprs{partExpr};
    llvm::append_range(exprs, op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults());
    maps.push_back(AffineMap::get(part + 1, 0, exprs, builder.getContext()));
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    kinds.push_back(utils::IteratorType::parallel);
    auto sums = linalg::GenericOp::create(
        builder, loc, TypeRange(partial), ValueRange(body->getArguments().take_front(2)), ValueRange(fill), maps, kinds,
        [&](OpBuilder &inner, Location at, ValueRange values) {
          IRMapping mapping;
          mapping.map(op.getBlock()->getArguments(), values);
          for (Operation &each : op.getBlock()->without_terminator())
            inner.clone(each, mapping);
          linalg::YieldOp::create(inner, at, mapping.lookup(op.getBlock()->getTerminator()->getOperand(0)));
        });
    sums->setAttr("tw.op", builder.getStringAttr("matmul"));
    func::ReturnOp::create(builder, loc, sums.getResult(0));
    return made;
  }

  /// The kernel becomes the sum of its parts, its first argument, and what followed the product.
  void addUp() {
    Location loc = op.getLoc();
    (void)kernel.insertArgument(0, partial, {}, loc);
    setSizes(kernel, 0);
    builder.setInsertionPoint(op);
    const auto rank = unsigned(partial.getRank());
    SmallVector<AffineExpr> from{builder.getAffineDimExpr(rank - 1)}, to;
    for (unsigned dim = 0; dim + 1 < rank; ++dim)
      to.push_back(builder.getAffineDimExpr(dim));
    llvm::append_range(from, to);
    SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
    kinds.back() = utils::IteratorType::reduction;
    auto sum = linalg::GenericOp::create(
        builder, loc, op->getResultTypes(), ValueRange(kernel.getArgument(0)), ValueRange(op.getDpsInits()),
        ArrayRef<AffineMap>{AffineMap::get(rank, 0, from, builder.getContext()),
                            AffineMap::get(rank, 0, to, builder.getContext())},
        kinds, [](OpBuilder &inner, Location at, ValueRange values) {
          Value added = isa<FloatType>(values[0].getType())
                            ? arith::AddFOp::create(inner, at, values[1], values[0]).getResult()
                            : arith::AddIOp::create(inner, at, values[1], values[0]).getResult();
          linalg::YieldOp::create(inner, at, added);
        });
    sum->setAttr("tw.op", builder.getStringAttr("sum of parts"));
    op->replaceAllUsesWith(sum);
    op->erase();
    for (unsigned side : sides)
      if (kernel.getArgument(side + 1).use_empty())
        unused.push_back(side + 1);
    llvm::sort(unused);
    if (auto ops = kernel->getAttrOfType<StringAttr>("tw.ops"))
      kernel->setAttr("tw.ops", builder.getStringAttr("sum of parts+" + ops.getValue().str()));
  }

  void rewrite(func::CallOp call, func::FuncOp first) {
    Location loc = call.getLoc();
    builder.setInsertionPoint(call);
    SmallVector<Value> operands;
    for (auto [side, dim] : llvm::zip_equal(ArrayRef<unsigned>(sides), dims)) {
      Value whole = call.getOperand(side);
      SmallVector<ReassociationIndices> groups;
      for (int64_t i = 0, next = 0; i < cast<ShapedType>(whole.getType()).getRank(); ++i) {
        groups.push_back(i == dim ? ReassociationIndices{next, next + 1} : ReassociationIndices{next});
        next += i == dim ? 2 : 1;
      }
      operands.push_back(tensor::ExpandShapeOp::create(builder, loc, expanded(whole, dim, parts), whole, groups));
    }
    operands.push_back(tensor::EmptyOp::create(builder, loc, partial.getShape(), partial.getElementType()));
    auto made = func::CallOp::create(builder, loc, first, operands);
    made->setAttr("tw.ops", builder.getStringAttr("matmul"));
    SmallVector<Value> rest{made.getResult(0)};
    for (auto [number, operand] : llvm::enumerate(call.getOperands()))
      if (!llvm::is_contained(unused, number + 1))
        rest.push_back(operand);
    call->setOperands(rest);
    if (auto ops = kernel->getAttr("tw.ops"))
      call->setAttr("tw.ops", ops);
  }

  func::FuncOp kernel;
  Contraction product;
  linalg::LinalgOp op;
  int64_t parts;
  OpBuilder builder;
  RankedTensorType partial;
  SmallVector<unsigned> sides; ///< the kernel's arguments that are A and B
  SmallVector<int64_t> dims;   ///< of each, the dimension of the sum
  SmallVector<unsigned> unused;
};

} // namespace

void splitSums(ModuleOp module, const Arch &arch) {
  SymbolTable symbols(module);
  for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!kernel->hasAttr("tw.kernel") || kernel->hasAttr("tw.schedule"))
      continue;
    std::string reason;
    std::optional<Contraction> product = matchContraction(kernel, reason);
    if (!product)
      continue;
    if (int64_t parts = partsOf(kernel, *product, arch); parts > 1)
      Split(kernel, std::move(*product), parts).run(module, symbols);
  }
}

} // namespace tilewright::cuda

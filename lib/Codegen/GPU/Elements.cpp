//===- Elements.cpp - the value of one element of a tensor, as one thread computes it --===//
//
// Tests: test/Codegen/NVPTX/lower-to-threads.mlir, test/Python/test_cuda.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Elements.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {

Elements::Elements(OpBuilder &builder, func::FuncOp kernel, ArrayRef<Value> sizes, Value status)
    : builder(builder), kernel(kernel), sizes(sizes.begin(), sizes.end()), status(status), scopes(1), visited(1) {
  constants[0] = arith::ConstantIndexOp::create(builder, kernel.getLoc(), 0);
  anchor = arith::ConstantIntOp::create(builder, kernel.getLoc(), 0, 1);
}

Value Elements::constant(int64_t value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(anchor);
    known = arith::ConstantIndexOp::create(builder, kernel.getLoc(), value);
  }
  return known;
}

Value Elements::add(Value a, Value b) {
  if (a == constant(0))
    return b;
  if (b == constant(0))
    return a;
  return arith::AddIOp::create(builder, kernel.getLoc(), a, b, arith::IntegerOverflowFlags::nsw);
}

Value Elements::multiply(Value a, Value b) {
  if (a == constant(1) || b == constant(0))
    return b;
  if (b == constant(1) || a == constant(0))
    return a;
  return arith::MulIOp::create(builder, kernel.getLoc(), a, b, arith::IntegerOverflowFlags::nsw);
}

Value Elements::evaluate(AffineExpr expr, ArrayRef<Value> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    Value a = evaluate(binary.getLHS(), dims), b = evaluate(binary.getRHS(), dims);
    if (expr.getKind() == AffineExprKind::Add)
      return add(a, b);
    if (expr.getKind() == AffineExprKind::Mul)
      return multiply(a, b);
    AffineExpr lhs = getAffineDimExpr(0, expr.getContext()), rhs = getAffineDimExpr(1, expr.getContext());
    if (auto number = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      rhs = number;
    return affine::expandAffineExpr(builder, kernel.getLoc(), getAffineBinaryOpExpr(expr.getKind(), lhs, rhs), {a, b},
                                    {});
  }
  return sizes[cast<AffineSymbolExpr>(expr).getPosition()];
}

Value Elements::size(Value tensor, int64_t dim) {
  AffineExpr expr = tile::sizeOf(tensor, dim);
  if (!expr) {
    emitError(tensor.getLoc()) << "size " << dim << " of " << tensor.getType()
                               << " is not an expression of the kernel's sizes";
    broken = true;
    return constant(1);
  }
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  Value &known = sizeValues[expr];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(anchor);
    known = evaluate(expr, {});
  }
  return known;
}

SmallVector<Value> Elements::extents(Value tensor) {
  SmallVector<Value> all;
  for (int64_t dim = 0; dim < cast<ShapedType>(tensor.getType()).getRank(); ++dim)
    all.push_back(size(tensor, dim));
  return all;
}

Value Elements::count(Value tensor) {
  auto type = cast<ShapedType>(tensor.getType());
  if (type.hasStaticShape())
    return constant(type.getNumElements());
  Value product = constant(1);
  for (Value extent : extents(tensor))
    product = multiply(product, extent);
  return product;
}

SmallVector<Value> Elements::delinearize(Value linear, ArrayRef<Value> extents) {
  SmallVector<Value> at(extents.size(), constant(0));
  Value rest = linear;
  for (int64_t dim = int64_t(extents.size()) - 1; dim >= 0; --dim) {
    if (extents[dim] == constant(1))
      continue;
    if (llvm::all_of(extents.take_front(dim), [&](Value outer) { return outer == constant(1); })) {
      at[dim] = rest;
      break;
    }
    at[dim] = arith::RemUIOp::create(builder, kernel.getLoc(), rest, extents[dim]);
    rest = arith::DivUIOp::create(builder, kernel.getLoc(), rest, extents[dim]);
  }
  return at;
}

Value Elements::linearize(ArrayRef<Value> at, ArrayRef<Value> extents) {
  Value linear = constant(0);
  for (auto [index, extent] : llvm::zip_equal(at, extents))
    linear = add(multiply(linear, extent), index);
  return linear;
}

Elements::Key Elements::keyOf(Value tensor, ArrayRef<Value> at) {
  Key key{tensor.getAsOpaquePointer()};
  for (Value index : at)
    key.push_back(index.getAsOpaquePointer());
  return key;
}

void Elements::remember(Value tensor, ArrayRef<Value> at, Value value) { scopes.back()[keyOf(tensor, at)] = value; }

bool Elements::isKnown(Value tensor, ArrayRef<Value> at) const {
  return llvm::any_of(scopes, [key = keyOf(tensor, at)](const auto &scope) { return scope.contains(key); });
}

void Elements::inScope(llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  scopes.emplace_back();
  visited.emplace_back();
  body();
  scopes.pop_back();
  visited.pop_back();
}

Value Elements::refuse(Operation *op, Type type) {
  op->emitOpError("is not supported in kernels of the target cuda");
  broken = true;
  return arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(type));
}

Value Elements::element(Value tensor, ArrayRef<Value> at) {
  Key key = keyOf(tensor, at);
  for (auto &scope : llvm::reverse(scopes))
    if (auto found = scope.find(key); found != scope.end())
      return found->second;
  Value value;
  if (auto source = provided.find(tensor); source != provided.end())
    value = source->second(at);
  else if (auto result = dyn_cast<OpResult>(tensor))
    value = compute(result, at);
  else // the tensor is a destination that has not been written yet
    value = arith::ConstantOp::create(builder, tensor.getLoc(),
                                      builder.getZeroAttr(cast<ShapedType>(tensor.getType()).getElementType()));
  remember(tensor, at, value);
  return value;
}

Value Elements::compute(OpResult result, ArrayRef<Value> at) {
  Operation *op = result.getOwner();
  Type type = cast<ShapedType>(result.getType()).getElementType();
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return outer(fill.value());
  if (isa<tensor::EmptyOp>(op))
    return arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(type));
  if (auto structuredOp = dyn_cast<linalg::LinalgOp>(op))
    return structured(structuredOp, result.getResultNumber(), at);
  if (auto padOp = dyn_cast<tensor::PadOp>(op))
    return pad(padOp, at);
  if (auto insertOp = dyn_cast<tensor::InsertSliceOp>(op))
    return insert(insertOp, at);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return reshape(op, at);
  if (isa<tile::ScanOp>(op))
    return scan(op, at);
  if (isa<tile::ScatterOp>(op))
    return scatter(op, at);
  if (isa<tile::SortOp>(op))
    return sort(result, at);
  if (isa<tile::GroupedConvolutionOp>(op))
    return groupedConvolution(op, at);
  if (isa<tile::DepthwiseGradientOp>(op))
    return depthwiseGradient(op, {SmallVector<Value>(at)}).front();
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return element(cast.getSource(), at);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<Value> from;
    size_t next = 0;
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      Value index = dropped.test(dim) ? constant(0) : at[next++];
      from.push_back(add(outer(offset), multiply(index, outer(slice.getMixedStrides()[dim]))));
    }
    return element(slice.getSource(), from);
  }
  if (auto number = dyn_cast<arith::ConstantOp>(op))
    if (auto dense = dyn_cast<DenseElementsAttr>(number.getValue()); dense && dense.isSplat())
      return arith::ConstantOp::create(builder, op->getLoc(), dense.getSplatValue<TypedAttr>());
  return refuse(op, type);
}

Value Elements::choose(Value condition, Type type, llvm::function_ref<Value()> yes, llvm::function_ref<Value()> no) {
  auto branch = scf::IfOp::create(builder, kernel.getLoc(), TypeRange(type), condition, /*withElse=*/true);
  inScope([&] {
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(builder, kernel.getLoc(), yes());
  });
  inScope([&] {
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, kernel.getLoc(), no());
  });
  return branch.getResult(0);
}

Value Elements::pad(tensor::PadOp op, ArrayRef<Value> at) {
  Location loc = op.getLoc();
  Type type = op.getType().getElementType();
  Value value = op.getConstantPaddingValue();
  if (!value)
    return refuse(op, type);
  Value inside;
  SmallVector<Value> from, insideDims; // insideDims: the condition that an index is inside, by dimension; null: always
  for (auto [dim, index] : llvm::enumerate(at)) {
    Value low = outer(op.getMixedLowPad()[dim]);
    bool padded = !isConstantIntValue(op.getMixedLowPad()[dim], 0) || !isConstantIntValue(op.getMixedHighPad()[dim], 0);
    if (!padded) {
      from.push_back(index);
      insideDims.push_back(Value());
      continue;
    }
    Value moved = low == constant(0) ? index : arith::SubIOp::create(builder, loc, index, low).getResult();
    // A negative index is a very large unsigned number, so one unsigned comparison rejects indices on both sides of
    // the source.
    Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, moved, size(op.getSource(), dim));
    inside = inside ? arith::AndIOp::create(builder, loc, inside, fits).getResult() : fits;
    from.push_back(moved);
    insideDims.push_back(fits);
  }
  if (!inside)
    return element(op.getSource(), from);
  // If adjacent elements are either all inside or all outside, read an element at valid indices, and then select this
  // element or the padding value. Such code has no branch, so LLVM can merge the loads.
  const int64_t last = op.getType().getRank() - 1;
  const bool adjacent =
      isConstantIntValue(op.getMixedLowPad()[last], 0) && isConstantIntValue(op.getMixedHighPad()[last], 0);
  if (adjacent && provided.contains(op.getSource()) && op.getSourceType().hasStaticShape() &&
      op.getSourceType().getNumElements() > 0) {
    for (auto [index, fits] : llvm::zip_equal(from, insideDims))
      if (fits)
        index = arith::SelectOp::create(builder, loc, fits, index, constant(0));
    return arith::SelectOp::create(builder, loc, inside, element(op.getSource(), from), outer(value));
  }
  return choose(inside, type, [&] { return element(op.getSource(), from); }, [&] { return outer(value); });
}

Value Elements::reshape(Operation *op, ArrayRef<Value> at) {
  SmallVector<Value> from;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      SmallVector<Value> indices, sizes;
      for (int64_t dim : group) {
        indices.push_back(at[dim]);
        sizes.push_back(size(expand.getResult(), dim));
      }
      from.push_back(linearize(indices, sizes));
    }
    return element(expand.getSrc(), from);
  }
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  for (auto [group, index] : llvm::zip_equal(collapse.getReassociationIndices(), at)) {
    SmallVector<Value> sizes;
    for (int64_t dim : group)
      sizes.push_back(size(collapse.getSrc(), dim));
    llvm::append_range(from, delinearize(index, sizes));
  }
  return element(collapse.getSrc(), from);
}

Value Elements::checkedIndex(Value number, Value limit, bool fromEnd) {
  Location loc = kernel.getLoc();
  Value index = indexOrNone(number, limit, fromEnd);
  Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(number.getType()));
  Value outside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, index, limit);
  return arith::SelectOp::create(builder, loc, outside, none, index);
}

/// Returns `number`, or `number + limit` if `number` is negative.
Value Elements::fromStart(Value number, Value limit) {
  Location loc = kernel.getLoc();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(number.getType()));
  Value negative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, zero);
  Value counted = arith::AddIOp::create(builder, loc, number, limit);
  return arith::SelectOp::create(builder, loc, negative, counted, number);
}

/// Converts `number` to an index. If `fromEnd`, a negative number counts from the end. If the index is out of range,
/// the emitted code reports the index in `status`, unless `status` is null. The returned index remains out of range.
Value Elements::indexOrNone(Value number, Value limit, bool fromEnd) {
  Location loc = kernel.getLoc();
  Value index = fromEnd ? fromStart(number, limit) : number;
  if (status) {
    Value outside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, index, limit);
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), outside, /*withElse=*/false);
    inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      reportIndex(number, limit);
    });
  }
  return index;
}

/// Reports that index `number` is out of range: the first thread that reports an index writes the index and its limit
/// to the status.
void Elements::reportIndex(Value number, Value limit) {
  Location loc = kernel.getLoc();
  Type i64 = builder.getI64Type();
  auto wide = [&](Value value) -> Value {
    if (value.getType() == i64)
      return value;
    return isa<IndexType>(value.getType()) ? arith::IndexCastOp::create(builder, loc, i64, value).getResult()
                                           : arith::ExtSIOp::create(builder, loc, i64, value).getResult();
  };
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64),
        one = arith::ConstantIntOp::create(builder, loc, 1, 64);
  auto exchange = LLVM::AtomicCmpXchgOp::create(builder, loc, status, zero, one, LLVM::AtomicOrdering::monotonic,
                                                LLVM::AtomicOrdering::monotonic);
  Value first = LLVM::ExtractValueOp::create(builder, loc, exchange, ArrayRef<int64_t>{1});
  auto branch = scf::IfOp::create(builder, loc, TypeRange(), first, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  for (auto [at, value] : llvm::enumerate(std::array{number, limit})) {
    Value address =
        LLVM::GEPOp::create(builder, loc, status.getType(), i64, status, ArrayRef<LLVM::GEPArg>{int32_t(at) + 1});
    LLVM::StoreOp::create(builder, loc, wide(value), address);
  }
}

/// Returns the value of a scalar in the kernel's body that depends only on the kernel's sizes.
Value Elements::outer(OpFoldResult given) {
  if (auto attribute = dyn_cast<Attribute>(given))
    return constant(cast<IntegerAttr>(attribute).getInt());
  Value value = cast<Value>(given);
  if (Value known = outers.lookup(value))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(anchor);
  Value made;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    size_t number = 0;
    for (BlockArgument other : kernel.getArguments()) {
      if (other == argument)
        break;
      number += isa<IndexType>(other.getType());
    }
    if (!isa<IndexType>(argument.getType()) || argument.getOwner() != &kernel.getBody().front()) {
      emitError(value.getLoc()) << "a scalar of this kernel is not a size";
      broken = true;
      return constant(0);
    }
    made = sizes[number];
  } else if (std::optional<int64_t> number =
                 isa<IndexType>(value.getType()) ? getConstantIntValue(value) : std::nullopt) {
    made = constant(*number);
  } else if (auto apply = value.getDefiningOp<affine::AffineApplyOp>()) {
    SmallVector<Value> operands = llvm::map_to_vector(apply.getMapOperands(), [&](Value each) { return outer(each); });
    AffineMap map = apply.getAffineMap();
    made = affine::expandAffineExpr(builder, value.getLoc(), map.getResult(0),
                                    ArrayRef(operands).take_front(map.getNumDims()),
                                    ArrayRef(operands).drop_front(map.getNumDims()));
  } else {
    Operation *op = value.getDefiningOp();
    if (op->getNumRegions() > 0 || llvm::any_of(op->getOperandTypes(), [](Type type) { return isa<ShapedType>(type); }))
      return refuse(op, value.getType());
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, outer(operand));
    made = builder.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
  }
  outers[value] = made;
  return made;
}

} // namespace tilewright::gpu

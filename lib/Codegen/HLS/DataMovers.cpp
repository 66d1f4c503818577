//===- DataMovers.cpp - tasks that copy between ports and arrays ------------------------===//
#include "lib/Codegen/HLS/DataMovers.h"
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Names.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// Returns the index of element number `linear` in an array of this shape.
SmallVector<AffineExpr> indicesOf(AffineExpr linear, ArrayRef<int64_t> shape) {
  SmallVector<AffineExpr> indices(shape.size());
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    if (shape[dim] == 1) {
      indices[dim] = getAffineConstantExpr(0, linear.getContext());
      continue;
    }
    const bool outermost = llvm::all_of(shape.take_front(dim), [](int64_t size) { return size == 1; });
    indices[dim] = outermost ? linear : linear % shape[dim];
    linear = linear.floorDiv(shape[dim]);
  }
  return indices;
}

} // namespace

int64_t elementsOfWord(MemRefType type) {
  constexpr int64_t wordBits = 512;
  Type element = type.getElementType();
  return std::max<int64_t>(1, wordBits / (element.isIndex() ? 32 : element.getIntOrFloatBitWidth()));
}

MemRefType inDram(MemRefType type) {
  SmallVector<PartitionKind> kinds(type.getRank(), PartitionKind::None);
  SmallVector<int64_t> factors(type.getRank(), 1);
  return withMemory(type, PartitionAttr::get(type.getContext(), kinds, factors), Memory::Dram);
}

func::FuncOp makeMover(ModuleOp module, StringRef name, Type from, TypeRange to, Location loc) {
  SmallVector<Type> types{from};
  llvm::append_range(types, to);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  function.setPrivate();
  function->setAttr(moverAttrName, builder.getUnitAttr());
  for (unsigned argument = 0; argument < types.size(); ++argument)
    function.setArgAttr(argument, parameterAttrName, builder.getStringAttr(argument == 0 ? "from" : "to"));
  builder.setInsertionPointToStart(function.addEntryBlock());
  func::ReturnOp::create(builder, loc);
  builder.setInsertionPointToStart(&function.front());

  // Iterate over the array on the chip in its own shape; the printer linearizes the port's index in any case.
  auto fromType = cast<MemRefType>(from), toType = cast<MemRefType>(to.front());
  ArrayRef<int64_t> shape = memoryOf(fromType) == Memory::Dram ? toType.getShape() : fromType.getShape();
  SmallVector<Value> ivs;
  AffineExpr linear = builder.getAffineConstantExpr(0);
  SmallVector<int64_t> loops(shape);
  if (loops.empty())
    loops.push_back(1);
  SmallVector<AffineExpr> own;
  for (auto [dim, size] : llvm::enumerate(loops)) {
    const bool last = dim + 1 == loops.size();
    auto loop = affine::AffineForOp::create(builder, loc, 0, size);
    std::string label = (name + "_" + letter('i', dim)).str();
    loop->setAttr(loopAttrName, LoopAttr::get(builder.getContext(), label, last ? 1 : 0, 1, !last, 0));
    ivs.push_back(loop.getInductionVar());
    own.push_back(builder.getAffineDimExpr(dim));
    linear = linear * size + own.back();
    builder.setInsertionPointToStart(loop.getBody());
  }
  auto mapFor = [&](MemRefType type) {
    SmallVector<AffineExpr> indices = type.getShape() == shape ? own : indicesOf(linear, type.getShape());
    indices.truncate(type.getRank());
    // Do not call simplifyAffineMap(), which rewrites a remainder as a difference. HLS tools do not recognize that the
    // difference selects a bank.
    return AffineMap::get(ivs.size(), 0, indices, builder.getContext());
  };
  Value element = affine::AffineLoadOp::create(builder, loc, function.getArgument(0), mapFor(fromType), ivs);
  for (BlockArgument target : function.getArguments().drop_front())
    affine::AffineStoreOp::create(builder, loc, element, target, mapFor(cast<MemRefType>(target.getType())), ivs);
  return function;
}

} // namespace tilewright::hls

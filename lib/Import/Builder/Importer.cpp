//===- Importer.cpp - types, symbols and layouts of the graph being built -------===//
#include "lib/Import/Builder/Importer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright {
std::string tensorName(RankedTensorType type) {
  std::string text = dtypeName(type.getElementType()) + "[";
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(graph::sizesOf(type), out);
  out << "]";
  return text;
}

Importer::Importer(MLIRContext &context) : context(context), builder(&context) {
  context.loadDialect<graph::TWDialect, func::FuncDialect>();
  Location loc = UnknownLoc::get(&context);
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, loc, "main", FunctionType::get(&context, {}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

llvm::Expected<AffineExpr> Importer::size(const Size &size) {
  if (auto *value = std::get_if<int64_t>(&size))
    return getAffineConstantExpr(*value, &context);
  return parseSize(std::get<std::string>(size), symbols, &context);
}

llvm::Expected<RankedTensorType> Importer::tensorType(const TensorMeta &meta) {
  SmallVector<AffineExpr> sizes;
  for (const Size &entry : meta.sizes) {
    auto expr = size(entry);
    if (!expr)
      return expr.takeError();
    sizes.push_back(*expr);
  }
  return graph::tensorWithSizes(sizes, elementTypeOf(meta.dtype, &context));
}

Value Importer::seedArgument() {
  if (!seed) {
    auto type = RankedTensorType::get({1}, IntegerType::get(&context, 64));
    seed = function.front().addArgument(type, UnknownLoc::get(&context));
  }
  return seed;
}

DenseLayout layoutOf(ArrayRef<AffineExpr> sizes, ArrayRef<AffineExpr> strides) {
  unsigned rank = sizes.size();
  DenseLayout rowMajor;
  for (unsigned i = 0; i < rank; ++i)
    rowMajor.order.push_back(i);
  auto isConstant = [](AffineExpr e, int64_t value) {
    auto constant = dyn_cast<AffineConstantExpr>(e);
    return constant && constant.getValue() == value;
  };
  if (strides.size() != rank || llvm::any_of(sizes, [&](AffineExpr s) { return isConstant(s, 0); }))
    return rowMajor;
  // Starting with the innermost dimension, find the dimension whose stride is the product of the sizes inside it. A
  // dimension of size 1 may have any stride, and keeps its position between the adjacent dimensions.
  SmallVector<unsigned> innermostFirst;
  SmallVector<bool> taken(rank, false);
  AffineExpr expected = rank ? getAffineConstantExpr(1, sizes[0].getContext()) : AffineExpr();
  for (unsigned count = 0; count < rank; ++count) {
    int found = -1;
    for (int i = int(rank) - 1; i >= 0 && found < 0; --i)
      if (!taken[i] && (isConstant(sizes[i], 1) || graph::canonicalSize(strides[i]) == expected))
        found = i;
    if (found < 0) {
      rowMajor.dense = false;
      return rowMajor;
    }
    taken[found] = true;
    innermostFirst.push_back(found);
    expected = graph::canonicalSize(expected * sizes[found]);
  }
  // If only dimensions of size 1 have a position that differs from row-major order, the order is equivalent to
  // row-major.
  DenseLayout layout{{innermostFirst.rbegin(), innermostFirst.rend()}, true};
  SmallVector<unsigned> moved;
  for (unsigned dim : layout.order)
    if (!isConstant(sizes[dim], 1))
      moved.push_back(dim);
  return llvm::is_sorted(moved) ? rowMajor : layout;
}

} // namespace tilewright

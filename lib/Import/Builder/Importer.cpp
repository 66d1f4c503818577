//===- Importer.cpp - types, symbols and layouts of the graph being built -------===//
#include "lib/Import/Builder/Importer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright {
namespace {
struct ScalarTypeRow {
  ScalarType type;
  llvm::StringLiteral name;
  unsigned bytes;
};
constexpr ScalarTypeRow scalarTypes[] = {
    {ScalarType::Bool, "bool", 1},
    {ScalarType::U8, "uint8", 1},
    {ScalarType::I8, "int8", 1},
    {ScalarType::I16, "int16", 2},
    {ScalarType::I32, "int32", 4},
    {ScalarType::I64, "int64", 8},
    {ScalarType::U16, "uint16", 2},
    {ScalarType::U32, "uint32", 4},
    {ScalarType::U64, "uint64", 8},
    {ScalarType::F16, "float16", 2},
    {ScalarType::BF16, "bfloat16", 2},
    {ScalarType::F32, "float32", 4},
    {ScalarType::F64, "float64", 8},
    {ScalarType::F8E4M3FN, "float8_e4m3fn", 1},
    {ScalarType::F8E5M2, "float8_e5m2", 1},
};
} // namespace

llvm::StringRef scalarTypeName(ScalarType type) { return scalarTypes[unsigned(type)].name; }
unsigned scalarTypeSize(ScalarType type) { return scalarTypes[unsigned(type)].bytes; }
std::optional<ScalarType> scalarTypeFromName(llvm::StringRef name) {
  for (const ScalarTypeRow &row : scalarTypes)
    if (row.name == name)
      return row.type;
  return std::nullopt;
}

Type elementTypeOf(ScalarType type, MLIRContext *context) {
  auto integer = [&](unsigned width) { return IntegerType::get(context, width); };
  auto natural = [&](unsigned width) { return IntegerType::get(context, width, IntegerType::Unsigned); };
  switch (type) {
  case ScalarType::Bool:
    return integer(1);
  case ScalarType::U8:
    return natural(8);
  case ScalarType::I8:
    return integer(8);
  case ScalarType::I16:
    return integer(16);
  case ScalarType::I32:
    return integer(32);
  case ScalarType::I64:
    return integer(64);
  case ScalarType::U16:
    return natural(16);
  case ScalarType::U32:
    return natural(32);
  case ScalarType::U64:
    return natural(64);
  case ScalarType::F16:
    return Float16Type::get(context);
  case ScalarType::BF16:
    return BFloat16Type::get(context);
  case ScalarType::F32:
    return Float32Type::get(context);
  case ScalarType::F64:
    return Float64Type::get(context);
  case ScalarType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ScalarType::F8E5M2:
    return Float8E5M2Type::get(context);
  }
  return {};
}

std::string dtypeName(Type elementType) {
  for (const ScalarTypeRow &row : scalarTypes)
    if (elementTypeOf(row.type, elementType.getContext()) == elementType)
      return row.name.str();
  std::string text;
  llvm::raw_string_ostream(text) << elementType;
  return text;
}

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
  // Innermost first: find the dimension whose stride is the product of the sizes inside it. A dimension of size 1 may
  // have any stride, and keeps its position between the adjacent dimensions.
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
  // If only dimensions of size 1 moved, the order is equivalent to row-major.
  DenseLayout layout{{innermostFirst.rbegin(), innermostFirst.rend()}, true};
  SmallVector<unsigned> moved;
  for (unsigned dim : layout.order)
    if (!isConstant(sizes[dim], 1))
      moved.push_back(dim);
  return llvm::is_sorted(moved) ? rowMajor : layout;
}

} // namespace tilewright

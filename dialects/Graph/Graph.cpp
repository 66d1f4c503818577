//===- Graph.cpp - the tw dialect: registration and sizes -------------------===//
#include "dialects/Graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/Graph/GraphDialect.cpp.inc"
#include "dialects/Graph/GraphEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.cpp.inc"

namespace tilewright::graph {

void TWDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/GraphOps.cpp.inc"
      >();
}

SmallVector<AffineExpr> sizesOf(RankedTensorType type) {
  if (auto map = dyn_cast_or_null<AffineMapAttr>(type.getEncoding()))
    return SmallVector<AffineExpr>(map.getValue().getResults());
  SmallVector<AffineExpr> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(getAffineConstantExpr(size, type.getContext()));
  return sizes;
}

RankedTensorType tensorWithSizes(ArrayRef<AffineExpr> sizes, Type elementType) {
  SmallVector<int64_t> shape;
  unsigned symbols = 0;
  bool dynamic = false;
  for (AffineExpr size : sizes) {
    auto constant = dyn_cast<AffineConstantExpr>(size);
    shape.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
    dynamic |= !constant;
    size.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  }
  Attribute encoding;
  if (dynamic)
    encoding = AffineMapAttr::get(AffineMap::get(0, symbols, sizes, elementType.getContext()));
  return RankedTensorType::get(shape, elementType, encoding);
}

bool sameShape(RankedTensorType a, RankedTensorType b) {
  return a.getShape() == b.getShape() && sizesOf(a) == sizesOf(b);
}

RankedTensorType withElementType(RankedTensorType type, Type elementType) {
  return RankedTensorType::get(type.getShape(), elementType, type.getEncoding());
}

Operation *TWDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements && elements.getShapedType() == type ? ConstantOp::create(builder, loc, type, cast<TypedAttr>(value)).getOperation() : nullptr;
}

} // namespace tilewright::graph

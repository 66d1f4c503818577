//===- Dtype.cpp - element types of graphs, and their names ----------------------------===//
//
// Test: test/Unit/Dialects/DtypeTest.cpp
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Dtype.h"
#include "dialects/Graph/Graph.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright {

static constexpr ScalarTypeInfo infos[] = {
#define TW_DTYPE(ENUM, NAME, BITS, IR, DLPACK, EXPORT, ONNX, NPY) {ScalarType::ENUM, NAME, BITS, DLPACK, NPY},
#include "dialects/Graph/Dtypes.def"
};

llvm::ArrayRef<ScalarTypeInfo> scalarTypes() { return infos; }
const ScalarTypeInfo &infoOf(ScalarType type) { return infos[unsigned(type)]; }
llvm::StringRef scalarTypeName(ScalarType type) { return infoOf(type).name; }
unsigned scalarTypeBits(ScalarType type) { return infoOf(type).bits; }

std::optional<ScalarType> scalarTypeFromName(llvm::StringRef name) {
  for (const ScalarTypeInfo &info : infos)
    if (info.name == name)
      return info.type;
  return std::nullopt;
}

Type elementTypeOf(ScalarType type, MLIRContext *context) {
  auto integer = [&](unsigned width) { return IntegerType::get(context, width); };
  auto natural = [&](unsigned width) { return IntegerType::get(context, width, IntegerType::Unsigned); };
  switch (type) {
#define TW_DTYPE(ENUM, NAME, BITS, IR, ...)                                                                            \
  case ScalarType::ENUM:                                                                                               \
    return IR;
#include "dialects/Graph/Dtypes.def"
  }
  llvm_unreachable("every dtype has a row");
}

std::optional<ScalarType> scalarTypeOf(Type elementType) {
  for (const ScalarTypeInfo &info : infos)
    if (elementTypeOf(info.type, elementType.getContext()) == elementType)
      return info.type;
  return std::nullopt;
}

bool graph::isElementType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? integer.getWidth() <= 64 && !integer.isSigned() : isa<FloatType>(type) && scalarTypeOf(type);
}

std::string dtypeName(Type elementType) {
  if (std::optional<ScalarType> type = scalarTypeOf(elementType))
    return scalarTypeName(*type).str();
  std::string text;
  llvm::raw_string_ostream(text) << elementType;
  return text;
}

} // namespace tilewright

//===- Cpp.cpp - C++ names of types and functions ------------------------------------===//
#include "lib/Codegen/HLS/Cpp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::hls {

std::string cppType(Type element) {
  if (element.isF32())
    return "float";
  if (element.isF64())
    return "double";
  if (element.isF16())
    return "half";
  if (element.isIndex())
    return "int";
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.getWidth() > 128)
    return "";
  const std::string width = std::to_string(integer.getWidth());
  switch (integer.getWidth()) {
  case 1:
    return "bool";
  case 8:
  case 16:
  case 32:
  case 64:
    return (integer.isUnsigned() ? "uint" : "int") + width + "_t";
  default:
    return (integer.isUnsigned() ? "ap_uint<" : "ap_int<") + width + ">";
  }
}

std::optional<std::string> mathFunction(Operation *op) {
  StringRef name = llvm::StringSwitch<StringRef>(op->getName().stripDialect())
#define TW_MATH_FUNCTION(MATH, NAME, ...) .Case(#NAME, #NAME)
#include "dialects/Graph/ScalarFunctions.def"
                       .Cases({"sqrt", "floor", "ceil", "fma", "trunc", "round", "atan2"}, op->getName().stripDialect())
                       .Case("absf", "fabs")
                       .Case("powf", "pow")
                       .Case("roundeven", "rint")
                       .Case("copysign", "copysign")
                       .Case("rsqrt", "rsqrt") // printed as 1 / sqrt(x)
                       .Default("");
  if (name.empty() || op->getNumResults() != 1)
    return std::nullopt;
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  if (type.isF64())
    return name.str();
  return type.isF32() || type.isF16() ? std::optional((name + "f").str()) : std::nullopt;
}

bool isProductOfHalves(Operation &op) {
  return isa<arith::MulIOp>(op) && llvm::all_of(op.getOperands(), [](Value value) {
           auto extended = value.getDefiningOp<arith::ExtSIOp>();
           return extended &&
                  2 * extended.getIn().getType().getIntOrFloatBitWidth() <= extended.getType().getIntOrFloatBitWidth();
         });
}

std::string floatLiteral(const llvm::APFloat &value, Type type) {
  if (value.isNaN())
    return "NAN";
  if (value.isInfinity())
    return value.isNegative() ? "-INFINITY" : "INFINITY";
  SmallString<32> text;
  value.toString(text, /*FormatPrecision=*/0, /*FormatMaxPadding=*/4);
  std::string literal = text.str().str();
  if (literal.find_first_of(".E") == std::string::npos)
    literal += ".0";
  return type.isF64() ? literal : literal + "f";
}

std::string integerLiteral(const llvm::APInt &value, Type type) {
  if (type.isInteger(1))
    return value.isZero() ? "false" : "true";
  SmallString<32> text;
  if (type.isUnsignedInteger()) {
    value.toStringUnsigned(text);
    return (text + (value.getBitWidth() == 64 ? "ULL" : "U")).str();
  }
  value.toStringSigned(text);
  if (type.isInteger(64))
    return value.isMinSignedValue() ? "INT64_MIN" : (text + "LL").str();
  if (type.isInteger(32) && value.isMinSignedValue())
    return "INT32_MIN";
  return text.str().str();
}

} // namespace tilewright::hls

//===- PrintExpression.cpp - values of one function as C++ expressions ----------------------===//
//
//   arith.addf %a, %b : f32               a + b
//   arith.addi %a, %b : i32               (int32_t)((uint32_t)a + (uint32_t)b), because sums wrap around
//   affine.load %x[%i, %j * 2 + %u]       x[i][j * 2 + u], or x[i * 6 + j * 2 + u] for a port with rows of 6 elements
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Cpp.h"
#include "lib/Codegen/HLS/PrintFunction.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "tilewright/SourceLine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

StringRef signOf(Operation &op) {
  return llvm::StringSwitch<StringRef>(op.getName().stripDialect())
      .Cases({"addf", "addi"}, "+")
      .Cases({"subf", "subi"}, "-")
      .Cases({"mulf", "muli"}, "*")
      .Cases({"divf", "divsi"}, "/")
      .Case("remsi", "%")
      .Case("andi", "&")
      .Case("ori", "|")
      .Case("xori", "^")
      .Case("shli", "<<")
      .Case("shrsi", ">>")
      .Default("");
}

} // namespace

/// Returns an access such as "x[i][j]", or "x[i * 20 + j]" for a port, which is a pointer.
std::string FunctionPrinter::access(Value array, ValueRange operands) {
  auto type = cast<MemRefType>(array.getType());
  std::string text = use(array);
  SmallVector<std::string> indices = llvm::map_to_vector(operands, [&](Value operand) { return use(operand); });
  if (memoryOf(type) != Memory::Dram) {
    for (const std::string &index : indices)
      text += "[" + index + "]";
    return indices.empty() ? text + "[0]" : text;
  }
  std::string linear;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    const std::string size = std::to_string(type.getDimSize(dim));
    const bool plain = llvm::all_of(index, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (dim == 0)
      linear = index;
    else
      linear = (dim == 1 && llvm::all_of(linear, llvm::isAlnum) ? linear : "(" + linear + ")") + " * " + size + " + " +
               (plain ? index : "(" + index + ")");
  }
  return text + "[" + (linear.empty() ? "0" : linear) + "]";
}

std::string FunctionPrinter::use(Value value) {
  auto found = written.find(value);
  if (found != written.end())
    return found->second;
  return "0";
}

/// Returns the text of `value` as an operand of an operator. Parentheses are added if the text begins with a minus
/// sign, or if it contains spaces and has a space or a minus sign outside of parentheses and brackets.
std::string FunctionPrinter::operand(Value value) {
  std::string text = use(value);
  if (text.find(' ') == std::string::npos && (text.empty() || text.front() != '-'))
    return text;
  // The text needs no parentheses if all of its spaces and signs are inside parentheses or brackets.
  int open = 0;
  bool top = false;
  for (char c : text) {
    open += c == '(' || c == '[';
    open -= c == ')' || c == ']';
    top |= open == 0 && (c == ' ' || c == '-');
  }
  return top ? "(" + text + ")" : text;
}

/// Returns the access of the element of `array` whose indices are the results of `map` for `operands`.
std::string FunctionPrinter::access(Value array, AffineMap map, ValueRange operands) {
  auto type = cast<MemRefType>(array.getType());
  if (memoryOf(type) == Memory::Dram) {
    AffineExpr linear = getAffineConstantExpr(0, type.getContext());
    for (auto [size, expr] : llvm::zip(type.getShape(), map.getResults()))
      linear = linear * size + expr;
    linear = simplifyAffineExpr(linear, map.getNumDims(), map.getNumSymbols());
    return use(array) + "[" + affine(linear, operands, map.getNumDims()) + "]";
  }
  std::string text = use(array);
  for (AffineExpr expr : map.getResults())
    text += "[" + affine(expr, operands, map.getNumDims()) + "]";
  return map.getNumResults() == 0 ? text + "[0]" : text;
}

std::string FunctionPrinter::affine(AffineExpr expr, ValueRange operands, unsigned dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operand(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operand(operands[dims + symbol.getPosition()]);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(constant.getValue());
  auto pair = cast<AffineBinaryOpExpr>(expr);
  std::string left = affine(pair.getLHS(), operands, dims), right = affine(pair.getRHS(), operands, dims);
  auto bracket = [](AffineExpr inner, const std::string &text) {
    return isa<AffineBinaryOpExpr>(inner) ? "(" + text + ")" : text;
  };
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    if (auto constant = dyn_cast<AffineConstantExpr>(pair.getRHS()); constant && constant.getValue() < 0)
      return left + " - " + std::to_string(-constant.getValue());
    return left + " + " + right;
  case AffineExprKind::Mul:
    return (pair.getLHS().getKind() == AffineExprKind::Mul ? left : bracket(pair.getLHS(), left)) + " * " + right;
  case AffineExprKind::FloorDiv: // C++ rounds toward zero, which is the floor because indices are not negative
    return bracket(pair.getLHS(), left) + " / " + right;
  case AffineExprKind::Mod:
    return bracket(pair.getLHS(), left) + " % " + right;
  default:
    return "(" + left + " + " + right + " - 1) / " + right;
  }
}

/// Returns true for the integers that are printed as intN_t or uintN_t. Integers of one bit are printed as bool, and
/// other integers as ap_int or ap_uint.
static bool isNative(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth());
}

/// Returns the C++ type of unsigned integers of the width of `type`.
static std::string unsignedType(IntegerType type) {
  return cppType(IntegerType::get(type.getContext(), type.getWidth(), IntegerType::Unsigned));
}

std::string FunctionPrinter::asUnsigned(Value value) {
  const Type type = value.getType();
  const unsigned width = type.isIndex() ? 32 : type.getIntOrFloatBitWidth();
  if (width > 64)
    return "(" + unsignedType(cast<IntegerType>(type)) + ")" + operand(value);
  return "(unsigned " + std::string(width > 32 ? "long long" : "int") + ")" + operand(value);
}

/// Returns a product such as "(ap_int<37>)((ap_int<16>)a * (ap_int<12>)b)" if `op` multiplies two sign extensions that
/// have no other uses. The operands are multiplied in their widths before the extensions, which takes a smaller
/// multiplier. Returns std::nullopt for other ops, and if the exact product may need more bits than the result has.
/// Also returns std::nullopt for the widths of C++'s built-in types, whose products are printed as plain C++
/// arithmetic.
std::optional<std::string> FunctionPrinter::narrowProduct(Operation &op) {
  const unsigned width = op.getResult(0).getType().getIntOrFloatBitWidth();
  if (!isa<arith::MulIOp>(op) || width == 1 || isNative(op.getResult(0).getType()))
    return std::nullopt;
  std::string sides[2];
  unsigned together = 0;
  for (auto [side, value] : llvm::zip(sides, op.getOperands())) {
    auto extended = value.getDefiningOp<arith::ExtSIOp>();
    if (!extended || !extended->hasOneUse())
      return std::nullopt;
    const unsigned own = extended.getIn().getType().getIntOrFloatBitWidth();
    together += own;
    side = "(ap_int<" + std::to_string(own) + ">)" + operand(extended.getIn());
  }
  if (together > width)
    return std::nullopt;
  return "(" + cppType(op.getResult(0).getType()) + ")(" + sides[0] + " * " + sides[1] + ")";
}

/// Returns the amount of a shift. For C++'s built-in integers, shifts by at least the width are undefined, but the IR
/// does not use their results (a select follows), so a computed amount is masked. The computed amount of a shift of an
/// ap_int is cast to int.
std::string FunctionPrinter::shiftAmount(Operation &op) {
  const std::string amount = operand(op.getOperand(1));
  if (matchPattern(op.getOperand(1), m_Constant()))
    return amount;
  const Type type = op.getResult(0).getType();
  const unsigned width = type.isIndex() ? 32 : type.getIntOrFloatBitWidth();
  if (isNative(type) || type.isIndex())
    return "(" + amount + " & " + std::to_string(width - 1) + ")";
  return "(int)" + amount;
}

/// Returns an arithmetic operation. C++ computes integers of fewer than 32 bits as int, so the result is cast to its
/// type. Operations that wrap around in the IR but have undefined overflow in C++ are computed as unsigned integers.
std::string FunctionPrinter::binary(Operation &op, StringRef sign) {
  Type type = op.getResult(0).getType();
  auto integer = dyn_cast<IntegerType>(type);
  if (std::optional<std::string> product = integer ? narrowProduct(op) : std::nullopt)
    return *product;
  const unsigned width = integer ? integer.getWidth() : 0;
  const bool isShift = isa<arith::ShLIOp, arith::ShRSIOp>(op);
  std::string left = operand(op.getOperand(0)), right = isShift ? shiftAmount(op) : operand(op.getOperand(1));
  const bool mayWrap =
      isNative(type) &&
      (isa<arith::ShLIOp>(op) ||
       (width >= 32 && isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) && !isProductOfHalves(op)));
  if (mayWrap) {
    const std::string without = width == 64 ? "(uint64_t)" : "(uint32_t)";
    left = without + left;
    if (!isShift)
      right = without + right;
  }
  std::string text = left + " " + sign.str() + " " + right;
  if (!integer || width == 1 || (width >= 32 && isNative(type) && !mayWrap))
    return text;
  return "(" + cppType(type) + ")(" + text + ")";
}

/// Returns the C++ text of an operation whose operands the IR interprets as unsigned integers, although their C++ types
/// are signed. Returns an empty string if the width of the integers is not supported.
std::string FunctionPrinter::unsignedBinary(Operation &op) {
  Type type = op.getResult(0).getType();
  if (type.isIndex() && isa<arith::DivUIOp, arith::RemUIOp>(op)) // indices are not negative
    return operand(op.getOperand(0)) + (isa<arith::DivUIOp>(op) ? " / " : " % ") + operand(op.getOperand(1));
  auto integer = dyn_cast<IntegerType>(type);
  if (integer && isa<arith::ShRUIOp>(op))
    return "(" + cppType(type) + ")((" + unsignedType(integer) + ")" + operand(op.getOperand(0)) + " >> " +
           shiftAmount(op) + ")";
  if (!isNative(type))
    return "";
  const std::string without = unsignedType(integer), left = operand(op.getOperand(0)),
                    right = operand(op.getOperand(1));
  if (isa<arith::DivUIOp, arith::RemUIOp>(op))
    return "(" + cppType(type) + ")((" + without + ")" + left + (isa<arith::DivUIOp>(op) ? " / (" : " % (") + without +
           ")" + right + ")";
  return "(" + cppType(type) + ")" + (isa<arith::MaxUIOp>(op) ? "larger<" : "smaller<") + without + ">(" +
         use(op.getOperand(0)) + ", " + use(op.getOperand(1)) + ")";
}

std::string FunctionPrinter::expression(Operation &op) {
  StringRef name = op.getName().stripDialect();
  auto cast = [&](Value value) { return "(" + cppType(op.getResult(0).getType()) + ")" + operand(value); };
  auto call = [&](StringRef callee) {
    std::string text = callee.str() + "(";
    for (auto [index, value] : llvm::enumerate(op.getOperands()))
      text += (index ? ", " : "") + use(value);
    return text + ")";
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
      return floatLiteral(number.getValue(), number.getType());
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      return integerLiteral(number.getValue(), number.getType());
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return affine(apply.getAffineMap().getResult(0), apply.getMapOperands(), apply.getAffineMap().getNumDims());
  if (auto load = dyn_cast<affine::AffineLoadOp>(op))
    return access(load.getMemRef(), load.getAffineMap(), load.getMapOperands());
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return access(load.getMemRef(), load.getIndices());
  if (auto read = dyn_cast<ReadOp>(op))
    return use(read.getStream()) + ".read()";
  if (op.getName().getDialectNamespace() == "arith") {
    if (StringRef sign = signOf(op); !sign.empty())
      return binary(op, sign);
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      // In a conditional expression, an ap_int and a literal have no common type, so the literal is cast.
      const std::string type = cppType(select.getType());
      auto side = [&](Value value) {
        const bool typed = StringRef(type).starts_with("ap_") && matchPattern(value, m_Constant());
        return (typed ? "(" + type + ")" : "") + operand(value);
      };
      return operand(select.getCondition()) + " ? " + side(select.getTrueValue()) + " : " +
             side(select.getFalseValue());
    }
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      static constexpr StringLiteral signs[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
      auto predicate = compare.getPredicate();
      const bool isUnsigned = predicate >= arith::CmpIPredicate::ult;
      auto side = [&](Value v) { return isUnsigned ? asUnsigned(v) : operand(v); };
      return side(compare.getLhs()) + " " + signs[size_t(predicate)].str() + " " + side(compare.getRhs());
    }
    if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
      using P = arith::CmpFPredicate;
      std::string a = operand(compare.getLhs()), b = operand(compare.getRhs());
      switch (compare.getPredicate()) {
      case P::OEQ:
        return a + " == " + b;
      case P::OGT:
        return a + " > " + b;
      case P::OGE:
        return a + " >= " + b;
      case P::OLT:
        return a + " < " + b;
      case P::OLE:
        return a + " <= " + b;
      case P::ONE:
        return "(" + a + " < " + b + " || " + a + " > " + b + ")";
      case P::UNE:
        return a + " != " + b;
      case P::UNO:
        return "(" + a + " != " + a + " || " + b + " != " + b + ")";
      case P::ORD:
        return "(" + a + " == " + a + " && " + b + " == " + b + ")";
      case P::UGT:
        return "!(" + a + " <= " + b + ")";
      case P::UGE:
        return "!(" + a + " < " + b + ")";
      case P::ULT:
        return "!(" + a + " >= " + b + ")";
      case P::ULE:
        return "!(" + a + " > " + b + ")";
      case P::UEQ:
        return "!(" + a + " < " + b + " || " + a + " > " + b + ")";
      default:
        return compare.getPredicate() == P::AlwaysTrue ? "true" : "false";
      }
    }
    if (name == "negf")
      return "-" + operand(op.getOperand(0));
    // Print the template argument of a helper function, unless C++ deduces the result type from the operands.
    Type result = op.getResult(0).getType();
    const bool isPlain = result.isF32() || result.isF64() || result.isInteger(32) || result.isIndex();
    const std::string typed = isPlain ? "" : "<" + cppType(result) + ">";
    if (StringRef helper = llvm::StringSwitch<StringRef>(name)
                               .Case("maximumf", "max_or_nan")
                               .Case("minimumf", "min_or_nan")
                               .Case("maxnumf", "max_number")
                               .Case("minnumf", "min_number")
                               .Cases({"maxsi", "minsi"}, name.drop_back(2))
                               .Default("");
        !helper.empty())
      return call((helper == "max" ? "larger" : helper == "min" ? "smaller" : helper).str() + typed);
    if (isa<arith::MaxUIOp, arith::MinUIOp, arith::DivUIOp, arith::RemUIOp, arith::ShRUIOp>(op))
      if (std::string text = unsignedBinary(op); !text.empty())
        return text;
    if (llvm::is_contained({"extf", "truncf", "sitofp", "fptosi", "extsi", "trunci", "index_cast"}, name)) {
      // A signed integer of one bit has the values 0 and -1.
      if ((name == "extsi" || name == "sitofp") && op.getOperand(0).getType().isInteger(1))
        return "(" + cppType(op.getResult(0).getType()) + ")-(int)" + operand(op.getOperand(0));
      if (name == "trunci" && op.getResult(0).getType().isInteger(1))
        return "(" + operand(op.getOperand(0)) + " & 1) != 0";
      if (name == "index_cast" && op.getOperand(0).getType().isInteger(32) && op.getResult(0).getType().isIndex())
        return use(op.getOperand(0));
      return cast(op.getOperand(0));
    }
    if (name == "extui" || name == "uitofp" || name == "index_castui") {
      auto from = dyn_cast<IntegerType>(op.getOperand(0).getType());
      if (from && from.getWidth() == 1)
        return cast(op.getOperand(0));
      if (from && isNative(from))
        return "(" + cppType(op.getResult(0).getType()) + ")(" + unsignedType(from) + ")" + operand(op.getOperand(0));
    }
    if (name == "remf")
      return call(op.getResult(0).getType().isF64() ? "fmod" : "fmodf");
  }
  if (std::optional<std::string> callee = mathFunction(&op)) {
    if (StringRef(*callee).starts_with("rsqrt"))
      return std::string(callee->back() == 'f' ? "1.0f / sqrtf(" : "1.0 / sqrt(") + use(op.getOperand(0)) + ")";
    std::string text = call(*callee);
    return op.getResult(0).getType().isF16() ? "(half)" + text : text;
  }
  problems.insert(op.getName().getStringRef().str() + sourceLineAfter(op.getLoc()));
  return "";
}

} // namespace tilewright::hls

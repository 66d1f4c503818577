//===- PrintFunction.cpp - statements of one function -------------------------------------===//
//
//   matmul_i: for (int i = 0; i < 20; ++i) {
//     matmul_k: for (int k = 0; k < 24; ++k) {
//       matmul_j: for (int j = 0; j < 16; ++j) {
//   #pragma HLS pipeline II=1
//   #pragma HLS loop_flatten
//         y[i][j] = (k == 0 ? 0.0f : y[i][j]) + a[i][k] * b[k][j];
//
// A pragma comes from an attribute of the IR, never from here.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/HLS/PrintFunction.h"
#include "lib/Target/HLS/Cpp.h"
#include "lib/Target/HLS/PrintCpp.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// Longer expressions get a name.
constexpr size_t longestExpression = 110;

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

/// Arrays that a loop's body reads and writes.
SmallVector<Value> accumulated(Block &body) {
  llvm::SmallSetVector<Value, 2> read, both;
  body.walk([&](affine::AffineLoadOp load) { read.insert(load.getMemRef()); });
  body.walk([&](affine::AffineStoreOp store) {
    if (read.contains(store.getMemRef()))
      both.insert(store.getMemRef());
  });
  return both.takeVector();
}

std::string indexed(Value array, ArrayRef<std::string> indices, const std::string &name) {
  auto type = cast<MemRefType>(array.getType());
  std::string text = name;
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

} // namespace

FunctionPrinter::FunctionPrinter(func::FuncOp function, raw_ostream &out, std::set<std::string> &problems)
    : function(function), out(out), problems(problems) {
  for (BlockArgument argument : function.getArguments()) {
    auto interface = function.getArgAttrOfType<InterfaceAttr>(argument.getArgNumber(), interfaceAttrName);
    auto given = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), parameterAttrName);
    std::string wish = interface ? interface.getName().str() : given ? given.str() : "value";
    if (interface)
      names.take(wish), written[argument] = wish;
    else
      written[argument] = names.take(wish);
  }
}

std::vector<std::string> FunctionPrinter::argumentNames() {
  std::vector<std::string> all;
  for (BlockArgument argument : function.getArguments())
    all.push_back(written[argument]);
  return all;
}

void FunctionPrinter::indent() { out.indent(2 * depth); }

void FunctionPrinter::print() {
  out << printSignature(function) << " {\n";
  for (BlockArgument argument : function.getArguments()) {
    auto interface = function.getArgAttrOfType<InterfaceAttr>(argument.getArgNumber(), interfaceAttrName);
    if (!interface) {
      pragmas(argument, written[argument]);
      continue;
    }
    if (interface.getProtocol() == Protocol::AxiMaster) {
      auto type = cast<MemRefType>(argument.getType());
      out << "#pragma HLS interface m_axi port=" << interface.getName()
          << " bundle=" << interface.getBundle().getValue()
          << " offset=slave depth=" << std::max<int64_t>(1, type.getNumElements()) << "\n";
      out << "#pragma HLS interface s_axilite port=" << interface.getName() << " bundle=control\n";
    } else {
      out << "#pragma HLS interface "
          << (interface.getProtocol() == Protocol::AxiLite ? "s_axilite port=" : "axis port=") << interface.getName()
          << "\n";
    }
  }
  if (function->hasAttr(topAttrName))
    out << "#pragma HLS interface s_axilite port=return bundle=control\n";
  block(function.getBody().front());
  out << "}\n";
}

void FunctionPrinter::pragmas(Value array, StringRef name) {
  auto type = dyn_cast<MemRefType>(array.getType());
  if (!type)
    return;
  if (PartitionAttr banks = banksOf(type))
    for (auto [dim, kind] : llvm::enumerate(banks.getKinds())) {
      if (kind == PartitionKind::None || type.getDimSize(dim) == 1)
        continue;
      out << "#pragma HLS array_partition variable=" << name << " type=" << stringifyPartitionKind(kind);
      if (kind != PartitionKind::Complete)
        out << " factor=" << banks.getFactors()[dim];
      out << " dim=" << dim + 1 << "\n";
    }
  if (isa<BlockArgument>(array) || !array.getDefiningOp<BufferOp>())
    return;
  if (memoryOf(type) == Memory::Uram || memoryOf(type) == Memory::Lutram)
    out << "#pragma HLS bind_storage variable=" << name << " type=ram_t2p impl=" << stringifyMemory(memoryOf(type))
        << "\n";
}

void FunctionPrinter::block(Block &block) {
  for (Operation &op : block)
    statement(op);
}

/// An op that may be written where its one use is: nothing between the two can change its value.
bool FunctionPrinter::foldable(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0)
    return false;
  if (isa<arith::ConstantOp, affine::AffineApplyOp, arith::IndexCastOp>(op))
    return true;
  Value result = op.getResult(0);
  if (!result.hasOneUse() || (*result.user_begin())->getBlock() != op.getBlock())
    return false;
  const bool isLoad = isa<affine::AffineLoadOp, memref::LoadOp>(op);
  if (!isLoad && !isMemoryEffectFree(&op))
    return false;
  // A load must come before the next write; what holds it must, too, so the whole tree lies before it.
  Operation *last = &op;
  while (last->getNumResults() == 1 && last->getResult(0).hasOneUse() &&
         (*last->getResult(0).user_begin())->getBlock() == op.getBlock() && isMemoryEffectFree(last) | (last == &op))
    last = *last->getResult(0).user_begin();
  for (Operation *at = op.getNextNode(); at && at != last; at = at->getNextNode())
    if (at->getNumRegions() != 0 || isa<affine::AffineStoreOp, memref::StoreOp, ReadOp, WriteOp>(at))
      return false;
  return true;
}

void FunctionPrinter::define(Value value, const std::string &text) {
  std::string name = names.take("t" + std::to_string(temporaries++));
  indent();
  out << "const " << cppType(value.getType()) << " " << name << " = " << text << ";\n";
  written[value] = name;
}

void FunctionPrinter::statement(Operation &op) {
  if (isa<func::ReturnOp>(op))
    return;
  if (auto buffer = dyn_cast<BufferOp>(op)) {
    auto type = cast<MemRefType>(buffer.getMemory().getType());
    std::string name = names.take(buffer.getName());
    written[buffer.getMemory()] = name;
    indent();
    if (!buffer.getValue()) {
      out << printArray(name, type) << ";\n";
    } else {
      out << printConstant(name, type, *buffer.getValue()) << ";\n";
    }
    pragmas(buffer.getMemory(), name);
    return;
  }
  if (auto stream = dyn_cast<StreamOp>(op)) {
    auto type = cast<StreamType>(stream.getQueue().getType());
    std::string name = names.take(stream.getName());
    written[stream.getQueue()] = name;
    indent();
    out << "hls::stream<" << cppType(type.getElement()) << ", " << type.getDepth() << "> " << name << "(\"" << name
        << "\");\n#pragma HLS stream variable=" << name << " depth=" << type.getDepth() << "\n";
    return;
  }
  if (auto dataflow = dyn_cast<DataflowOp>(op)) {
    out << "#pragma HLS dataflow\n";
    return block(dataflow.getBody().front());
  }
  if (auto task = dyn_cast<TaskOp>(op)) {
    indent();
    out << task.getCallee() << "(";
    llvm::interleaveComma(task->getOperands(), out, [&](Value value) { out << use(value); });
    out << ");\n";
    return;
  }
  if (auto store = dyn_cast<affine::AffineStoreOp>(op)) {
    std::string value = use(store.getValueToStore());
    indent();
    out << access(store.getMemRef(), store.getAffineMap(), store.getMapOperands()) << " = " << value << ";\n";
    return;
  }
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    SmallVector<std::string> indices = llvm::map_to_vector(store.getIndices(), [&](Value v) { return use(v); });
    indent();
    out << indexed(store.getMemRef(), indices, use(store.getMemRef())) << " = " << use(store.getValueToStore())
        << ";\n";
    return;
  }
  if (auto write = dyn_cast<WriteOp>(op)) {
    indent();
    out << use(write.getStream()) << ".write(" << use(write.getValue()) << ");\n";
    return;
  }
  if (auto loopOp = dyn_cast<affine::AffineForOp>(op); loopOp && loopOp.hasConstantBounds()) {
    carried(op, loopOp.getInits(), loopOp.getRegionIterArgs());
    return loop(op, *loopOp.getBody(), loopOp.getInductionVar(), std::to_string(loopOp.getConstantLowerBound()),
                std::to_string(loopOp.getConstantUpperBound()), std::to_string(loopOp.getStepAsInt()));
  }
  if (auto loopOp = dyn_cast<scf::ForOp>(op); loopOp && loopOp.getStaticTripCount()) {
    carried(op, loopOp.getInitArgs(), loopOp.getRegionIterArgs());
    return loop(op, *loopOp.getBody(), loopOp.getInductionVar(), use(loopOp.getLowerBound()),
                use(loopOp.getUpperBound()), use(loopOp.getStep()));
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    carried(op, {}, {});
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
      if (region->empty())
        continue;
      indent();
      out << (region == &branch.getThenRegion() ? "if (" + use(branch.getCondition()) + ") {\n" : "else {\n");
      ++depth;
      block(region->front());
      yield(*region->front().getTerminator(), branch.getResults());
      --depth;
      indent();
      out << "}\n";
    }
    return;
  }
  if (isa<affine::AffineYieldOp, scf::YieldOp>(op))
    return; // by the op around it
  if (op.getNumResults() == 1) {
    std::string text = expression(op);
    if (text.empty()) {
      written[op.getResult(0)] = "0";
      return;
    }
    if (foldable(op) && text.size() <= longestExpression)
      written[op.getResult(0)] = text;
    else if (!op.use_empty())
      define(op.getResult(0), text);
    return;
  }
  problems.insert(op.getName().getStringRef().str());
}

/// Variables for what a loop or a branch hands on.
void FunctionPrinter::carried(Operation &op, ValueRange initial, ValueRange inside) {
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    std::string name = names.take("t" + std::to_string(temporaries++));
    indent();
    out << cppType(result.getType()) << " " << name;
    if (index < initial.size())
      out << " = " << use(initial[index]);
    out << ";\n";
    written[result] = name;
    if (index < inside.size())
      written[inside[index]] = name;
  }
}

void FunctionPrinter::yield(Operation &terminator, ValueRange targets) {
  if (targets.empty())
    return;
  // All are computed before any is assigned.
  SmallVector<std::string> values;
  for (Value value : terminator.getOperands()) {
    std::string text = use(value);
    if (targets.size() > 1) {
      std::string name = names.take("t" + std::to_string(temporaries++));
      indent();
      out << "const " << cppType(value.getType()) << " " << name << " = " << text << ";\n";
      text = name;
    }
    values.push_back(text);
  }
  for (auto [target, value] : llvm::zip(targets, values)) {
    indent();
    out << written[target] << " = " << value << ";\n";
  }
}

void FunctionPrinter::loop(Operation &op, Block &body, Value iv, const std::string &low, const std::string &high,
                           const std::string &step) {
  auto attribute = op.getAttrOfType<LoopAttr>(loopAttrName);
  std::string name;
  if (attribute)
    name = attribute.getLabel().rsplit('_').second.str();
  if (name.empty())
    name = std::string(1, "ijklmn"[std::min(loops, 5u)]);
  NameTable saved = names;
  name = names.take(name);
  written[iv] = name;
  ++loops;
  indent();
  if (attribute && attribute.getUnroll() == 1)
    out << attribute.getLabel() << ": ";
  out << "for (int " << name << " = " << low << "; " << name << " < " << high << "; "
      << (step == "1" ? "++" + name : name + " += " + step) << ") {\n";
  if (attribute) {
    if (attribute.getIi() > 0) {
      out << "#pragma HLS pipeline II=" << attribute.getIi() << "\n";
      auto parent = op.getParentOfType<affine::AffineForOp>();
      auto around = parent ? parent->getAttrOfType<LoopAttr>(loopAttrName) : LoopAttr();
      if (around && around.getFlatten())
        out << "#pragma HLS loop_flatten\n";
      if (attribute.getDistance() > 0)
        for (Value array : accumulated(body))
          out << "#pragma HLS dependence variable=" << use(array)
              << " type=inter direction=RAW distance=" << attribute.getDistance() << " true\n";
    }
    if (attribute.getUnroll() > 1)
      out << "#pragma HLS unroll\n";
  }
  ++depth;
  block(body);
  yield(*body.getTerminator(), op.getResults());
  --depth;
  --loops;
  indent();
  out << "}\n";
  names = saved;
}

std::string FunctionPrinter::use(Value value) {
  auto found = written.find(value);
  if (found != written.end())
    return found->second;
  return "0";
}

/// As an operand of an operator: in parentheses unless it is a name, a call or a literal.
std::string FunctionPrinter::operand(Value value) {
  std::string text = use(value);
  if (text.find(' ') == std::string::npos && (text.empty() || text.front() != '-'))
    return text;
  // One pair of parentheses or brackets from a name to the end needs no more.
  int open = 0;
  bool top = false;
  for (char c : text) {
    open += c == '(' || c == '[';
    open -= c == ')' || c == ']';
    top |= open == 0 && (c == ' ' || c == '-');
  }
  return top ? "(" + text + ")" : text;
}

/// "x[i][j]", or "x[20 * i + j]" of a port.
std::string FunctionPrinter::access(Value array, AffineMap map, ValueRange operands) {
  auto type = cast<MemRefType>(array.getType());
  SmallVector<std::string> indices;
  if (memoryOf(type) == Memory::Dram) {
    AffineExpr linear = getAffineConstantExpr(0, type.getContext());
    for (auto [size, expr] : llvm::zip(type.getShape(), map.getResults()))
      linear = linear * size + expr;
    linear = simplifyAffineExpr(linear, map.getNumDims(), map.getNumSymbols());
    return use(array) + "[" + affine(linear, operands) + "]";
  }
  for (AffineExpr expr : map.getResults())
    indices.push_back(affine(expr, operands));
  return indexed(array, indices, use(array));
}

std::string FunctionPrinter::affine(AffineExpr expr, ValueRange operands) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operand(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operand(operands[operands.size() - 1 - symbol.getPosition()]);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(constant.getValue());
  auto pair = cast<AffineBinaryOpExpr>(expr);
  std::string left = affine(pair.getLHS(), operands), right = affine(pair.getRHS(), operands);
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
  case AffineExprKind::FloorDiv: // indices are not negative
    return bracket(pair.getLHS(), left) + " / " + right;
  case AffineExprKind::Mod:
    return bracket(pair.getLHS(), left) + " % " + right;
  default:
    return "(" + left + " + " + right + " - 1) / " + right;
  }
}

std::string FunctionPrinter::asUnsigned(Value value) {
  return "(unsigned " + std::string(value.getType().isInteger(64) ? "long long" : "int") + ")" + operand(value);
}

/// Narrow integers are computed as int by C++: the result is cut to the type. What wraps around in the IR and may not
/// in C++ is computed without a sign.
std::string FunctionPrinter::binary(Operation &op, StringRef sign) {
  Type type = op.getResult(0).getType();
  std::string left = operand(op.getOperand(0)), right = operand(op.getOperand(1));
  auto integer = dyn_cast<IntegerType>(type);
  const unsigned width = integer ? integer.getWidth() : 0;
  const bool isShift = isa<arith::ShLIOp, arith::ShRSIOp>(op),
             isNative = llvm::is_contained({8u, 16u, 32u, 64u}, width);
  if (isShift && isNative && !matchPattern(op.getOperand(1), m_Constant())) // IR has no value for a longer shift
    right = "(" + right + " & " + std::to_string(width - 1) + ")";
  const bool mayWrap =
      isNative && (isa<arith::ShLIOp>(op) ||
                   (width >= 32 && isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) && !isProductOfHalves(op)));
  if (mayWrap) {
    const std::string without = width == 64 ? "(uint64_t)" : "(uint32_t)";
    left = without + left;
    if (!isShift)
      right = without + right;
  }
  std::string text = left + " " + sign.str() + " " + right;
  if (!integer || width == 1 || (width >= 32 && isNative && !mayWrap))
    return text;
  return "(" + cppType(type) + ")(" + text + ")";
}

/// Of integers by their bits as numbers without a sign.
std::string FunctionPrinter::unsignedBinary(Operation &op) {
  Type type = op.getResult(0).getType();
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || !llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth()))
    return "";
  const std::string without = "u" + cppType(type), left = operand(op.getOperand(0)), right = operand(op.getOperand(1));
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
    return affine(apply.getAffineMap().getResult(0), apply.getMapOperands());
  if (auto load = dyn_cast<affine::AffineLoadOp>(op))
    return access(load.getMemRef(), load.getAffineMap(), load.getMapOperands());
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return indexed(load.getMemRef(), llvm::map_to_vector(load.getIndices(), [&](Value v) { return use(v); }),
                   use(load.getMemRef()));
  if (auto read = dyn_cast<ReadOp>(op))
    return use(read.getStream()) + ".read()";
  if (op.getName().getDialectNamespace() == "arith") {
    if (StringRef sign = signOf(op); !sign.empty())
      return binary(op, sign);
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return operand(select.getCondition()) + " ? " + operand(select.getTrueValue()) + " : " +
             operand(select.getFalseValue());
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
    // Where a literal has another type than the helper's other operand, the helper is told which.
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
    if (isa<arith::MaxUIOp, arith::MinUIOp, arith::DivUIOp, arith::RemUIOp>(op))
      if (std::string text = unsignedBinary(op); !text.empty())
        return text;
    if (llvm::is_contained({"extf", "truncf", "sitofp", "fptosi", "extsi", "trunci", "index_cast"}, name)) {
      // A boolean is one bit: as a signed number it is 0 or -1.
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
      if (from && llvm::is_contained({8u, 16u, 32u, 64u}, from.getWidth()))
        return "(" + cppType(op.getResult(0).getType()) + ")(u" + cppType(from) + ")" + operand(op.getOperand(0));
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
  problems.insert(op.getName().getStringRef().str());
  return "";
}

} // namespace tilewright::hls

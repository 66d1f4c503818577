//===- PrintFunction.cpp - statements of one function -------------------------------------===//
//
//   matmul_i: for (int i = 0; i < 20; ++i) {
//     matmul_k: for (int k = 0; k < 24; ++k) {
//       matmul_j: for (int j = 0; j < 16; ++j) {
//   #pragma HLS pipeline II=1
//   #pragma HLS loop_flatten
//   #pragma HLS dependence variable=y type=inter direction=RAW distance=16 true
//         y[i][j] = ((k == 0) ? 0.0f : y[i][j]) + (a[i][k] * b[k][j]);
//
// Every pragma is derived from an op, an attribute or a type of the IR.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/PrintFunction.h"
#include "lib/Codegen/HLS/Cost.h"
#include "lib/Codegen/HLS/Cpp.h"
#include "lib/Codegen/HLS/PrintCpp.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/SourceLine.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// The maximum number of characters of an expression. The value of a longer expression is assigned to a variable.
constexpr size_t longestExpression = 110;

/// Returns the arrays that a loop's body both reads and writes.
SmallVector<Value> accumulated(Block &body) {
  llvm::SmallSetVector<Value, 2> read, both;
  body.walk([&](affine::AffineLoadOp load) { read.insert(load.getMemRef()); });
  body.walk([&](affine::AffineStoreOp store) {
    if (read.contains(store.getMemRef()))
      both.insert(store.getMemRef());
  });
  return both.takeVector();
}

} // namespace

FunctionPrinter::FunctionPrinter(func::FuncOp function, raw_ostream &out, std::set<std::string> &problems)
    : function(function), out(out), problems(problems) {
  for (BlockArgument argument : function.getArguments()) {
    auto interface = function.getArgAttrOfType<InterfaceAttr>(argument.getArgNumber(), interfaceAttrName);
    auto given = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), parameterAttrName);
    std::string preferred = interface ? interface.getName().str() : given ? given.str() : "value";
    if (interface)
      names.take(preferred), written[argument] = preferred;
    else
      written[argument] = names.take(preferred);
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
      const bool lite = interface.getProtocol() == Protocol::AxiLite;
      out << "#pragma HLS interface " << (lite ? "s_axilite port=" : "axis port=") << interface.getName()
          << (lite ? " bundle=control" : "") << "\n";
    }
  }
  if (function->hasAttr(topAttrName))
    out << "#pragma HLS interface s_axilite port=return bundle=control\n";
  block(function.getBody().front());
  out << "}\n";
}

void FunctionPrinter::pragmas(Value array, StringRef name) {
  auto type = dyn_cast<MemRefType>(array.getType());
  if (auto stream = dyn_cast<StreamType>(array.getType())) // a stream of blocks has the pragmas of its blocks
    type = dyn_cast<MemRefType>(stream.getElement());
  if (!type)
    return;
  if (PartitionAttr banks = banksOf(type))
    for (auto [dim, kind] : llvm::enumerate(banks.getKinds())) {
      if (kind == PartitionKind::None || type.getDimSize(dim) == 1)
        continue;
      out << "#pragma HLS array_" << (hasWords(memoryOf(type)) ? "reshape" : "partition") << " variable=" << name
          << " type=" << stringifyPartitionKind(kind);
      if (kind != PartitionKind::Complete)
        out << " factor=" << banks.getFactors()[dim];
      out << " dim=" << dim + 1 << "\n";
    }
  if (isa<BlockArgument>(array) || !array.getDefiningOp<BufferOp>())
    return;
  if (array.getDefiningOp<BufferOp>().getValue() && memoryOf(type) == Memory::Bram)
    out << "#pragma HLS bind_storage variable=" << name
        << " type=rom_2p impl=" << (blockMemories(type) ? "bram" : "lutram") << "\n";
  const Memory memory = memoryOf(type);
  if (isUltra(memory) || memory == Memory::Lutram || memory == Memory::BramWords)
    out << "#pragma HLS bind_storage variable=" << name << " type=ram_t2p impl="
        << (isUltra(memory)            ? "uram"
            : memory == Memory::Lutram ? "lutram"
                                       : "bram")
        << "\n";
}

void FunctionPrinter::block(Block &block) {
  for (Operation &op : block)
    statement(op);
}

/// Returns true if the op may be printed inside the expressions that use it. This is the case for constants, index
/// casts and affine.apply. Any other op must be a load or have no memory effects, and must have only one use, in the
/// same block. No store, access of a queue or op with regions may be between the op and the end of the expression.
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
  // A load, and every expression that contains it, must be printed before the next write. Therefore check all ops up
  // to the end of the expression tree.
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

/// Defines a variable for a sum that an adder in lookup tables computes. The pragma that selects this adder refers to
/// the variable.
void FunctionPrinter::defineInFabric(Operation &op, const std::string &text) {
  Value sum = op.getResult(0);
  std::string name = names.take("t" + std::to_string(temporaries++));
  indent();
  out << cppType(sum.getType()) << " " << name << ";\n#pragma HLS bind_op variable=" << name
      << " op=" << (isa<arith::SubFOp>(op) ? "fsub" : "fadd")
      << " impl=fabric latency=" << operatorCost(&op).latency - 1 << "\n"; // the cycle of the result is not included
  indent();
  out << name << " = " << text << ";\n";
  written[sum] = name;
}

void FunctionPrinter::statement(Operation &op) {
  if (isa<func::ReturnOp>(op))
    return;
  if (auto buffer = dyn_cast<BufferOp>(op)) {
    auto type = cast<MemRefType>(buffer.getMemory().getType());
    std::string name = names.take(buffer.getName());
    written[buffer.getMemory()] = name;
    if (!buffer.getValue()) { // ROMs are printed in weights.h
      // A register gets an initial value, because C++ compilers cannot prove that it is written before it is read under
      // a condition. Arrays between tasks get no initial value, because a dataflow region may not contain
      // initializations.
      const bool isRegister =
          type.getNumElements() == 1 && llvm::any_of(buffer.getMemory().getUsers(), [](Operation *user) {
            return isa<affine::AffineLoadOp, memref::LoadOp>(user);
          });
      indent(), out << printArray(name, type) << (isRegister ? " = {}" : "") << ";\n";
    }
    pragmas(buffer.getMemory(), name);
    return;
  }
  if (auto stream = dyn_cast<StreamOp>(op)) {
    auto type = cast<StreamType>(stream.getQueue().getType());
    std::string name = names.take(stream.getName());
    written[stream.getQueue()] = name;
    indent();
    if (auto block = dyn_cast<MemRefType>(type.getElement())) {
      out << streamType(type) << " " << name << ";\n";
      return pragmas(stream.getQueue(), name);
    }
    out << streamType(type) << " " << name << "(\"" << name << "\");\n#pragma HLS stream variable=" << name
        << " depth=" << type.getDepth() << "\n";
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
    indent();
    out << access(store.getMemRef(), store.getIndices()) << " = " << use(store.getValueToStore()) << ";\n";
    return;
  }
  if (auto lock = dyn_cast<LockOp>(op)) {
    auto block = cast<MemRefType>(lock.getBlock().getType());
    std::string stream = use(lock.getStream());
    std::string name = names.take(stream + "_block");
    written[lock.getBlock()] = name;
    indent();
    out << "hls::" << (lock.getWrites() ? "write" : "read") << "_lock<" << printArray("", block) << "> " << name << "("
        << stream << ");\n";
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
    return; // the enclosing op prints the yielded values
  if (op.getNumResults() == 1) {
    std::string text = expression(op);
    if (text.empty()) {
      written[op.getResult(0)] = "0";
      return;
    }
    if (op.hasAttr(fabricAttrName))
      return defineInFabric(op, text);
    if (foldable(op) && text.size() <= longestExpression)
      written[op.getResult(0)] = text;
    else if (!op.use_empty())
      define(op.getResult(0), text);
    return;
  }
  problems.insert(op.getName().getStringRef().str() + sourceLineAfter(op.getLoc()));
}

/// Declares one variable per result of a loop or a branch. The variables of a loop are initialized with `initial`, and
/// also hold the loop-carried values `inside`.
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
  // Compute all values before assigning any.
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

} // namespace tilewright::hls

//===- BuildDesign.cpp - --tw-hls-build-design: convert the plan to a top function -----------===//
//
// Before:
//   tw_plan.program ... { buffer 0 input 0 ; buffer 1 output 0 ; launch @kernel_0 [0, 1] writes 2 }
// After:
//   func @model(%x: memref<8x6xf32, dram> {tw_hls.interface = <name = "x", protocol = axi_master, bundle = "gmem0">},
//               %y: ...) attributes {tw_hls.top} {
//     tw_hls.dataflow {
//       %x_chip = tw_hls.buffer "x_chip" ; %y_chip = tw_hls.buffer "y_chip"
//       tw_hls.task @load_x reads(%x) writes(%x_chip)
//       tw_hls.task @softmax reads(%x_chip) writes(%y_chip)
//       tw_hls.task @store_y reads(%y_chip) writes(%y) } }
//
// Each argument that a launch reads has a separate array, so each array has one producer and one consumer. A
// load task writes all arrays of an input. A separate task copies a kernel's result if the result has several
// consumers, or if its consumer is a port or reads the elements in a different shape. chooseBanks() in Banks.h selects
// the number of banks of an array. An array and the task arguments to which it is passed have the same number of banks.
//
// Tests: test/Codegen/HLS/build-design.mlir, test/Codegen/HLS/design.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/HLS/Banks.h"
#include "lib/Codegen/HLS/DataMovers.h"
#include "lib/Codegen/HLS/Names.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSBUILDDESIGN
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

/// Returns true if the kernel writes `array`, directly or through a view.
bool isWritten(Value array) {
  return llvm::any_of(array.getUsers(), [&](Operation *user) {
    if (auto store = dyn_cast<affine::AffineStoreOp>(user))
      return store.getMemRef() == array;
    if (auto view = dyn_cast<ViewLikeOpInterface>(user))
      return view.getViewSource() == array && isWritten(user->getResult(0));
    return hasEffect<MemoryEffects::Write>(user, array);
  });
}

MemRefType chipType(ShapedType type) { return MemRefType::get(type.getShape(), type.getElementType()); }

/// A consumer of a buffer of the plan: argument `argument` of launch `launch`, or the output port `output`.
struct Reader {
  int64_t launch = -1, argument = 0, output = -1;
  MemRefType type;
};

/// A buffer of the plan, with the launch that writes it and its consumers.
struct PlanBuffer {
  plan::BufferOp op;
  std::string name;
  MemRefType type;
  int64_t writer = -1, writerArgument = 0;
  SmallVector<Reader> readers;
};

class DesignBuilder {
public:
  DesignBuilder(ModuleOp module, plan::ProgramOp program)
      : module(module), program(program), builder(module.getContext()) {}

  LogicalResult run() {
    if (failed(collect()))
      return failure();
    nameKernels();
    nameBuffers();
    nameParameters();
    makeTop();
    for (PlanBuffer &buffer : buffers)
      if (buffer.writer < 0)
        feed(buffer);
    for (size_t number = 0; number < launches.size(); ++number)
      launch(number);
    program.erase();
    return chooseBanks(top);
  }

private:
  /// Returns the names and types of ports that --tw-hls-accept-model has recorded.
  std::vector<std::pair<std::string, MemRefType>> portsOf(StringRef attribute) {
    std::vector<std::pair<std::string, MemRefType>> ports;
    if (auto kept = module->getAttrOfType<ArrayAttr>(attribute))
      for (auto entry : kept.getAsRange<ArrayAttr>())
        ports.push_back(
            {cast<StringAttr>(entry[0]).str(), chipType(cast<RankedTensorType>(cast<TypeAttr>(entry[1]).getValue()))});
    return ports;
  }

  static LogicalResult withoutPorts(plan::BufferOp op) {
    return op.emitError(
        "the module has no description of its ports; run --tw-hls-accept-model before --tw-hls-build-design");
  }

  LogicalResult collect() {
    inputs = portsOf(inputsAttrName);
    outputs = portsOf(outputsAttrName);
    for (auto op : program.getBody().getOps<plan::BufferOp>()) {
      PlanBuffer buffer;
      buffer.op = op;
      if (op.getKind() == plan::BufferKind::Input) {
        if (op.getInPlace())
          return op.emitError("the target hls does not support a model that writes its inputs in place");
        if (size_t(op.getIndex()) >= inputs.size())
          return withoutPorts(op);
        buffer.type = inputs[op.getIndex()].second;
      } else if (op.getKind() == plan::BufferKind::Output) {
        if (size_t(op.getIndex()) >= outputs.size())
          return withoutPorts(op);
        buffer.type = outputs[op.getIndex()].second;
      } else if (op.getKind() == plan::BufferKind::Constant) {
        buffer.type = chipType(cast<ShapedType>(op.getValue()->getType()));
      }
      buffers.push_back(std::move(buffer));
    }
    for (auto op : program.getBody().getOps<plan::LaunchOp>()) {
      auto kernel = module.lookupSymbol<func::FuncOp>(op.getKernel());
      if (!kernel || kernel.getNumArguments() < op.getBuffers().size())
        return op.emitError("its kernel is not a function of ")
               << op.getBuffers().size() << " buffers; run --tw-hls-apply-schedules before --tw-hls-build-design";
      for (auto [argument, number] : llvm::enumerate(op.getBuffers())) {
        auto type = chipType(cast<MemRefType>(kernel.getArgumentTypes()[argument]));
        PlanBuffer &buffer = buffers[number];
        if (writesArgument(op, argument)) {
          if (buffer.writer >= 0)
            return op.emitError("two kernels write one buffer, which the target hls does not support");
          buffer.writer = launches.size();
          buffer.writerArgument = argument;
          if (!buffer.type)
            buffer.type = type;
          writerTypes[number] = type;
        } else {
          Reader reader;
          reader.launch = launches.size();
          reader.argument = argument;
          reader.type = type;
          buffer.readers.push_back(reader);
        }
      }
      launches.push_back(op);
      operands.emplace_back(op.getBuffers().size());
    }
    for (auto [number, buffer] : llvm::enumerate(buffers)) {
      // The port has the shape of the model's output, and the array on the chip has the shape that the kernel writes.
      if (buffer.op.getKind() == plan::BufferKind::Output) {
        addOutput(buffer, buffer.op.getIndex());
        if (buffer.writer >= 0)
          buffer.type = writerTypes[number];
      }
    }
    for (auto copy : program.getBody().getOps<plan::CopyOp>()) {
      PlanBuffer &to = buffers[copy.getTo()];
      if (to.op.getKind() != plan::BufferKind::Output)
        return copy.emitError("the target hls does not support a copy between two buffers of a plan");
      to.readers.clear();
      addOutput(buffers[copy.getFrom()], to.op.getIndex());
    }
    for (PlanBuffer &buffer : buffers)
      if (buffer.writer >= 0 && buffer.readers.empty())
        return launches[buffer.writer].emitError("a kernel has a result that no op reads, which is not supported yet");
    return success();
  }

  /// Returns true if the launch writes the argument. The plan's mask has 64 bits; later arguments are looked up in the
  /// kernel's body.
  bool writesArgument(plan::LaunchOp op, size_t argument) {
    if (argument < 64)
      return op.getWrites() >> argument & 1;
    return isWritten(module.lookupSymbol<func::FuncOp>(op.getKernel()).getArgument(argument));
  }

  void addOutput(PlanBuffer &buffer, int64_t output) {
    Reader reader;
    reader.output = output;
    reader.type = outputs[output].second;
    buffer.readers.push_back(reader);
  }

  void nameKernels() {
    symbols.take("model");
    for (auto *ports : {&inputs, &outputs}) // reserve these names: a port would shadow a function
      for (auto &[name, type] : *ports)
        symbols.take(name);
    llvm::StringMap<std::string> names;
    for (plan::LaunchOp launch : launches) {
      auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
      auto [entry, isNew] = names.try_emplace(launch.getKernel());
      if (isNew) {
        auto operations = kernel->getAttrOfType<StringAttr>(opsAttrName);
        entry->second = symbols.take(kernelName(operations ? operations.getValue() : ""));
      }
      launch.setKernel(entry->second);
      kernels.insert({kernel, entry->second});
    }
    for (auto &[kernel, name] : kernels) {
      auto function = cast<func::FuncOp>(kernel);
      function.setName(name);
      for (unsigned argument = 0; argument < function.getNumArguments(); ++argument)
        function.removeArgAttr(argument, tile::sizesAttrName);
    }
  }

  void nameBuffers() {
    for (PlanBuffer &buffer : buffers)
      switch (buffer.op.getKind()) {
      case plan::BufferKind::Input:
        buffer.name = inputs[buffer.op.getIndex()].first;
        break;
      case plan::BufferKind::Output:
        buffer.name = outputs[buffer.op.getIndex()].first;
        break;
      case plan::BufferKind::Constant:
        buffer.name = "constant" + std::to_string(buffer.op.getIndex());
        if (auto name = dyn_cast<NameLoc>(buffer.op.getLoc())) // the constant is a weight of the model
          buffer.name = name.getName().str();
        break;
      default:
        buffer.name = launches[buffer.writer].getKernel().str() + "_out";
      }
  }

  /// Names a kernel's parameters after the buffers that its first launch passes.
  void nameParameters() {
    for (plan::LaunchOp launch : llvm::reverse(launches))
      for (auto [argument, number] : llvm::enumerate(launch.getBuffers()))
        for (auto &[kernel, name] : kernels)
          if (name == launch.getKernel())
            cast<func::FuncOp>(kernel).setArgAttr(argument, parameterAttrName,
                                                  builder.getStringAttr(buffers[number].name));
  }

  void makeTop() {
    SmallVector<Type> types;
    for (auto *ports : {&inputs, &outputs})
      for (auto &[name, type] : *ports)
        types.push_back(inDram(type));
    builder.setInsertionPointToEnd(module.getBody());
    top = func::FuncOp::create(builder, program.getLoc(), "model", builder.getFunctionType(types, {}));
    top->setAttr(topAttrName, builder.getUnitAttr());
    Block *entry = top.addEntryBlock();
    unsigned port = 0;
    for (auto *ports : {&inputs, &outputs})
      for (auto &[name, type] : *ports) {
        auto bundle = builder.getStringAttr("gmem" + std::to_string(port));
        std::string unique = locals.take(name);
        top.setArgAttr(port++, interfaceAttrName,
                       InterfaceAttr::get(builder.getContext(), builder.getStringAttr(unique).getValue(),
                                          Protocol::AxiMaster, bundle));
      }
    builder.setInsertionPointToStart(entry);
    auto dataflow = DataflowOp::create(builder, top.getLoc());
    func::ReturnOp::create(builder, top.getLoc());
    builder.createBlock(&dataflow.getBody());
  }

  Value array(StringRef name, MemRefType type, Location loc, ElementsAttr value = {}) {
    std::string unique = locals.take(name);
    while (value) { // a constant's array has file scope, so its name must differ from the names of functions
      std::string symbol = symbols.take(unique);
      if (symbol == unique)
        break;
      unique = locals.take(symbol);
    }
    return BufferOp::create(builder, loc, type, builder.getStringAttr(unique), value);
  }

  /// Creates the array for the consumer `reader`, and passes it to this consumer's launch. If the consumer is an
  /// output, returns the output port.
  Value arrayOf(PlanBuffer &buffer, const Reader &reader, ElementsAttr value = {}) {
    if (reader.output >= 0)
      return top.getArgument(inputs.size() + reader.output);
    Value made = array(value ? buffer.name : buffer.name + "_chip", reader.type, buffer.op.getLoc(), value);
    operands[reader.launch][reader.argument] = made;
    return made;
  }

  void mover(StringRef name, Value from, ArrayRef<Value> to, Location loc) {
    std::string symbol = symbols.take(name);
    makeMover(module, symbol, from.getType(), ValueRange(to).getTypes(), loc);
    TaskOp::create(builder, loc, symbol, from, to);
  }

  /// Creates an array for each consumer of an input or a constant. For an input, also creates the task that loads the
  /// arrays. For a constant that is an output of the model, also creates the task that copies the constant to the port.
  void feed(PlanBuffer &buffer) {
    Location loc = buffer.op.getLoc();
    if (auto value = buffer.op.getValue()) {
      for (const Reader &reader : buffer.readers) {
        if (reader.output < 0) {
          arrayOf(buffer, reader, reshaped(*value, reader.type));
          continue;
        }
        Value rom = array(buffer.name, buffer.type, loc, *value);
        mover("store_" + outputs[reader.output].first, rom, arrayOf(buffer, reader), loc);
      }
      return;
    }
    if (buffer.op.getKind() != plan::BufferKind::Input || buffer.readers.empty())
      return;
    SmallVector<Value> arrays;
    for (const Reader &reader : buffer.readers)
      arrays.push_back(arrayOf(buffer, reader));
    mover("load_" + buffer.name, top.getArgument(buffer.op.getIndex()), arrays, loc);
  }

  static ElementsAttr reshaped(ElementsAttr value, MemRefType type) {
    auto shape = RankedTensorType::get(type.getShape(), type.getElementType());
    if (auto dense = dyn_cast<DenseElementsAttr>(value))
      return dense.reshape(shape);
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
      return DenseResourceElementsAttr::get(shape, resource.getRawHandle());
    return value;
  }

  void launch(size_t number) {
    plan::LaunchOp op = launches[number];
    Location loc = op.getLoc();
    SmallVector<PlanBuffer *> made;
    for (PlanBuffer &buffer : buffers)
      if (buffer.writer == int64_t(number)) {
        made.push_back(&buffer);
        // If the only consumer is a launch that reads the same shape, this launch reads the kernel's array directly.
        const Reader &first = buffer.readers.front();
        bool direct = buffer.readers.size() == 1 && first.output < 0 && first.type == buffer.type;
        Value chip = direct ? arrayOf(buffer, first) : array(buffer.name + "_chip", buffer.type, loc);
        operands[number][buffer.writerArgument] = chip;
        if (!direct)
          late.push_back({&buffer, chip});
      }
    SmallVector<Value> reads, writes;
    for (auto [argument, value] : llvm::enumerate(operands[number]))
      (writesArgument(op, argument) ? writes : reads).push_back(value);
    TaskOp::create(builder, loc, op.getKernel(), reads, writes);
    for (auto [buffer, chip] : late) {
      SmallVector<Value> arrays;
      for (const Reader &reader : buffer->readers)
        arrays.push_back(arrayOf(*buffer, reader));
      const bool stores = buffer->readers.size() == 1 && buffer->readers.front().output >= 0;
      mover(stores ? "store_" + outputs[buffer->readers.front().output].first : "copy_" + buffer->name, chip, arrays,
            loc);
    }
    late.clear();
  }

  ModuleOp module;
  plan::ProgramOp program;
  OpBuilder builder;
  func::FuncOp top;
  std::vector<std::pair<std::string, MemRefType>> inputs, outputs;
  std::vector<PlanBuffer> buffers;
  std::vector<plan::LaunchOp> launches;
  std::vector<std::vector<Value>> operands; ///< operands of each launch
  SmallVector<std::pair<PlanBuffer *, Value>> late;
  llvm::DenseMap<int64_t, MemRefType> writerTypes;
  llvm::MapVector<Operation *, std::string> kernels;
  NameTable symbols, locals;
};

struct HlsBuildDesign : impl::HlsBuildDesignBase<HlsBuildDesign> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<plan::ProgramOp>()))
      if (failed(DesignBuilder(getOperation(), program).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::hls

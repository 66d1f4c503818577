//===- PrintVerilog.cpp - a design as Verilog ------------------------------------------------===//
//
// The design is one module. It contains every nest of every task (VerilogNest.cpp), the memories and queues between
// tasks, and the control logic. A task begins when the arrays that it reads are complete, and its nests run one after
// another. The design is done when all tasks are done, as the estimate in Cost.cpp assumes. The caller sets the input
// `start` for one cycle. Calls do not overlap, so an array between two tasks is implemented as only one array.
//
// Tests: test/Codegen/HLS/rtl.mlir, test/Conformance/hls (rtl)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/PrintVerilog.h"
#include "lib/Codegen/HLS/Cost.h"
#include "lib/Codegen/HLS/Names.h"
#include "lib/Codegen/HLS/PrintCpp.h"
#include "lib/Codegen/HLS/Rtl/VerilogBench.h"
#include "lib/Codegen/HLS/Rtl/VerilogMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

using namespace mlir;

namespace tilewright::hls {
namespace {

class DesignPrinter {
public:
  explicit DesignPrinter(func::FuncOp top) : top(top), module(top->getParentOfType<ModuleOp>()) {}

  llvm::Expected<Verilog> print() {
    for (auto [argument, port] : llvm::zip(top.getArguments(), portsOf(top))) {
      auto made = std::make_unique<RtlPort>();
      made->name = port.name;
      made->isOutput = port.isOutput;
      made->width = port.memory.getElementType().isIndex() ? 32 : port.memory.getElementTypeBitWidth();
      if (isa<FloatType>(port.memory.getElementType()))
        problems.push_back("port '" + port.name +
                           "' has float elements, which are not supported in Verilog: quantize the model");
      portOf[argument] = made.get();
      ports.push_back(std::move(made));
    }
    if (!problems.empty())
      return refusal();
    top.walk([&](Operation *op) {
      if (auto buffer = dyn_cast<BufferOp>(op))
        addArray(buffer, buffer.getName().str());
      if (auto stream = dyn_cast<StreamOp>(op))
        addQueue(stream);
      if (auto task = dyn_cast<TaskOp>(op))
        planTask(task);
    });
    if (!problems.empty())
      return refusal();
    for (auto &array : arrays)
      splitBanks(*array);
    for (PlannedTask &task : planned)
      printTask(task);
    if (!problems.empty())
      return refusal();
    wholeDesign();
    for (auto &array : arrays)
      printMemories(*array, text);
    for (auto &queue : queues)
      printQueue(*queue, text);
    return Verilog{moduleText(), printVerilogBench(top, ports), text.parts.lut, text.parts.ff};
  }

private:
  llvm::Error refusal() {
    return llvm::createStringError("this design cannot be printed as Verilog:\n  " + llvm::join(problems, "\n  "));
  }

  RtlArray *addArray(BufferOp buffer, const std::string &name) {
    auto array = std::make_unique<RtlArray>();
    array->name = names.take(name + "_mem");
    array->type = cast<MemRefType>(buffer.getMemory().getType());
    if (isa<FloatType>(array->type.getElementType()))
      problems.push_back(locationText(buffer) + "floats are not supported in Verilog: quantize the model");
    if (buffer.getValue())
      array->value = *buffer.getValue();
    PartitionAttr partition = banksOf(array->type);
    for (auto [dim, size] : llvm::enumerate(array->type.getShape())) {
      int64_t banks = partition ? partition.getBanks(dim, size) : 1;
      if (partition && partition.getKinds()[dim] == PartitionKind::Block && banks > 1)
        problems.push_back(locationText(buffer) + "block partitioning of an array is not supported in Verilog yet");
      array->banks.push_back(banks);
      array->inBank.push_back(int64_t(llvm::divideCeil(size, banks)));
    }
    arrayOf[buffer.getMemory()] = array.get();
    arrays.push_back(std::move(array));
    return arrays.back().get();
  }

  void addQueue(StreamOp stream) {
    auto queue = std::make_unique<RtlQueue>();
    auto type = cast<StreamType>(stream.getQueue().getType());
    queue->name = names.take(stream.getName().str() + "_queue");
    queue->width = type.getElement().isIndex() ? 32 : type.getElement().getIntOrFloatBitWidth();
    queue->depth = type.getDepth();
    queue->inBlocks = blockMemories(type) > 0;
    queueOf[stream.getQueue()] = queue.get();
    queues.push_back(std::move(queue));
  }

  /// A task with its nests, before splitBanks() determines the numbers of banks.
  struct PlannedTask {
    TaskOp task;
    std::string name;
    RtlContext context;
    std::vector<PipelineNest> pipelines;
  };

  void planTask(TaskOp task) {
    auto function = module.lookupSymbol<func::FuncOp>(task.getCallee());
    PlannedTask plan;
    plan.task = task;
    plan.name = names.take("task_" + function.getName().str());
    RtlContext &context = plan.context;
    SmallVector<Value> given(task->getOperands());
    for (auto [argument, value] : llvm::zip(function.getArguments(), given)) {
      if (RtlArray *array = arrayOf.lookup(value))
        context.arrays[argument] = array;
      if (RtlQueue *queue = queueOf.lookup(value))
        context.queues[argument] = queue;
      if (RtlPort *port = portOf.lookup(value))
        context.ports[argument] = port;
    }
    for (Operation &op : function.getBody().front()) {
      if (auto buffer = dyn_cast<BufferOp>(op)) {
        context.arrays[buffer.getMemory()] = addArray(buffer, function.getName().str() + "_" + buffer.getName().str());
      } else if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
        plan.pipelines.push_back(pipelineNest(loop, problems));
      } else if (!isa<arith::ConstantOp, func::ReturnOp>(op)) {
        problems.push_back(locationText(&op) + "'" + op.getName().getStringRef().str() +
                           "' is outside of a loop with a schedule");
      }
    }
    planned.push_back(std::move(plan));
  }

  /// Increases the number of banks of an array in lookup tables if several elements of one bank are written in the same
  /// cycle, because a memory in lookup tables has one write port. Block memories have two ports, and registers can all
  /// be written in the same cycle.
  void splitBanks(RtlArray &array) {
    if (array.inRegisters() || array.inBlocks() || array.value)
      return;
    auto writePorts = [&](ArrayRef<int64_t> banks, ArrayRef<int64_t> inBank) {
      size_t most = 0;
      for (PlannedTask &task : planned)
        for (const PipelineNest &nest : task.pipelines) {
          std::vector<size_t> stores;
          for (auto [number, step] : llvm::enumerate(nest.steps))
            if (step.kind == Step::Kind::Store && !step.overwritten &&
                task.context.arrays.lookup(step.memory) == &array)
              stores.push_back(number);
          for (auto &[number, use] : bankUses(nest, stores, banks, inBank))
            most = std::max(most, use.port + 1);
        }
      return most;
    };
    if (writePorts(array.banks, array.inBank) < 2)
      return;
    for (int64_t factor : {2, 4, 8, 16})
      for (size_t dim = array.banks.size(); dim-- > 0;) {
        std::vector<int64_t> banks = array.banks, inBank = array.inBank;
        banks[dim] *= factor;
        inBank[dim] = int64_t(llvm::divideCeil(array.type.getDimSize(dim), banks[dim]));
        if (banks[dim] > array.type.getDimSize(dim) || writePorts(banks, inBank) > 1)
          continue;
        array.banks = banks;
        array.inBank = inBank;
        return;
      }
  }

  void printTask(PlannedTask &plan) {
    TaskOp task = plan.task;
    const std::string &name = plan.name;
    RtlContext &context = plan.context;
    std::vector<PipelineNest> &pipelines = plan.pipelines;
    // Add an entry for each nest to every array, even if the nest does not access the array.
    for (auto [number, nest] : llvm::enumerate(pipelines)) {
      for (auto &array : arrays) {
        array->reads.emplace_back();
        array->writes.emplace_back();
      }
      const std::string prefix = name + "_" + std::to_string(number);
      printNest(nest, prefix, context, text, problems);
    }
    // The start conditions.
    std::string all = "started";
    for (Value value : task.getReads())
      if (RtlArray *array = arrayOf.lookup(value); array && !array->value)
        all += " & " + filledBy[value] + "_complete";
    text.declarations += "  wire " + name + "_done, " + name + "_complete, " + name + "_ready;\n  reg " + name +
                         "_begun, " + name + "_finished;\n";
    text.logic += "\n  // " + name + "\n  assign " + name + "_ready = " + all + ";\n  always @(posedge clk) " + name +
                  "_begun <= ~reset & " + name + "_ready;\n";
    for (size_t number = 0; number < pipelines.size(); ++number) {
      const std::string prefix = name + "_" + std::to_string(number);
      text.declarations += "  wire " + prefix + "_start;\n";
      text.logic += "  assign " + prefix + "_start = " +
                    (number == 0 ? name + "_ready & (begin_now | ~" + name + "_begun)"
                                 : name + "_" + std::to_string(number - 1) + "_done") +
                    ";\n";
    }
    text.logic += "  assign " + name + "_done = " +
                  (pipelines.empty() ? name + "_ready" : name + "_" + std::to_string(pipelines.size() - 1) + "_done") +
                  ";\n  always @(posedge clk) " + name + "_finished <= ~reset & ~begin_now & " + name +
                  "_complete;\n  assign " + name + "_complete = ~begin_now & (" + name + "_finished | " + name +
                  "_done);\n";
    text.parts.gates(3 + int64_t(pipelines.size())); // start conditions
    text.parts.ff += 2;
    for (Value value : task.getWrites())
      filledBy[value] = name;
    tasks.push_back(name);
  }

  void wholeDesign() {
    text.declarations += "  wire begin_now, started;\n  reg going;\n";
    text.logic += "\n  // a call\n  assign begin_now = start & ~reset;\n  assign started = begin_now | going;\n"
                  "  always @(posedge clk) going <= ~reset & (started & ~done);\n  assign done = going";
    for (const std::string &task : tasks)
      text.logic += " & " + task + "_complete";
    text.logic += ";\n";
  }

  std::string moduleText() {
    std::string all =
        "// Made by Tilewright: tilewright compile --target=hls --rtl. A call begins with a cycle of start and ends "
        "with one of done.\n`default_nettype none\nmodule model (\n  input wire clk, input wire reset, input "
        "wire start, output wire done";
    std::string assigns;
    for (auto &port : ports) {
      if (port->lanes == 0)
        continue; // no task accesses the port
      const std::string bus = "[" + std::to_string(port->lanes * port->width - 1) + ":0]";
      all += ",\n  output wire " + port->name + "_on, output wire [31:0] " + port->name + "_at, " +
             (port->isOutput ? "output" : "input") + " wire " + bus + " " + port->name + "_data";
      assigns += "  assign " + port->name + "_on = " + port->enable + ";\n  assign " + port->name +
                 "_at = " + port->address + ";\n";
      if (!port->isOutput)
        continue;
      std::string lanes;
      for (const std::string &lane : port->data)
        lanes = lane + (lanes.empty() ? "" : ", ") + lanes;
      assigns += "  assign " + port->name + "_data = {" + lanes + "};\n";
    }
    return all + "\n);\n" + text.declarations + text.logic + "\n  // ports\n" + assigns +
           "endmodule\n`default_nettype wire\n";
  }

  func::FuncOp top;
  ModuleOp module;
  NameTable names;
  RtlText text;
  std::vector<PlannedTask> planned;
  std::vector<std::unique_ptr<RtlArray>> arrays;
  std::vector<std::unique_ptr<RtlQueue>> queues;
  std::vector<std::unique_ptr<RtlPort>> ports;
  llvm::DenseMap<Value, RtlArray *> arrayOf;
  llvm::DenseMap<Value, RtlQueue *> queueOf;
  llvm::DenseMap<Value, RtlPort *> portOf;
  llvm::DenseMap<Value, std::string> filledBy;
  std::vector<std::string> tasks, problems;
};

} // namespace

llvm::Expected<Verilog> printVerilog(func::FuncOp top) { return DesignPrinter(top).print(); }

} // namespace tilewright::hls

//===- DesignFiles.cpp - files of a design in addition to kernel.cpp -----------------------===//
#include "lib/Codegen/HLS/DesignFiles.h"
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Cpp.h"
#include "lib/Codegen/HLS/PrintCpp.h"
#include "tilewright/FixedPoint.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

constexpr llvm::StringLiteral madeBy = "// Made by Tilewright: tilewright compile --target=hls.\n";

int64_t bytesOf(MemRefType type) {
  const int64_t bits = type.getElementType().isIndex() ? 32 : type.getElementTypeBitWidth();
  return std::max<int64_t>(1, type.getNumElements()) * int64_t(llvm::divideCeil(bits, 8));
}

/// Returns the size of a stack for the arrays of the design and of its tasks, with the gaps that sanitizers insert
/// between arrays.
int64_t stackBytes(func::FuncOp top) {
  int64_t bytes = 0;
  auto count = [&](BufferOp buffer) {
    bytes += buffer.getValue() ? 0 : bytesOf(cast<MemRefType>(buffer.getMemory().getType()));
  };
  top.walk(count);
  for (func::FuncOp function : taskFunctions(top))
    function.walk(count);
  return 3 * bytes + (int64_t(8) << 20);
}

std::string arrayPointer(StringRef name, MemRefType type) {
  std::string text = cppType(type.getElementType());
  std::string sizes;
  for (int64_t size : type.getShape().drop_front(std::min<int64_t>(1, type.getRank())))
    sizes += "[" + std::to_string(size) + "]";
  const std::string first = std::to_string(type.getRank() ? type.getDimSize(0) : 1);
  return "auto *" + name.str() + " = new " + text + "[" + first + "]" + sizes + "();";
}

} // namespace

/// Returns a declaration for each port with a fixed-point format: the type of the values that the port's integers
/// represent. Returns an empty string for a model that does not use fixed-point numbers.
static std::string printFormats(func::FuncOp top) {
  auto fixed = top->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(fixedAttrName);
  if (!fixed)
    return "";
  SmallVector<Attribute> formats(fixed.getAs<ArrayAttr>("inputs").getValue());
  llvm::append_range(formats, fixed.getAs<ArrayAttr>("outputs").getValue());
  std::string text;
  for (auto [port, format] : llvm::zip(portsOf(top), formats)) {
    SmallVector<StringRef> words;
    cast<StringAttr>(format).getValue().split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    int width, integer;
    if (words.size() < 2 || words[0].getAsInteger(10, width) || words[1].getAsInteger(10, integer))
      continue;
    text += "typedef ap_fixed<" + llvm::join(words, ", ") + "> " + port.name + "_t; // " + port.name +
            ": its value is the integer times 2^" + std::to_string(integer - width) + "\n";
  }
  return text.empty() ? "" : "\n#include <ap_fixed.h>\n" + text;
}

std::string printHeader(func::FuncOp top) {
  std::string declarations;
  for (func::FuncOp function : taskFunctions(top))
    declarations += printSignature(function) + ";\n";
  declarations += printSignature(top) + ";\n";
  std::string text = (madeBy + "#ifndef KERNEL_H\n#define KERNEL_H\n\n#include <stdint.h>\n").str();
  auto uses = [&](StringRef word) {
    if (StringRef(declarations).contains(word))
      return true;
    bool found = false;
    auto look = [&](Operation *op) {
      for (Value result : op->getResults())
        found |= StringRef(cppType(getElementTypeOrSelf(result.getType()))).contains(word);
    };
    top.walk(look);
    for (func::FuncOp function : taskFunctions(top))
      function.walk(look);
    return found;
  };
  if (uses("hls::stream<") || !top.getBody().getOps<StreamOp>().empty())
    text += "#include <hls_stream.h>\n";
  if (uses("hls::stream_of_blocks<"))
    text += "#include <hls_streamofblocks.h>\n";
  if (uses("ap_int<") || uses("ap_uint<"))
    text += "#include <ap_int.h>\n";
  if (uses("half"))
    text += "#include <hls_half.h>\n";
  return text + printFormats(top) + "\n" + declarations + "\n#endif\n";
}

std::string printWeights(func::FuncOp top) {
  SmallVector<BufferOp> all = roms(top);
  if (all.empty())
    return "";
  std::string text = (madeBy + "// Constants: the weights and the constants of the model.\n#ifndef WEIGHTS_H\n#define "
                               "WEIGHTS_H\n\n#include <math.h>\n#include \"kernel.h\"\n\n")
                         .str();
  for (BufferOp rom : all)
    text += printConstant(rom.getName(), cast<MemRefType>(rom.getMemory().getType()), *rom.getValue()) + ";\n";
  return text + "\n#endif\n";
}

std::string printBench(func::FuncOp top) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << madeBy
      << "#include \"kernel.h\"\n#include \"tilewright_bench.h\"\n\n"
         "#ifdef TILEWRIGHT_THREADS // each task on a thread of its own: check/dataflow_check.cpp\n";
  StringRef name = top.getName();
  std::string threads = printSignature(top);
  threads.insert(threads.find('('), "_threads");
  out << threads << ";\n#define " << name << " " << name << "_threads\n#endif\n\n"
      << "int main(int argc, char **argv) {\n  tilewright::Bench bench(argc, argv);\n";
  std::vector<Port> ports = portsOf(top);
  std::string arguments;
  int64_t inputs = 0, outputs = 0;
  for (const Port &port : ports) {
    const int64_t count = std::max<int64_t>(1, port.memory.getNumElements());
    out << "  std::vector<" << (port.type == "bool" ? "uint8_t" : port.type) << "> " << port.name;
    if (port.isOutput)
      out << "(" << count << ");\n";
    else
      out << " = bench.read<" << (port.type == "bool" ? "uint8_t" : port.type) << ">(\"input_" << inputs++ << ".bin\", "
          << count << ");\n";
    arguments += arguments.empty() ? "" : ", ";
    const std::string cast = port.type == "bool" ? (port.isOutput ? "(bool *)" : "(const bool *)") : std::string();
    if (port.protocol == Protocol::AxiMaster) {
      arguments += cast + port.name + ".data()";
    } else if (port.protocol == Protocol::AxiLite) {
      arguments += port.name + "[0]";
    } else {
      arguments += port.name + "_stream";
      out << "  hls::stream<" << port.type << ", " << count << "> " << port.name << "_stream(\"" << port.name
          << "\");\n";
      if (!port.isOutput)
        out << "  for (const " << port.type << " each : " << port.name << ")\n    " << port.name
            << "_stream.write(each);\n";
    }
  }
  out << "  bench.call(" << stackBytes(top) << ", [&] { " << name << "(" << arguments << "); });\n";
  for (const Port &port : ports) {
    if (port.protocol != Protocol::Stream)
      continue;
    if (port.isOutput)
      out << "  for (auto &each : " << port.name << ")\n    each = " << port.name << "_stream.read();\n";
    out << "  bench.drained(\"" << port.name << "\", " << port.name << "_stream.empty());\n";
  }
  for (const Port &port : ports)
    if (port.isOutput)
      out << "  bench.compare(\"" << port.name << "\", \"output_" << outputs++ << "\", " << port.name << ");\n";
  out << "  return bench.finish();\n}\n";
  return text;
}

std::string printDataflowCheck(func::FuncOp top) {
  std::string text;
  llvm::raw_string_ostream out(text);
  std::string signature = printSignature(top);
  signature.insert(signature.find('('), "_threads");
  out << madeBy
      << "// The top function with a thread for each task; compile with -DTILEWRIGHT_THREADS -Icheck.\n"
         "#include \"kernel.h\"\n#include \"tilewright_tasks.h\"\n";
  if (!roms(top).empty())
    out << "#include \"" << weightsFile << "\"\n";
  out << "\n" << signature << ";\n" << signature << " {\n  tilewright::Tasks tasks;\n";
  llvm::DenseMap<Value, std::string> names;
  for (auto [argument, port] : llvm::zip(top.getArguments(), portsOf(top)))
    names[argument] = port.name;
  std::string releases;
  top.walk([&](Operation *op) {
    if (auto buffer = dyn_cast<BufferOp>(op)) {
      auto type = cast<MemRefType>(buffer.getMemory().getType());
      std::string name = buffer.getName().str();
      names[buffer.getMemory()] = name;
      if (buffer.getValue())
        return;
      out << "  " << arrayPointer(name, type) << "\n  tilewright::Filled " << name << "_filled(\"" << name << "\");\n";
      releases += "  delete[] " + name + ";\n";
    } else if (auto stream = dyn_cast<StreamOp>(op)) {
      auto type = cast<StreamType>(stream.getQueue().getType());
      names[stream.getQueue()] = stream.getName().str();
      out << "  " << streamType(type) << " " << stream.getName();
      if (isa<MemRefType>(type.getElement()))
        out << ";\n";
      else
        out << "(\"" << stream.getName() << "\");\n";
    } else if (auto task = dyn_cast<TaskOp>(op)) {
      auto filled = [&](ValueRange values) {
        std::string list;
        for (Value value : values)
          if (auto buffer = value.getDefiningOp<BufferOp>(); buffer && !buffer.getValue())
            list += (list.empty() ? "&" : ", &") + names[value] + "_filled";
        return "{" + list + "}";
      };
      out << "  tasks.add(" << filled(task.getReads()) << ", " << filled(task.getWrites()) << ", [&] { "
          << task.getCallee() << "(";
      llvm::interleaveComma(task->getOperands(), out, [&](Value value) { out << names[value]; });
      out << "); });\n";
    }
  });
  out << "  tasks.run(" << stackBytes(top) << ");\n" << releases << "}\n";
  return text;
}

std::string printScript(StringRef device) {
  return ("# Made by Tilewright: vitis_hls -f run_hls.tcl\n"
          "open_project -reset project\nset_top model\nadd_files kernel.cpp\n"
          "add_files -tb {test_bench.cpp tilewright_bench.h data}\n"
          "open_solution -reset solution -flow_target vitis\nset_part {" +
          device +
          "}\ncreate_clock -period 3.33 -name default\ncsim_design\ncsynth_design\n"
          "# cosim_design\n# export_design -format xo\nexit\n")
      .str();
}

std::vector<DesignFile> checkHeaders() {
  static constexpr struct {
    llvm::StringLiteral name, text;
  } texts[] = {
#include "CheckHeaders.inc"
  };
  std::vector<DesignFile> files;
  for (const auto &header : texts) // tilewright_bench.h is not in check/, because the vendor's tool also needs it
    files.push_back({(header.name == "tilewright_bench.h" ? "" : "check/") + header.name.str(), header.text.str()});
  return files;
}

} // namespace tilewright::hls

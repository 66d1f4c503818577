//===- PrintCpp.cpp - a design as C++ with the vendor's pragmas --------------------------===//
//
// Test: test/Codegen/HLS/design.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/PrintCpp.h"
#include "lib/Codegen/HLS/Cpp.h"
#include "lib/Codegen/HLS/PrintFunction.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/AttributeNames.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// A helper function for an operation that C++ does not have, or that has several names in C++. The helper is printed
/// before the functions of the design if their text calls it.
struct Helper {
  llvm::StringLiteral name, text;
};
constexpr Helper helpers[] = {
    {"max_or_nan", "template <typename T> static T max_or_nan(T a, T b) { return a != a || a > b ? a : b; }\n"},
    {"min_or_nan", "template <typename T> static T min_or_nan(T a, T b) { return a != a || a < b ? a : b; }\n"},
    {"max_number", "template <typename T> static T max_number(T a, T b) { return b != b || a > b ? a : b; }\n"},
    {"min_number", "template <typename T> static T min_number(T a, T b) { return b != b || a < b ? a : b; }\n"},
    {"larger", "template <typename T> static T larger(T a, T b) { return a > b ? a : b; }\n"},
    {"smaller", "template <typename T> static T smaller(T a, T b) { return a < b ? a : b; }\n"},
};

bool writes(func::FuncOp function, BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    if (auto task = dyn_cast<TaskOp>(user))
      return llvm::is_contained(task.getWrites(), argument);
    if (auto store = dyn_cast<affine::AffineStoreOp>(user))
      return store.getMemRef() == argument;
    auto store = dyn_cast<memref::StoreOp>(user);
    return store && store.getMemRef() == argument;
  });
}

} // namespace

std::vector<func::FuncOp> taskFunctions(func::FuncOp top) {
  std::vector<func::FuncOp> functions;
  auto module = top->getParentOfType<ModuleOp>();
  top.walk([&](TaskOp task) {
    auto function = module.lookupSymbol<func::FuncOp>(task.getCallee());
    if (!llvm::is_contained(functions, function))
      functions.push_back(function);
  });
  return functions;
}

std::vector<Port> portsOf(func::FuncOp top) {
  std::vector<Port> ports;
  for (BlockArgument argument : top.getArguments()) {
    auto interface = top.getArgAttrOfType<InterfaceAttr>(argument.getArgNumber(), interfaceAttrName);
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (auto stream = dyn_cast<StreamType>(argument.getType()))
      type = MemRefType::get(stream.getDepth(), stream.getElement());
    else if (!type)
      type = MemRefType::get({}, argument.getType());
    ports.push_back({interface.getName().str(), cppType(type.getElementType()), type, writes(top, argument),
                     interface.getProtocol()});
  }
  return ports;
}

std::string printArray(StringRef name, MemRefType type) {
  std::string text = cppType(type.getElementType()) + (name.empty() ? "" : " ") + name.str();
  if (type.getRank() == 0)
    return text + "[1]";
  for (int64_t size : type.getShape())
    text += "[" + std::to_string(size) + "]";
  return text;
}

std::string streamType(StreamType type) {
  std::string depth = ", " + std::to_string(type.getDepth()) + ">";
  if (auto block = dyn_cast<MemRefType>(type.getElement()))
    return "hls::stream_of_blocks<" + printArray("", block) + depth;
  return "hls::stream<" + cppType(type.getElement()) + depth;
}

std::string printConstant(StringRef name, MemRefType type, ElementsAttr value) {
  std::string text = "static const " + printArray(name, type) + " =";
  Type element = type.getElementType();
  // The initializer has braces around every row, every matrix, and so on.
  SmallVector<int64_t> pieces{1};
  for (int64_t size : llvm::reverse(type.getShape()))
    pieces.push_back(pieces.back() * size);
  pieces.erase(pieces.begin());
  if (pieces.empty())
    pieces.push_back(1);
  auto print = [&](auto values, auto literal) {
    constexpr size_t onLine = 8;
    for (auto [number, one] : llvm::enumerate(values)) {
      auto at = [&](int64_t index) {
        return llvm::count_if(pieces, [&](int64_t piece) { return index % piece == 0; });
      };
      const size_t opened = at(number), closed = at(number + 1);
      const bool breaks = number % pieces.front() % onLine == 0;
      text += std::string(number && !breaks ? " " : "") + (breaks ? "\n    " : "") + std::string(opened, '{') +
              literal(one, element) + std::string(closed, '}') + (int64_t(number) + 1 == pieces.back() ? "" : ",");
    }
  };
  if (isa<FloatType>(element))
    print(value.getValues<APFloat>(), floatLiteral);
  else
    print(value.getValues<APInt>(), integerLiteral);
  return text;
}

SmallVector<BufferOp> roms(func::FuncOp top) {
  SmallVector<BufferOp> all;
  top.walk([&](BufferOp buffer) {
    if (buffer.getValue())
      all.push_back(buffer);
  });
  return all;
}

std::string printSignature(func::FuncOp function) {
  std::set<std::string> none;
  FunctionPrinter printer(function, llvm::nulls(), none);
  std::vector<std::string> names = printer.argumentNames();
  std::string text = "void " + function.getName().str() + "(";
  for (BlockArgument argument : function.getArguments()) {
    const std::string &name = names[argument.getArgNumber()];
    text += argument.getArgNumber() ? ", " : "";
    if (auto stream = dyn_cast<StreamType>(argument.getType())) {
      text += streamType(stream) + " &" + name;
      continue;
    }
    if (argument.use_empty()) // no task uses this port of the model
      text += "[[maybe_unused]] ";
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      text += cppType(argument.getType()) + " " + name;
      continue;
    }
    text += writes(function, argument) ? "" : "const ";
    text += memoryOf(type) == Memory::Dram ? cppType(type.getElementType()) + " *" + name : printArray(name, type);
  }
  return text + ")";
}

llvm::Expected<std::string> printKernels(func::FuncOp top) {
  std::set<std::string> problems;
  std::string body;
  llvm::raw_string_ostream out(body);
  for (func::FuncOp function : taskFunctions(top)) {
    if (auto operations = function->getAttrOfType<StringAttr>(opsAttrName))
      out << "// " << operations.getValue() << "\n";
    FunctionPrinter(function, out, problems).print();
    out << "\n";
  }
  FunctionPrinter(top, out, problems).print();
  if (!problems.empty())
    return llvm::createStringError("these ops cannot be printed as C++: " + llvm::join(problems, ", "));
  std::string text =
      "// Made by Tilewright: tilewright compile --target=hls. One function per task; the top function is "
      "the last.\n#include \"kernel.h\"\n#include <math.h>\n\n";
  if (!roms(top).empty())
    text.insert(text.find("#include <math.h>"), ("#include \"" + weightsFile + "\"\n").str());
  bool any = false;
  for (const Helper &helper : helpers)
    if (StringRef(body).contains((helper.name + "(").str()) || StringRef(body).contains((helper.name + "<").str())) {
      text += helper.text;
      any = true;
    }
  return text + (any ? "\n" : "") + body;
}

} // namespace tilewright::hls

//===- AcceptModel.cpp - --tw-hls-accept-model: reject models that hls does not support -------===//
//
// Before:
//   func @main(%x: tensor<4x8xf32> {tw.name = "x"}) -> ... ; func private @kernel_0 ...
// After: the same, and the module has the names and types of ports, which the plan does not contain:
//   tw_hls.inputs = [["x", tensor<4x8xf32>]], tw_hls.outputs = [...]
//
// If a model cannot be implemented in hardware, one error lists all causes: symbolic sizes, empty tensors, arguments
// and buffers that the model writes in place, and unsupported ops and element types. For empty tensors and for the ops
// of kernels, the error contains the line of the model's source code if the IR has its location.
//
// Test: test/Codegen/HLS/accept-model.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Cpp.h"
#include "lib/Codegen/HLS/Names.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/SourceLine.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSACCEPTMODEL
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

/// Returns [name, type] of each tensor in `types`. `nameOf` returns the name of a port in the model, or null. A port
/// without a name gets the name `fallback` plus its number. A name that begins with a digit gets the prefix `fallback`.
SmallVector<Attribute> describePorts(func::FuncOp main, TypeRange types, StringRef fallback,
                                     function_ref<StringAttr(unsigned)> nameOf) {
  Builder builder(main.getContext());
  NameTable names;
  SmallVector<Attribute> ports;
  for (auto [index, type] : llvm::enumerate(types)) {
    if (!isa<RankedTensorType>(type))
      continue;
    StringAttr given = nameOf(index);
    std::string name = given ? given.str() : (fallback + Twine(ports.size())).str();
    if (name.empty() || llvm::isDigit(name.front()))
      name = (fallback + name).str();
    ports.push_back(builder.getArrayAttr({builder.getStringAttr(names.take(name)), TypeAttr::get(type)}));
  }
  return ports;
}

struct HlsAcceptModel : impl::HlsAcceptModelBase<HlsAcceptModel> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      return;
    std::string problems = symbolsOf(main) + portsWithoutForm(main) + operationsWithoutForm();
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      if (main.getResultAttr(index, intoAttrName))
        problems += "\n  the model writes argument or buffer number " +
                    std::to_string(main.getResultAttrOfType<IntegerAttr>(index, intoAttrName).getInt()) +
                    " in place: export it in inference mode (model.eval())";
    if (!problems.empty()) {
      emitError(UnknownLoc::get(&getContext())) << "the target hls does not support this model:" << problems;
      return signalPassFailure();
    }
    Builder builder(&getContext());
    auto inputs = describePorts(main, main.getArgumentTypes(), "input",
                                [&](unsigned index) { return main.getArgAttrOfType<StringAttr>(index, nameAttrName); });
    auto outputs = describePorts(main, main.getResultTypes(), "output", [&](unsigned index) {
      return main.getResultAttrOfType<StringAttr>(index, nameAttrName);
    });
    getOperation()->setAttr(inputsAttrName, builder.getArrayAttr(inputs));
    getOperation()->setAttr(outputsAttrName, builder.getArrayAttr(outputs));
  }

private:
  std::string symbolsOf(func::FuncOp main) {
    std::string text;
    for (BlockArgument argument : main.getArguments())
      if (isa<IndexType>(argument.getType())) {
        auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), symbolAttrName);
        text += "\n  the size " + (name ? "'" + name.str() + "'" : "s" + std::to_string(argument.getArgNumber())) +
                " is symbolic, but hardware requires fixed sizes: export the model without dynamic_shapes";
      }
    return text;
  }

  /// Returns the inputs and results whose elements have no type in C++, with the element type.
  std::string portsWithoutForm(func::FuncOp main) {
    std::string text;
    auto check = [&](StringRef kind, unsigned index, Type type, StringAttr name) {
      Type element = getElementTypeOrSelf(type);
      if (!isa<RankedTensorType>(type) || !cppType(element).empty())
        return;
      text += ("\n  the " + kind + " " + (name ? "'" + name.str() + "'" : "number " + std::to_string(index)) +
               " has elements of " + dtypeText(element) + ": convert the model to float32 or float16")
                  .str();
    };
    for (auto [index, type] : llvm::enumerate(main.getArgumentTypes()))
      check("input", index, type, main.getArgAttrOfType<StringAttr>(index, nameAttrName));
    for (auto [index, type] : llvm::enumerate(main.getResultTypes()))
      check("result", index, type, main.getResultAttrOfType<StringAttr>(index, nameAttrName));
    return text;
  }

  std::string operationsWithoutForm() {
    std::set<std::string> problems;
    getOperation().walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (isEmpty(type))
          problems.insert("\n  the empty tensor " + dtypeText(type) + sourceLineAfter(op->getLoc()));
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments())
        if (function.getName() == "main" && isEmpty(argument.getType()))
          problems.insert("\n  the empty input " + dtypeText(argument.getType()) + sourceLineAfter(function.getLoc()));
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      if (kernel.getName() == "main")
        continue;
      kernel.walk([&](Operation *op) {
        StringRef dialect = op->getName().getDialectNamespace();
        if (dialect == "tw_tile" || (dialect == "math" && !mathFunction(op)))
          problems.insert("\n  " + op->getName().getStringRef().str() + sourceLineAfter(op->getLoc()));
        for (Type type : op->getResultTypes())
          if (Type element = getElementTypeOrSelf(type);
              !element.isIndex() && cppType(element).empty() && !isa<NoneType>(element))
            problems.insert("\n  elements of type " + dtypeText(element) + sourceLineAfter(op->getLoc()));
      });
    }
    return llvm::join(problems, "");
  }

  static bool isEmpty(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && llvm::is_contained(tensor.getShape(), 0);
  }

  static std::string dtypeText(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
};

} // namespace
} // namespace tilewright::hls

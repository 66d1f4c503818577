//===- NameEntries.cpp - names of the kernels in PTX -------------------------------------===//
//
// Before:
//   llvm.func @matmul_add_gelu_6(...) attributes {tw_cuda.entry = "matmul_add_gelu_4096x3072x768", ...}
//   tw_plan.launch @matmul_add_gelu_6 ...
// After:
//   llvm.func @matmul_add_gelu_4096x3072x768(...)
//   tw_plan.launch @matmul_add_gelu_4096x3072x768 ...
//
// Kernels get these names when PTX is emitted. In all earlier stages, a kernel has the name from the structured stage.
// Schedule files and the page of `tilewright explain` identify the kernel by that name.
//
// Test: test/Codegen/NVPTX/kernel-names.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/NVPTX/NameEntries.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright::cuda {

void nameEntries(ModuleOp module) {
  llvm::StringSet<> taken;
  SmallVector<LLVM::LLVMFuncOp> kernels;
  SmallVector<Operation *> others;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && function->hasAttr(entryAttrName)) {
      kernels.push_back(function);
      continue;
    }
    others.push_back(&op);
    if (auto name = SymbolTable::getSymbolName(&op))
      taken.insert(name.getValue());
  }
  llvm::DenseMap<StringAttr, StringAttr> renamed;
  for (LLVM::LLVMFuncOp kernel : kernels) {
    const StringRef wanted = kernel->getAttrOfType<StringAttr>(entryAttrName).getValue();
    std::string name = wanted.str();
    for (int number = 2; !taken.insert(name).second; ++number)
      name = wanted.str() + "_" + std::to_string(number);
    auto attr = StringAttr::get(module.getContext(), name);
    renamed[kernel.getSymNameAttr()] = attr;
    kernel.setSymNameAttr(attr);
    kernel->removeAttr(entryAttrName);
  }
  if (renamed.empty())
    return;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr use) -> Attribute {
    StringAttr name = renamed.lookup(use.getAttr());
    return name ? FlatSymbolRefAttr::get(name) : use;
  });
  for (Operation *op : others)
    replacer.recursivelyReplaceElementsIn(op);
}

} // namespace tilewright::cuda

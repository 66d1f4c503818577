//===- Lowerings.cpp - operators that the user defines in MLIR --------------------------------===//
//
// The operator is tilewright.lowering(text, *tensors). `text` is a function of tw ops whose arguments have the types of
// the tensors. Its ops replace the node. A Python function of the user, registered by register_lowering(), is called
// once per node and returns the text.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"

namespace tilewright {
namespace {

std::string typesOf(TypeRange types) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(types, stream);
  return "(" + text + ")";
}

/// Returns the only function of the parsed text. If the text is invalid, refuses the node and returns null.
func::FuncOp onlyFunction(Node &n, ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1 || functions[0].isExternal() || !llvm::hasSingleElement(functions[0].getBody()) ||
      !llvm::hasSingleElement(module.getBody()->getOperations())) {
    n.refuse("its lowering is not one func.func of one block");
    return {};
  }
  for (Operation &op : functions[0].front())
    if (isa<RandomOp>(op) || !isa_and_nonnull<TWDialect, func::FuncDialect>(op.getDialect()) || isa<func::CallOp>(op)) {
      n.refuse("its lowering has " + op.getName().getStringRef() +
               "; only ops of the dialect tw are supported, except tw.random");
      return {};
    }
  return functions[0];
}

} // namespace

Results importLowering(Node &n) {
  std::string text = n.text(0, "text"), said;
  SmallVector<Value> arguments = n.tensors(1, "tensors");
  if (n.failed())
    return n.refused();
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(&n.importer.context, [&](Diagnostic &diagnostic) {
      std::string location;
      if (auto at = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
        location = "line " + std::to_string(at.getLine()) + ", column " + std::to_string(at.getColumn()) + ": ";
      said += (said.empty() ? "" : "; ") + location + diagnostic.str();
      return success();
    });
    module = parseSourceString<ModuleOp>(text, ParserConfig(&n.importer.context), "lowering");
  }
  if (!module)
    return n.refuse("its lowering is no MLIR: " + said);
  func::FuncOp function = onlyFunction(n, *module);
  if (!function)
    return n.refused();
  if (TypeRange(function.getArgumentTypes()) != TypeRange(ValueRange(arguments)))
    return n.refuse("its lowering takes " + typesOf(function.getArgumentTypes()) + " where its tensors are " +
                    typesOf(ValueRange(arguments).getTypes()));
  SmallVector<Type> wanted;
  for (unsigned i = 0; i < n.resultCount(); ++i)
    wanted.push_back(n.type(i));
  if (TypeRange(function.getResultTypes()) != TypeRange(wanted))
    return n.refuse("its lowering returns " + typesOf(function.getResultTypes()) + " where its results are " +
                    typesOf(wanted));
  IRMapping map;
  map.map(function.getArguments(), arguments);
  for (Operation &op : function.front().without_terminator())
    n.builder.clone(op, map)->setLoc(n.loc);
  SmallVector<Value> results;
  for (Value result : function.front().getTerminator()->getOperands())
    results.push_back(map.lookupOrDefault(result));
  return Results(results);
}

} // namespace tilewright

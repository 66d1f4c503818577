//===- tilewright-lsp-server.cpp - IR in an editor --------------------------===//
//
// This program implements the language server protocol on standard input and output. With it, an editor can show errors
// while the user types, definitions and uses of values and symbols, and information about the op under the cursor.
// docs/how-to/work-on-ir.md describes how to configure editors.
//
// Test: test/Tools/lsp-server.test
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tilewright/Pipelines.h"
#include "llvm/Support/LogicalResult.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tilewright::registerAllDialects(registry);
  return llvm::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

//===- tilewright-reduce.cpp - reduce IR to the smallest that still fails ---===//
//
//   tilewright-reduce model.mlir --reduction-tree='traversal-mode=0 test=fails.sh'
//
// This program is mlir-reduce with the dialects of Tilewright. It removes IR as long as the test program (fails.sh)
// reports with the exit status 1 that the remaining IR is interesting. docs/how-to/work-on-ir.md has an example.
//
// Test: test/Tools/reduce.test
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "tilewright/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tilewright::registerAllDialects(registry);
  tilewright::registerAllPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}

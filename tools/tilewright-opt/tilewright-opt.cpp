//===- tilewright-opt.cpp - run passes and pipelines on IR of any stage ------===//
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tilewright/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tilewright::registerAllDialects(registry);
  tilewright::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Tilewright's optimizer driver: every pass and stage pipeline by name\n", registry));
}

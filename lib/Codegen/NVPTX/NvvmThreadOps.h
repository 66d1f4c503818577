//===- NvvmThreadOps.h - exchange between threads in the dialect nvvm --------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_NVVMTHREADOPS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_NVVMTHREADOPS_H

#include "lib/Codegen/GPU/ThreadOps.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

class NvvmThreadOps : public ThreadOps {
public:
  void barrier(mlir::OpBuilder &builder, mlir::Location loc) const override;
  void syncWarp(mlir::OpBuilder &builder, mlir::Location loc) const override;
  mlir::Value shuffleXor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value word, int32_t mask) const override;
  mlir::Value ballot(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vote) const override;
  mlir::Value anyInBlock(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vote) const override;
  void arriveAtCluster(mlir::OpBuilder &builder, mlir::Location loc) const override;
  void waitForCluster(mlir::OpBuilder &builder, mlir::Location loc) const override;
  mlir::Value loadFromBlock(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, mlir::Value rank,
                            mlir::Type type) const override;
};

} // namespace tilewright::cuda

#endif

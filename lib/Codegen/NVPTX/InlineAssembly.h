//===- InlineAssembly.h - PTX text as an op ---------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_INLINEASSEMBLY_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_INLINEASSEMBLY_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tilewright::cuda {

/// Creates inline assembly. Returns its result of type `result`, or null if `result` is null. Assembly with side
/// effects is neither removed nor moved across other assembly with side effects.
inline mlir::Value inlineAssembly(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef text,
                                  llvm::StringRef constraints, mlir::ValueRange operands = {}, mlir::Type result = {},
                                  bool hasSideEffects = true) {
  auto made = mlir::LLVM::InlineAsmOp::create(builder, loc, result ? mlir::TypeRange(result) : mlir::TypeRange(),
                                              operands, text, constraints, hasSideEffects, /*is_align_stack=*/false,
                                              mlir::LLVM::tailcallkind::TailCallKind::None,
                                              mlir::LLVM::AsmDialectAttr(), mlir::ArrayAttr());
  return result ? made.getRes() : mlir::Value();
}

} // namespace tilewright::cuda

#endif

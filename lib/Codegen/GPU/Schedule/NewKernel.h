//===- NewKernel.h - kernels that are made from other kernels when schedules are selected ---===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_NEWKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_NEWKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace tilewright::gpu {

/// Creates a kernel before `origin`, whose name is that of `origin` with `suffix`, and moves `builder` to the beginning
/// of its body. Sets the sizes of its arguments of static shape, and its attribute tw.ops to `ops` if that is not null.
/// The caller inserts the kernel in the symbol table.
mlir::func::FuncOp makeKernel(mlir::OpBuilder &builder, mlir::func::FuncOp origin, llvm::StringRef suffix,
                              llvm::ArrayRef<mlir::Type> types, mlir::TypeRange results, mlir::Attribute ops);

/// Sets the attribute tw.sizes of an argument of static shape.
void setSizes(mlir::func::FuncOp kernel, unsigned argument);

/// Copies the attribute tw.sizes of arguments that have the same type in both kernels, for symbolic sizes.
void copySizes(mlir::func::FuncOp from, mlir::func::FuncOp to);

/// Creates a call of `kernel` in place of `call`, with its attribute tw.ops, and erases `call`. Returns the new call.
mlir::func::CallOp replaceCall(mlir::OpBuilder &builder, mlir::func::CallOp call, mlir::func::FuncOp kernel,
                               mlir::ValueRange operands);

/// Erases each of these kernels that no call in the module has as its callee.
void eraseUncalled(mlir::ModuleOp module, mlir::SymbolTable &symbols, llvm::ArrayRef<mlir::StringAttr> kernels);

} // namespace tilewright::gpu

#endif

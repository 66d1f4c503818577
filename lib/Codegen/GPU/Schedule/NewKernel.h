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

/// Makes `call` a call of `kernel`, whose results have the same types, with these operands.
void redirectCall(mlir::func::CallOp call, mlir::func::FuncOp kernel, mlir::ValueRange operands);

/// Copies of kernels' operands in another form. All kernels that need an operand in the same form read one copy.
class OperandCopies {
public:
  OperandCopies(mlir::OpBuilder &builder, mlir::SymbolTable &symbols) : builder(builder), symbols(symbols) {}

  /// Returns the copy of `operand` with the type `type`. If there is none, inserts a call at `loc` that makes it after
  /// `operand`.
  /// `makeKernel` returns the kernel for the first copy between two types, with the arguments source and destination.
  mlir::Value copyOf(mlir::Location loc, mlir::Value operand, mlir::RankedTensorType type,
                     llvm::function_ref<mlir::func::FuncOp()> makeKernel);

private:
  mlir::OpBuilder &builder;
  mlir::SymbolTable &symbols;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, mlir::func::FuncOp> kernels; ///< by the types of source and copy
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> copies;        ///< by the operand and its copy's type
};

/// Erases each of these kernels that no call in the module has as its callee.
void eraseUncalled(mlir::ModuleOp module, mlir::SymbolTable &symbols, llvm::ArrayRef<mlir::StringAttr> kernels);

} // namespace tilewright::gpu

#endif

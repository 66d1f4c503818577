//===- NewKernel.h - kernels that are made from other kernels when schedules are selected ---===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_NEWKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_NEWKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace tilewright::gpu {

/// Creates a kernel before `origin`, and moves `builder` to the beginning of its body. The name of the new kernel is
/// that of `origin` with `suffix`. Sets the sizes of its arguments of static shape, and its attribute tw.ops to `ops`
/// if `ops` is not null. The caller inserts the kernel in the symbol table.
mlir::func::FuncOp makeKernel(mlir::OpBuilder &builder, mlir::func::FuncOp origin, llvm::StringRef suffix,
                              llvm::ArrayRef<mlir::Type> types, mlir::TypeRange results, mlir::Attribute ops);

/// Returns the number of leading arguments of a kernel that are not destinations of its results.
unsigned inputsOf(mlir::func::FuncOp kernel);

/// Sets the attribute tw.sizes of an argument of static shape.
void setSizes(mlir::func::FuncOp kernel, unsigned argument);

/// Copies the attribute tw.sizes of arguments that have the same type in both kernels, for symbolic sizes.
void copySizes(mlir::func::FuncOp from, mlir::func::FuncOp to);

/// Removes the attributes tw.over from a kernel, so that its results do not overwrite operands. This is necessary if
/// moved ops read operands after other threads have written their results.
void forgetInPlace(mlir::func::FuncOp kernel);

/// Completes a change in which `kernel` got a new first argument. In each call, the operand of this argument is the
/// value that `make` returns; `make` inserts ops before the call. Erases the arguments with the previous numbers
/// `candidates` that the kernel no longer reads, and adapts the attributes tw.over and the calls' attributes tw.ops.
/// The ops of the kernel must read the remaining arguments as before.
void passNewFirst(mlir::ModuleOp module, mlir::func::FuncOp kernel, llvm::ArrayRef<unsigned> candidates,
                  llvm::function_ref<mlir::Value(mlir::OpBuilder &builder, mlir::func::CallOp call)> make);

/// Inserts clones of the ops of the kernel `from`, except the terminator, in which the arguments are replaced as in
/// `mapping`. Returns the clones of its results.
llvm::SmallVector<mlir::Value> cloneBody(mlir::OpBuilder &builder, mlir::func::FuncOp from, mlir::IRMapping &mapping);

/// Inserts a call of `kernel` with the inputs `inputs`. Each result has a new buffer.
mlir::func::CallOp callWithNewBuffers(mlir::OpBuilder &builder, mlir::Location loc, mlir::func::FuncOp kernel,
                                      mlir::ValueRange inputs);

/// Returns the calls of `kernel` in the module.
llvm::SmallVector<mlir::func::CallOp> callsOf(mlir::ModuleOp module, mlir::func::FuncOp kernel);

/// Returns the attribute tw.ops of a call, or the name of its kernel if it has none.
std::string opsOf(mlir::func::CallOp call);

/// Changes `call` to call `kernel` with these operands. The results of `kernel` must have the same types as those of
/// the previous callee.
void redirectCall(mlir::func::CallOp call, mlir::func::FuncOp kernel, mlir::ValueRange operands);

/// Copies of operands with other types. All kernels that need the same operand with the same type read one copy.
class OperandCopies {
public:
  OperandCopies(mlir::OpBuilder &builder, mlir::SymbolTable &symbols) : builder(builder), symbols(symbols) {}

  /// Returns the copy of `operand` with the type `type`. If there is none, inserts a call at `loc`, after the
  /// definition of `operand`, that creates the copy. For the first copy between two types, `makeKernel` must return the
  /// kernel to call, whose arguments are the source and the destination.
  mlir::Value copyOf(mlir::Location loc, mlir::Value operand, mlir::RankedTensorType type,
                     llvm::function_ref<mlir::func::FuncOp()> makeKernel);

private:
  mlir::OpBuilder &builder;
  mlir::SymbolTable &symbols;
  /// Keys: the types of the source and of the copy.
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, mlir::func::FuncOp> kernels;
  /// Keys: the operand and the type of the copy.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> copies;
};

/// Erases those of `kernels` to which no call in the module refers.
void eraseUncalled(mlir::ModuleOp module, mlir::SymbolTable &symbols, llvm::ArrayRef<mlir::StringAttr> kernels);

} // namespace tilewright::gpu

#endif

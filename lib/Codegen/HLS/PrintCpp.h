//===- PrintCpp.h - a design as C++ with the vendor's pragmas ----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_PRINTCPP_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_PRINTCPP_H

#include "dialects/HLS/HLS.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tilewright::hls {

/// A port of the top function.
struct Port {
  std::string name, type;
  mlir::MemRefType memory; ///< for a stream, a memref with as many elements as its depth; for a register, with one
  bool isOutput = false;
  Protocol protocol = Protocol::AxiMaster;
};

/// Returns the ports of the top function, in order.
std::vector<Port> portsOf(mlir::func::FuncOp top);

/// Returns a signature such as "void softmax(const float x[20][16], float y[20][16])". Arrays that the body does not
/// write are const.
std::string printSignature(mlir::func::FuncOp function);
/// Returns a declaration such as "float chip[20][16]".
std::string printArray(llvm::StringRef name, mlir::MemRefType type);
/// Returns a type such as "hls::stream<float, 2>" or "hls::stream_of_blocks<float[20][190], 2>".
std::string streamType(StreamType type);
/// Returns the definition of an array with its elements, such as "static const float c[2] = {1.0f, 2.0f}".
std::string printConstant(llvm::StringRef name, mlir::MemRefType type, mlir::ElementsAttr value);

/// The file with the constant arrays of a design, in the same folder as kernel.cpp.
inline constexpr llvm::StringLiteral weightsFile = "weights.h";
/// Returns the constant arrays (ROMs) of the design.
llvm::SmallVector<BufferOp> roms(mlir::func::FuncOp top);

/// Returns kernel.cpp: the functions that the tasks call, then the top function. The error lists all ops that cannot be
/// printed as C++.
llvm::Expected<std::string> printKernels(mlir::func::FuncOp top);

/// Returns the functions that the tasks of `top` call, without duplicates, in the order of the tasks.
std::vector<mlir::func::FuncOp> taskFunctions(mlir::func::FuncOp top);

} // namespace tilewright::hls

#endif

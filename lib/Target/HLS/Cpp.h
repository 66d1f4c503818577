//===- Cpp.h - what C++ calls types and functions ------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_CPP_H
#define TILEWRIGHT_TARGET_HLS_CPP_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/APFloat.h"
#include <optional>
#include <string>

namespace tilewright::hls {

/// "float" for f32, "int8_t" for i8, "ap_int<5>" for i5, "half" for f16, "bool" for i1, "int" for index; empty: none.
std::string cppType(mlir::Type element);

/// "expf" for math.exp on f32, "exp" on f64; none: there is no such function in C++.
std::optional<std::string> mathFunction(mlir::Operation *op);

/// "1.5f", "-INFINITY", "NAN".
std::string floatLiteral(const llvm::APFloat &value, mlir::Type type);
/// "7", "-3", "true".
std::string integerLiteral(const llvm::APInt &value, mlir::Type type);
/// A product of numbers that have half its width, or less: it cannot overflow.
bool isProductOfHalves(mlir::Operation &op);

/// " (file.py:3)" of an op, or nothing.
std::string lineOf(mlir::Operation *op);

} // namespace tilewright::hls

#endif

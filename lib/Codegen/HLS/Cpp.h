//===- Cpp.h - C++ names of types and functions --------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CPP_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CPP_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/APFloat.h"
#include <optional>
#include <string>

namespace tilewright::hls {

/// Returns the C++ type of an element, for example "float" for f32, "half" for f16, "int8_t" for i8, "ap_int<5>" for
/// i5, "bool" for i1 and "int" for index. Returns an empty string if no C++ type corresponds to `element`.
std::string cppType(mlir::Type element);

/// Returns "expf" for math.exp on f32 and f16, "exp" on f64, or std::nullopt if `op` is not printed as a function of
/// C++. For math.rsqrt, returns "rsqrt" or "rsqrtf", which C++ lacks; the printer replaces it by a division.
std::optional<std::string> mathFunction(mlir::Operation *op);

/// Returns a literal such as "1.5f", "-INFINITY" or "NAN".
std::string floatLiteral(const llvm::APFloat &value, mlir::Type type);
/// Returns a literal such as "7", "-3" or "true".
std::string integerLiteral(const llvm::APInt &value, mlir::Type type);
/// Returns true if `op` is an integer product whose operands are sign extensions from at most half of its width. Such a
/// product cannot overflow.
bool isProductOfHalves(mlir::Operation &op);

} // namespace tilewright::hls

#endif

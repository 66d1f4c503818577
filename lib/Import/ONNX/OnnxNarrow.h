//===- OnnxNarrow.h - 8-bit floats and elements smaller than a byte -------------------===//
//
// The "narrow" types of ONNX are integers and floats of less than 8 bits, and 8-bit floats. In the imported module and
// at its interface, each element is one byte: int8 for int4 and int2, and uint8 for all other narrow types. Cast,
// CastLike, QuantizeLinear and DequantizeLinear compute with such elements; some other nodes, such as Reshape, only
// move them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXNARROW_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXNARROW_H

#include "lib/Import/ONNX/OnnxNode.h"

namespace tilewright {

/// Returns the elements of an initializer, one per byte.
std::vector<uint8_t> narrowBytes(const onnx::Tensor &tensor);

/// Returns the smallest and the largest number of a narrow integer type, or nullopt for other types.
std::optional<std::pair<int64_t, int64_t>> narrowRange(onnx::ElementType type);

/// Converts elements of a narrow type, which are stored as bytes, to f32. The conversion is exact.
Value narrowToNumbers(OnnxNode &n, Value bytes, onnx::ElementType type);

/// Converts `numbers` to a narrow type and returns them as bytes. For a float type, rounds to nearest (ties to even).
/// Numbers beyond the largest number become that number if `saturate` is true or the type has 4 bits, otherwise the
/// type's infinity or NaN. For an integer type, numbers are converted to i32, and their low bits are kept. Refuses
/// float8_e8m0fnu, which is rounded differently.
Value numbersToNarrow(OnnxNode &n, Value numbers, onnx::ElementType type, bool saturate);

} // namespace tilewright

#endif

//===- OnnxNarrow.h - 8-bit floats and elements below a byte --------------------------===//
//
// The machine computes with none of them: in the module and at the door they are bytes, one element each (int4 and int2
// as int8, all others as uint8), and they become numbers where a node computes with them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXNARROW_H
#define TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXNARROW_H

#include "lib/Frontend/Onnx/OnnxNode.h"

namespace tilewright {

/// The elements of an initializer, one a byte.
std::vector<uint8_t> narrowBytes(const onnx::Tensor &tensor);

/// The least and largest number of a narrow integer type; nullopt of floats.
std::optional<std::pair<int64_t, int64_t>> narrowRange(onnx::ElementType type);

/// Bytes as f32 numbers; exact.
Value narrowToNumbers(OnnxNode &n, Value bytes, onnx::ElementType type);

/// Numbers rounded to the nearest (ties to even) as bytes. Floats beyond the largest number become it where `saturate`,
/// else what the type has for them: an infinity or NaN. Refuses float8_e8m0, whose rounding is its own.
Value numbersToNarrow(OnnxNode &n, Value numbers, onnx::ElementType type, bool saturate);

} // namespace tilewright

#endif

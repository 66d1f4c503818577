//===- Reader.h - the parts of an .onnx file, each read in a file of its own ---------===//
//
// What is wrong with a file is thrown inside the room, as protozero throws what is wrong with its encoding; readModel
// catches both.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNXMODEL_READER_H
#define TILEWRIGHT_LIB_FRONTEND_ONNXMODEL_READER_H

#include "lib/Frontend/OnnxModel/Model.h"
#include <stdexcept>

namespace tilewright::onnx {

struct BadModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Of a field that is there, but not as its type is encoded.
[[noreturn]] inline void refuseEncoding() { throw BadModel("a field has another type than ONNX says"); }

} // namespace tilewright::onnx

// What protozero asserts of its caller a damaged file can break.
#define protozero_assert(holds) ((holds) ? void() : tilewright::onnx::refuseEncoding())
#include <protozero/pbf_reader.hpp>

namespace tilewright::onnx {

/// Deeper graphs in graphs, or types in types, are refused.
constexpr unsigned deepest = 32;

/// The next field as text.
std::string readText(protozero::pbf_reader &field);
/// Integers of a repeated field, packed or one by one, added to `list`.
void readIntegers(protozero::pbf_reader &field, std::vector<int64_t> &list);

Tensor readTensor(protozero::pbf_reader message, const OpenFile &open);
ValueInfo readValueInfo(protozero::pbf_reader message);
Node readNode(protozero::pbf_reader message, const OpenFile &open, unsigned depth);
Attribute readAttribute(protozero::pbf_reader message, std::string &name, const OpenFile &open, unsigned depth);
Graph readGraph(protozero::pbf_reader message, const OpenFile &open, unsigned depth);

} // namespace tilewright::onnx

#endif

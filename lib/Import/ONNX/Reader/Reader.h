//===- Reader.h - functions that read the parts of an .onnx file ---------------------===//
//
// Errors in a file are thrown as exceptions inside this library, like protozero's exceptions for invalid encodings;
// readModel catches both.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_READER_READER_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_READER_READER_H

#include "lib/Import/ONNX/Reader/Model.h"
#include <stdexcept>

namespace tilewright::onnx {

struct BadModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws the exception for a field that is not encoded as its type requires.
[[noreturn]] inline void refuseEncoding() { throw BadModel("a field does not have the type that ONNX specifies"); }

} // namespace tilewright::onnx

// protozero asserts some conditions that a damaged file can violate. Throw an exception instead.
#define protozero_assert(holds) ((holds) ? void() : tilewright::onnx::refuseEncoding())
#include <protozero/pbf_reader.hpp>

namespace tilewright::onnx {

/// The maximum nesting depth of graphs in graphs.
constexpr unsigned deepest = 32;

/// Returns the current field as a string.
std::string readText(protozero::pbf_reader &field);
/// Appends the integers of a repeated field, packed or not, to `list`.
void readIntegers(protozero::pbf_reader &field, std::vector<int64_t> &list);

Tensor readTensor(protozero::pbf_reader message, const OpenFile &open);
ValueInfo readValueInfo(protozero::pbf_reader message);
Node readNode(protozero::pbf_reader message, const OpenFile &open, unsigned depth);
Attribute readAttribute(protozero::pbf_reader message, std::string &name, const OpenFile &open, unsigned depth);
Graph readGraph(protozero::pbf_reader message, const OpenFile &open, unsigned depth);

} // namespace tilewright::onnx

#endif

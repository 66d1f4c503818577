//===- Model.h - a model, as stored in its .onnx file ------------------------------===//
//
// The structures use no types of MLIR or protobuf. They contain the nodes as in the file, the types and sizes of
// inputs, outputs and intermediate values, and the elements of the initializers.
//
//   std::string error;
//   std::optional<onnx::Model> model = onnx::readModel(bytes, openFile, error);
//
// The format is defined by onnx-ml.proto of the package onnx 1.23 (protobuf, IR version 14). Fields that are not
// declared here are skipped. Raw elements refer to the memory of the file.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_READER_MODEL_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_READER_MODEL_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright::onnx {

/// The enumeration TensorProto.DataType of ONNX, with the same numbers.
enum class ElementType : int32_t {
  Undefined = 0,
#define TW_DTYPE(ENUM, NAME, BITS, IR, DLPACK, EXPORT, ONNX, NPY) ENUM = (ONNX),
#define TW_FILE_DTYPE(ENUM, NAME, BITS, EXPORT, ONNX) ENUM = (ONNX),
#include "dialects/Graph/Dtypes.def"
};

/// Returns "float32" for F32, "int4" for I4 and so on, or "type 77" for an unknown number.
std::string elementTypeName(ElementType type);
/// Returns the number of bits of one element in a file, or 0 for strings and unknown types.
unsigned elementBits(ElementType type);

/// The elements of an initializer or of an attribute, in row-major order and little-endian. Elements of less than 8
/// bits are packed into bytes, beginning with the lowest bits.
struct Tensor {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::vector<int64_t> sizes;
  std::string_view bytes;                   ///< exactly those of the elements; empty for strings
  std::shared_ptr<const std::string> owner; ///< owner of `bytes`; null: the model's file or a file of external data
  int64_t count() const;
};

/// A size of a tensor: a number, a name that several sizes may have, or nothing if the size is unknown.
using Size = std::variant<std::monostate, int64_t, std::string>;

/// The name, type and sizes of an input, an output or an intermediate value.
struct ValueInfo {
  std::string name;
  std::string foreign; ///< "a sequence" or similar if it is not a tensor
  ElementType type = ElementType::Undefined;
  std::optional<std::vector<Size>> sizes; ///< nullopt: even the rank is unknown
};

struct Graph;
struct Attribute {
  enum class Kind { None, Float, Int, String, Tensor, Graph, Floats, Ints, Strings, Foreign };
  Kind kind = Kind::None;
  double number = 0;
  int64_t integer = 0;
  std::string text;
  onnx::Tensor tensor;
  std::shared_ptr<const onnx::Graph> graph;
  std::vector<double> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  std::string reference; ///< inside a function: the function's attribute whose value is used
};

struct Node {
  std::string op, domain, overload, name; ///< "" is ONNX's own domain ("ai.onnx" is read as "")
  std::vector<std::string> inputs;        ///< "": not given
  std::vector<std::string> outputs;       ///< "": not used
  std::map<std::string, Attribute> attributes;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::map<std::string, Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
  std::map<std::string, ValueInfo> values;     ///< types of intermediate values, if the file has them
  std::vector<std::string> sparseInitializers; ///< names only; they are not read
};

/// Maps domains to versions of operator sets.
using Opsets = std::map<std::string, int64_t>;

/// A function: an operator that the model itself defines.
struct Function {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;       ///< names of the attributes without a default
  std::map<std::string, Attribute> defaults; ///< default values of the other attributes
  std::vector<Node> nodes;
  Opsets opsets;
};

struct Model {
  int64_t irVersion = 0;
  std::string producer;
  Opsets opsets;
  onnx::Graph graph;
  std::vector<Function> functions;
};

/// Opens a file of external data. `name` is the path in the model, which is relative and has no component "..". The
/// returned bytes must be valid as long as the model is used. On failure returns nullopt, with the reason in `error`.
using OpenFile = std::function<std::optional<std::string_view>(const std::string &name, std::string &error)>;

/// Reads a model from the bytes of an .onnx file, which must outlive the model. On failure returns nullopt, with a
/// description of the problem and, if possible, of a remedy in `error`.
std::optional<Model> readModel(std::string_view file, const OpenFile &open, std::string &error);

} // namespace tilewright::onnx

#endif

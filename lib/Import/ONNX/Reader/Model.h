//===- Model.h - a model, as stored in its .onnx file ------------------------------===//
//
// Plain structures without types of MLIR or protobuf: the nodes, unchanged; what is known about inputs and outputs; and
// the elements of the initializers in the file.
//
//   std::string error;
//   std::optional<onnx::Model> model = onnx::readModel(bytes, openFile, error);
//
// The format is onnx-ml.proto of the package onnx 1.23 (protobuf, IR version 14). Fields that are not declared here are
// skipped. Strings and raw elements refer to the file's bytes.
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

/// TensorProto.DataType, with its numbers in the file.
enum class ElementType : int32_t {
  Undefined = 0,
#define TW_DTYPE(ENUM, NAME, BITS, IR, DLPACK, EXPORT, ONNX, NPY) ENUM = ONNX,
#define TW_FILE_DTYPE(ENUM, NAME, BITS, EXPORT, ONNX) ENUM = ONNX,
#include "dialects/Graph/Dtypes.def"
};

/// Returns "float32" for F32, "int4" for I4 and so on, or "type 77" for an unknown number.
std::string elementTypeName(ElementType type);
/// Returns the bits of one element in a file, or 0 if it is not a plain number (strings, unknown types).
unsigned elementBits(ElementType type);

/// The elements of an initializer or of an attribute: dense, row-major, little-endian. Elements of less than 8 bits are
/// packed, beginning with the lowest bits.
struct Tensor {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::vector<int64_t> sizes;
  std::string_view bytes;                   ///< exactly those of the elements; empty for strings
  std::shared_ptr<const std::string> owner; ///< owner of `bytes`; null: the model's file or a file of external data
  int64_t count() const;
};

/// A number, a name that several sizes may share, or an unknown size.
using Size = std::variant<std::monostate, int64_t, std::string>;

/// An input, an output or an intermediate value.
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

/// An operator that the model itself defines.
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

/// Opens a file of external data by the name in the model, which is relative and contains no "..". The bytes are valid
/// as long as the model. On failure returns nullopt, with the reason in `error`.
using OpenFile = std::function<std::optional<std::string_view>(const std::string &name, std::string &error)>;

/// Reads the model from the bytes of an .onnx file, which must outlive it. On failure returns nullopt, and `error` says
/// what is wrong and, if the user can fix it, how.
std::optional<Model> readModel(std::string_view file, const OpenFile &open, std::string &error);

} // namespace tilewright::onnx

#endif

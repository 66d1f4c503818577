//===- Program.h - a program of torch.export, as stored in its .pt2 file ---------===//
//
// The structures use no types of MLIR, torch or Python. They contain the nodes (those under torch.no_grad() are
// inlined), the metadata of every tensor, the kinds of the inputs and outputs, and the elements of the parameters,
// buffers and constants in the file.
//
//   std::string error;
//   std::optional<exported::Program> program = exported::readProgram(bytes, error);
//
// The format is that of torch 2.8 and later (schema version 8, torch/_export/serde/schema.py). Pickles in such a file
// are never read: data/sample_inputs/model.pt is ignored, and a pickled weight is an error.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_PROGRAM_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_PROGRAM_H

#include "lib/Import/TorchExport/Reader/ZipArchive.h"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tilewright::exported {

/// An integer, or sympy's srepr of an expression over the program's symbols.
using Size = std::variant<int64_t, std::string>;

struct TensorMeta {
  std::string dtype; ///< torch's name without "torch.": "float32"
  std::vector<Size> sizes;
  std::vector<Size> strides; ///< strides in elements; as many as sizes
  Size offset = int64_t(0);  ///< offset of the first element in its storage, in elements
  std::string device;        ///< "cpu"
  bool strided = true;       ///< false: sparse or another layout
};

struct TensorName {
  std::string name; ///< a key of Graph::tensors
};
struct DtypeName {
  std::string name;
};
struct SizeValue {
  Size size;
};
/// An argument of a kind that is not supported: "a graph", "a symbolic float"...
struct Foreign {
  std::string what;
};
struct Argument;
using ArgumentList = std::vector<Argument>;
/// None, bool, int, float, name (string, device, layout, memory format), dtype, tensor, symbolic int, an argument of an
/// unsupported kind, or list.
struct Argument : std::variant<std::monostate, bool, int64_t, double, std::string, DtypeName, TensorName, SizeValue,
                               Foreign, ArgumentList> {
  using variant::variant;
};

/// A source location in the user's program.
struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function;
};

/// Calls `see` with the name of each tensor in `argument`, including those in lists.
template <typename See> void visitTensors(const Argument &argument, See &&see) {
  if (const auto *tensor = std::get_if<TensorName>(&argument))
    see(tensor->name);
  if (const auto *list = std::get_if<ArgumentList>(&argument))
    for (const Argument &item : *list)
      visitTensors(item, see);
}

struct Node {
  std::string target; ///< "aten.linear.default", "_operator.mul"
  std::vector<Argument> positional;
  std::vector<std::pair<std::string, Argument>> named;
  std::vector<Argument> results; ///< tensors or symbolic numbers; None where unused; lists are flattened
  std::optional<SourceLocation> location;
};

struct Graph {
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;
};

struct Input {
  enum class Kind {
    Parameter, ///< `weight` is its name in the model, as for buffers and constants
    Buffer,
    Constant,
    User,  ///< an argument of the model
    Fixed, ///< an argument that torch.export stores as a constant, such as a number or None; or one of the
           ///< effect tokens, with which torch orders side effects
  };
  Kind kind = Kind::User;
  std::string name;   ///< name of the graph's value and of the user's argument
  std::string weight; ///< a key of Program::weights
  Argument value;     ///< the graph's value: a tensor, a symbolic int, a constant (Fixed), or Foreign
};

struct Output {
  enum class Kind { User, Mutation, Token };
  Kind kind = Kind::User;
  std::string name; ///< name of the result ("0", "hidden.1", "logits"), or of the written input, parameter or buffer
  Argument value;
};

/// A parameter, buffer or constant. `meta` specifies the offset and strides in `storage`. The reader guarantees that
/// all elements are inside `storage`, and that the sizes, strides and offset are integers of at least 0.
struct Weight {
  TensorMeta meta;
  Bytes storage;
};

struct Range {
  std::optional<int64_t> low, high; ///< inclusive; nullopt: infinite
};

struct Program {
  Graph graph;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::map<std::string, Weight> weights;
  std::map<std::string, Range> ranges;      ///< by symbol
  std::map<std::string, std::string> names; ///< the user's names by symbol, if tilewright.export wrote the file
  std::vector<std::string> guards;          ///< guards on inputs, as Python text: "L['x'].size()[0] <= 40"
  std::string torchVersion;
};

/// Reads the program from the bytes of a .pt2 file, which must outlive the program. On failure, returns nullopt and
/// sets `error` to the reason and, if the user can fix the problem, a suggestion.
std::optional<Program> readProgram(std::string_view file, std::string &error);

/// Returns the number of bytes of an element of a dtype, or 0 if the reader does not support the dtype.
unsigned elementBytes(const std::string &dtype);

} // namespace tilewright::exported

#endif

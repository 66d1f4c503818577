//===- Program.h - a program of torch.export, as its .pt2 file has it ------------===//
//
// Plain structures, of which nothing is MLIR's, torch's or Python's: nodes as they are, what is known of every tensor,
// what the inputs and outputs stand for, and where in the file the elements of parameters, buffers and constants lie.
//
//   std::string error;
//   std::optional<exported::Program> program = exported::readProgram(bytes, error);
//
// The format is that of torch 2.8 and later (schema version 8, torch/_export/serde/schema.py). The one pickle in such a
// file, data/sample_inputs/model.pt, is never looked at.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_PROGRAM_H
#define TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_PROGRAM_H

#include "lib/Frontend/ExportedProgram/ZipArchive.h"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tilewright::exported {

/// A number, or sympy's srepr of an expression over the program's symbols.
using Size = std::variant<int64_t, std::string>;

struct TensorMeta {
  std::string dtype; ///< torch's name without "torch.": "float32"
  std::vector<Size> sizes;
  std::vector<Size> strides; ///< in elements; as many as sizes
  Size offset = int64_t(0);  ///< of the first element in its storage, in elements
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
/// What no tensor program can take: "a graph", "a symbolic float"...
struct Foreign {
  std::string what;
};
struct Argument;
using ArgumentList = std::vector<Argument>;
/// None, bool, int, float, a name (string, device, layout, memory format), dtype, tensor, symbolic int, list.
struct Argument : std::variant<std::monostate, bool, int64_t, double, std::string, DtypeName, TensorName, SizeValue,
                               Foreign, ArgumentList> {
  using variant::variant;
};

/// Where the user's program is.
struct Place {
  std::string file;
  int line = 0;
  std::string function;
};

/// Calls `see` with the name of each tensor in `argument`, of lists likewise.
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
  std::vector<Argument> results; ///< TensorName; None where unused; a list of tensors is flattened
  std::optional<Place> place;
};

struct Graph {
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;
};

struct Input {
  enum class Kind {
    Parameter, ///< `weight` is its name in the model, as are those of
    Buffer,
    Constant,
    User,  ///< an argument of the model's
    Fixed, ///< an argument that was a number or None when the model was exported, and is so for ever; or a token of
           ///< torch's, by which effects are kept in order
  };
  Kind kind = Kind::User;
  std::string name;   ///< of the graph's value, and of the user's argument
  std::string weight; ///< a key of Program::weights
  Argument value;     ///< what the graph has for it: a tensor, or a symbolic int
};

struct Output {
  enum class Kind { User, Mutation, Token };
  Kind kind = Kind::User;
  std::string name; ///< of the result ("0", "hidden.1", "logits"), or of what is written
  Argument value;
};

/// The elements of a parameter, buffer or constant: its storage, of which `meta` has offset and strides. All elements
/// lie in `storage`, and sizes, strides and offset are numbers of at least 0.
struct Weight {
  TensorMeta meta;
  Bytes storage;
};

struct Range {
  std::optional<int64_t> low, high; ///< inclusive; none: infinite
};

struct Program {
  Graph graph;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::map<std::string, Weight> weights;
  std::map<std::string, Range> ranges; ///< by symbol
  std::vector<std::string> guards;     ///< on inputs, in Python: "L['x'].size()[0] <= 40"
  std::string torchVersion;
};

/// The program in the bytes of a .pt2 file, which must outlive it. On failure nullopt, and `error` says what is wrong
/// and, where the user can do something, what.
std::optional<Program> readProgram(std::string_view file, std::string &error);

/// Bytes of one element of a dtype; 0: no dtype that has plain elements.
unsigned elementBytes(const std::string &dtype);

} // namespace tilewright::exported

#endif

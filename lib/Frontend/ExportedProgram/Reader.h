//===- Reader.h - the parts of a .pt2 file, each read in a file of its own ----------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_READER_H
#define TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_READER_H

#include "lib/Frontend/ExportedProgram/JsonView.h"
#include "lib/Frontend/ExportedProgram/Program.h"

namespace tilewright::exported {

/// Values of a graph's symbolic ints, by name.
using SizesByName = std::map<std::string, Size>;

/// {"as_int": n} or {"as_expr": ...}.
Size readSize(const JsonView &view);
TensorMeta readTensorMeta(const JsonView &view);
/// A member of the schema's union Argument. Names of tensors must be keys of `graph.tensors`.
Argument readArgument(const JsonView &view, const Graph &graph, const SizesByName &sizes);
/// graph_module.graph: its tensors, its symbolic ints into `sizes`, and its nodes.
void readGraph(const JsonView &view, Graph &graph, SizesByName &sizes);
/// graph_module: what its inputs and outputs stand for.
void readSignature(const JsonView &view, Program &program, const SizesByName &sizes);
/// The configurations of a model's weights and constants, and their elements. `root` is the archive's first folder.
bool readWeights(const ZipArchive &archive, const std::string &root, const std::string &model, Program &program,
                 std::string &error);
/// An entry as JSON; false with a reason where it is not.
bool readJson(const ZipArchive &archive, const std::string &name, nlohmann::json &value, std::string &error);

/// torch's name of a number in the schema's enumeration; "" for an unknown one.
std::string dtypeNameOf(int64_t code);

} // namespace tilewright::exported

#endif

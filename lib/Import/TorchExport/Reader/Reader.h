//===- Reader.h - functions that read the parts of a .pt2 file ----------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_READER_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_READER_H

#include "lib/Import/TorchExport/Reader/JsonView.h"
#include "lib/Import/TorchExport/Reader/Program.h"

namespace tilewright::exported {

/// Values of a graph's symbolic ints, keyed by name.
using SizesByName = std::map<std::string, Size>;

/// Reads {"as_int": n} or {"as_expr": ...}.
Size readSize(const JsonView &view);
TensorMeta readTensorMeta(const JsonView &view);
/// Reads a value of the union type `Argument` of torch's schema. It is an error if a tensor's name is not a key of
/// `graph.tensors`.
Argument readArgument(const JsonView &view, const Graph &graph, const SizesByName &sizes);
/// Reads graph_module.graph: its tensors and nodes, and its symbolic ints into `sizes`.
void readGraph(const JsonView &view, Graph &graph, SizesByName &sizes);
/// Reads the kinds of the inputs and outputs from graph_module.
void readSignature(const JsonView &view, Program &program, const SizesByName &sizes);
/// Reads a model's weights and constants, and the configuration files that describe them. `root` is the top-level
/// folder of the archive. Returns false with the reason in `error` on failure.
bool readWeights(const ZipArchive &archive, const std::string &root, const std::string &model, Program &program,
                 std::string &error);
/// Parses an entry as JSON; returns false with the reason in `error` on failure.
bool readJson(const ZipArchive &archive, const std::string &name, nlohmann::json &value, std::string &error);

/// Returns torch's name of the dtype with the number `code` in the schema, or "" if the number is unknown.
std::string dtypeNameOf(int64_t code);

} // namespace tilewright::exported

#endif

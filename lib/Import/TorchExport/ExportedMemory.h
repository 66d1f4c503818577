//===- ExportedMemory.h - in-place ops of plain exports ----------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_EXPORTEDMEMORY_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_EXPORTEDMEMORY_H

#include "lib/Import/TorchExport/Reader/Program.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

namespace tilewright {

/// Tracks which tensors of a graph are views of other tensors, and replaces in-place writes by nodes without side
/// effects. The nodes must be passed in the order of the graph. The returned nodes must be imported in their order.
/// Each returned node assigns new values to the names of its results.
class ExportedMemory {
public:
  /// `program` must outlive the object.
  explicit ExportedMemory(const exported::Program &program);

  using Nodes = llvm::SmallVector<const exported::Node *>;

  /// Returns the functional form of an in-place op, such as "aten.relu.default" for "aten.relu_.default". Returns "" if
  /// `target` is not an in-place op.
  static std::string functional(llvm::StringRef target);

  /// Returns the nodes that must be executed again before `argument` is read. They compute views in `argument` whose
  /// memory was written after they were computed.
  Nodes stale(const exported::Argument &argument);

  /// Records a node that does not write in place.
  void see(const exported::Node &node);

  /// Returns the nodes that replace `node`, which writes its first argument in place. On failure, returns no nodes,
  /// with the reason in `why`.
  Nodes write(const exported::Node &node, std::string &why);

private:
  /// A tensor of the graph. It is either the first tensor of its memory, or a view of `parent` that `producer`
  /// computes.
  struct Tensor {
    std::string parent;
    const exported::Node *producer = nullptr;
    unsigned result = 0;
    size_t memory = 0;
    unsigned version = 0; ///< version of the memory when the tensor was computed
  };
  struct Memory {
    unsigned version = 0;
    bool unclear = false; ///< the memory may overlap other memories
    bool caller = false;  ///< an input or a weight
  };

  const exported::TensorMeta *metaOf(const std::string &name) const;
  /// Returns true if result `result` of `node` is a view of its first tensor; nullopt if that is unknown.
  std::optional<bool> isView(const exported::Node &node, unsigned result) const;
  /// Returns a node that writes the view `child` into its parent. If that is not supported, the target of the node is
  /// "".
  exported::Node inverse(const std::string &child) const;
  const exported::Node *keep(exported::Node node) {
    made.push_back(std::move(node));
    return &made.back();
  }
  void add(const std::string &name, Tensor tensor) { tensors[name] = std::move(tensor); }
  void addMemory(const std::string &name, bool unclear, bool caller = false);

  const exported::Graph &graph;
  llvm::StringMap<Tensor> tensors;
  std::vector<Memory> memories;
  std::deque<exported::Node> made; ///< a deque, so that addresses stay valid
};

} // namespace tilewright

#endif

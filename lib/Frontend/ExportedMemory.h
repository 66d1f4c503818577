//===- ExportedMemory.h - ops in place, as plain exports have them -----------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EXPORTEDMEMORY_H
#define TILEWRIGHT_LIB_FRONTEND_EXPORTEDMEMORY_H

#include "lib/Frontend/ExportedProgram/Program.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

namespace tilewright {

/// Follows which tensors of a graph are views of which, and says by what nodes without effects writes in place are the
/// same. Told of the nodes in their order; what it gives back is to be imported in its order, each node giving a new
/// value to the names of its results.
class ExportedMemory {
public:
  /// The program must outlive it.
  explicit ExportedMemory(const exported::Program &program);

  using Nodes = llvm::SmallVector<const exported::Node *>;

  /// The op without a name's last underscore ("aten.relu.default" of "aten.relu_.default"); empty: `target` writes
  /// nothing in place.
  static std::string functional(llvm::StringRef target);

  /// Views whose memory was written since they were made, among the tensors named by `argument`: to be made again.
  Nodes stale(const exported::Argument &argument);

  /// A node that writes nothing.
  void see(const exported::Node &node);

  /// What a node that writes its first argument in place is the same as; empty, and `why` says so: nothing.
  Nodes write(const exported::Node &node, std::string &why);

private:
  /// A tensor of the graph: its memory's first, or a view of `parent` that `maker` gives.
  struct Tensor {
    std::string parent;
    const exported::Node *maker = nullptr;
    unsigned result = 0;
    size_t memory = 0;
    unsigned version = 0; ///< of the memory when it was made
  };
  struct Memory {
    unsigned version = 0;
    bool unclear = false; ///< others may be parts of it, or it of theirs
    bool caller = false;  ///< an input or a weight
  };

  const exported::TensorMeta *metaOf(const std::string &name) const;
  /// Whether result `result` of `node` is a view of its first tensor; nullopt: nobody knows.
  std::optional<bool> isView(const exported::Node &node, unsigned result) const;
  /// The node that gives `child`'s parent with what is now in `child`; empty target: there is none.
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
  std::deque<exported::Node> made; ///< addresses stay
};

} // namespace tilewright

#endif

//===- LaunchGraph.h - the steps of a call as one CUDA graph ------------------------------===//
//
// The second consecutive call with the same sizes traverses the steps and builds the graph. Later calls traverse the
// steps again, update the nodes that have changed, and launch the whole graph. A step waits only for steps whose memory
// accesses conflict with its own accesses (stepsBefore() in Frame.h), so that independent steps may run concurrently.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_LAUNCHGRAPH_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_LAUNCHGRAPH_H

#include "lib/Runtime/CUDA/DriverContext.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

class LaunchGraph {
public:
  /// Creates an empty graph. `before` contains, for each step, the indices of the steps for which it waits. The driver
  /// must support graphs. Returns null, with a reason in `error`, on failure.
  static std::unique_ptr<LaunchGraph> create(std::shared_ptr<DriverContext> context,
                                             std::vector<std::vector<uint32_t>> before, std::string &error);
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph &) = delete;
  LaunchGraph &operator=(const LaunchGraph &) = delete;

  struct Kernel {
    driver::Function function = nullptr;
    uint32_t grid = 0, threads = 0, shared = 0;
    void **parameters = nullptr;
  };

  /// Adds or updates the node of the next step of a traversal. `changed` is true if a parameter differs from the
  /// previous traversal. The steps must have the order of the first traversal. Otherwise isOther() returns true at the
  /// end, and a new graph is needed. On failure, returns false with a reason in `error`.
  bool launch(int32_t step, const Kernel &kernel, bool changed, std::string &error);
  bool copy(int32_t step, uint64_t to, uint64_t from, uint64_t bytes, std::string &error);
  bool isOther() const { return other || (exec && position != nodes.size()); }

  /// Ends the traversal and launches the graph into a stream.
  bool run(driver::Stream stream, std::string &error);

private:
  struct Node {
    driver::GraphNode node = nullptr;
    int32_t step = 0;
    bool isCopy = false;
    uint32_t grid = 0;
    uint64_t to = 0, from = 0, bytes = 0; ///< operands of a copy
  };

  LaunchGraph() = default;
  bool good(driver::Code code, const char *what, std::string &error) const;
  /// Returns the next node of a traversal after the first traversal. Returns null if the traversal differs from the
  /// first.
  Node *next(int32_t step, bool isCopy);
  /// Returns the nodes for which a step waits.
  std::vector<driver::GraphNode> waitsFor(int32_t step, bool isCopy) const;
  Node &add(int32_t step, bool isCopy);

  std::shared_ptr<DriverContext> context;
  std::vector<std::vector<uint32_t>> before;
  driver::Graph graph = nullptr;
  driver::GraphExec exec = nullptr;
  std::vector<Node> nodes;          ///< nodes in the order of the traversal
  std::vector<int32_t> lastOfSteps; ///< for each step: the index of its last node, or -1
  size_t position = 0;              ///< index in `nodes` of the next node of the current traversal
  bool other = false;
};

} // namespace tilewright::runtime

#endif

//===- LaunchGraph.h - the steps of a call as one CUDA graph ------------------------------===//
//
// A call builds it from the steps of a walk; later calls walk again, write into its nodes what has changed, and launch
// it whole. Steps wait for those alone whose memory they share (`stepsBefore`), so that others may run beside each
// other.
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
  /// `before` has, by number of a step, the numbers of those it waits for. The driver has graphs.
  /// Null with a reason in `error`.
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

  /// The next step of a walk. `changed`: some parameter is not what it was at the last walk. Steps have to come as they
  /// did at the first walk; where they do not, `isOther()` is true at the walk's end, and only a new graph helps. False
  /// with a reason in `error`.
  bool launch(int32_t step, const Kernel &kernel, bool changed, std::string &error);
  bool copy(int32_t step, uint64_t to, uint64_t from, uint64_t bytes, std::string &error);
  bool isOther() const { return other || (exec && position != nodes.size()); }

  /// Ends the walk and puts the graph into a stream.
  bool run(driver::Stream stream, std::string &error);

private:
  struct Node {
    driver::GraphNode node = nullptr;
    int32_t step = 0;
    bool isCopy = false;
    uint32_t grid = 0;
    uint64_t to = 0, from = 0, bytes = 0; ///< of a copy
  };

  LaunchGraph() = default;
  bool good(driver::Code code, const char *what, std::string &error) const;
  /// The node that comes next in a walk behind the first; null: the walk is another.
  Node *next(int32_t step, bool isCopy);
  /// The nodes that a step waits for.
  std::vector<driver::GraphNode> waitsFor(int32_t step, bool isCopy) const;
  Node &add(int32_t step, bool isCopy);

  std::shared_ptr<DriverContext> context;
  std::vector<std::vector<uint32_t>> before;
  driver::Graph graph = nullptr;
  driver::GraphExec exec = nullptr;
  std::vector<Node> nodes;          ///< in the order of the walk
  std::vector<int32_t> lastOfSteps; ///< by number of a step: its last node, or -1
  size_t position = 0;              ///< of the walk
  bool other = false;
};

} // namespace tilewright::runtime

#endif

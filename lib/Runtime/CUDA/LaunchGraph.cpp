//===- LaunchGraph.cpp - the steps of a call as one CUDA graph ----------------------------===//
//
// Tests: test/Unit/Runtime/CUDA/GraphTest.cpp, test/Python/test_cuda_driver.py
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/CUDA/LaunchGraph.h"

namespace tilewright::runtime {
namespace {

driver::KernelNode kernelNode(const LaunchGraph::Kernel &kernel) {
  return {kernel.function, kernel.grid, 1, 1, kernel.threads, 1, 1, kernel.shared, kernel.parameters, nullptr};
}

driver::Copy3D copyNode(uint64_t to, uint64_t from, uint64_t bytes) {
  driver::Copy3D copy = {};
  copy.fromType = copy.toType = driver::kDeviceMemory;
  copy.fromDevice = from;
  copy.toDevice = to;
  copy.bytesOfRow = bytes;
  copy.rows = copy.planes = 1;
  return copy;
}
} // namespace

std::unique_ptr<LaunchGraph> LaunchGraph::create(std::shared_ptr<DriverContext> context,
                                                 std::vector<std::vector<uint32_t>> before, std::string &error) {
  std::unique_ptr<LaunchGraph> result(new LaunchGraph);
  result->context = std::move(context);
  result->before = std::move(before);
  result->lastOfSteps.assign(result->before.size(), -1);
  return result->good(result->context->api.createGraph(&result->graph, 0), "be made", error) ? std::move(result)
                                                                                             : nullptr;
}

LaunchGraph::~LaunchGraph() {
  if (!context->isOfThisProcess())
    return;
  if (exec)
    context->api.destroyGraphExec(exec); // a graph that is running is destroyed after its run
  if (graph)
    context->api.destroyGraph(graph);
}

bool LaunchGraph::good(driver::Code code, const char *what, std::string &error) const {
  if (code != 0)
    error = "a CUDA graph of " + std::to_string(nodes.size()) + " steps cannot " + what + " on " + context->describe() +
            ": " + context->api.explain(code);
  return code == 0;
}

LaunchGraph::Node *LaunchGraph::next(int32_t step, bool isCopy) {
  Node *node = position < nodes.size() ? &nodes[position] : nullptr;
  other |= !node || node->step != step || node->isCopy != isCopy;
  ++position;
  return other ? nullptr : node;
}

std::vector<driver::GraphNode> LaunchGraph::waitsFor(int32_t step, bool isCopy) const {
  std::vector<driver::GraphNode> result;
  // If the copy of a step is split into pieces, each piece waits for the previous piece.
  if (const int32_t own = lastOfSteps[size_t(step)]; isCopy && own >= 0)
    return {nodes[size_t(own)].node};
  for (uint32_t earlier : before[size_t(step)])
    if (const int32_t last = lastOfSteps[earlier]; last >= 0)
      result.push_back(nodes[size_t(last)].node);
    else // the earlier step is a copy without a node, so wait for its predecessors
      for (driver::GraphNode node : waitsFor(int32_t(earlier), false))
        result.push_back(node);
  return result;
}

LaunchGraph::Node &LaunchGraph::add(int32_t step, bool isCopy) {
  Node node;
  node.step = step;
  node.isCopy = isCopy;
  lastOfSteps[size_t(step)] = int32_t(nodes.size());
  return nodes.emplace_back(node);
}

bool LaunchGraph::launch(int32_t step, const Kernel &kernel, bool changed, std::string &error) {
  const driver::Api &api = context->api;
  const driver::KernelNode parameters = kernelNode(kernel);
  if (!exec) {
    const std::vector<driver::GraphNode> waits = waitsFor(step, false);
    Node &node = add(step, false);
    node.grid = kernel.grid;
    return good(api.addKernelNode(&node.node, graph, waits.data(), waits.size(), &parameters), "take a kernel", error);
  }
  Node *node = next(step, false);
  if (!node || (!changed && node->grid == kernel.grid))
    return true;
  node->grid = kernel.grid;
  return good(api.setKernelNode(exec, node->node, &parameters), "change a kernel", error);
}

bool LaunchGraph::copy(int32_t step, uint64_t to, uint64_t from, uint64_t bytes, std::string &error) {
  const driver::Api &api = context->api;
  const driver::Copy3D parameters = copyNode(to, from, bytes);
  if (!exec) {
    const std::vector<driver::GraphNode> waits = waitsFor(step, true);
    Node &node = add(step, true);
    node.to = to, node.from = from, node.bytes = bytes;
    return good(api.addCopyNode(&node.node, graph, waits.data(), waits.size(), &parameters, context->handle()),
                "take a copy", error);
  }
  Node *node = next(step, true);
  if (!node || (node->to == to && node->from == from && node->bytes == bytes))
    return true;
  node->to = to, node->from = from, node->bytes = bytes;
  return good(api.setCopyNode(exec, node->node, &parameters, context->handle()), "change a copy", error);
}

bool LaunchGraph::run(driver::Stream stream, std::string &error) {
  const driver::Api &api = context->api;
  if (!exec && !good(api.instantiateGraph(&exec, graph, 0), "be instantiated", error)) {
    exec = nullptr;
    return false;
  }
  position = 0;
  return nodes.empty() || good(api.launchGraph(exec, stream), "be launched", error);
}

} // namespace tilewright::runtime

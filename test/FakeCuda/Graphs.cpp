//===- Graphs.cpp - CUDA graph functions of the fake driver --------------------------------===//
//
// Signatures follow NVIDIA's "CUDA Driver API" reference, with version 1 of the kernel node parameters.
//
//===----------------------------------------------------------------------===//
#include "test/FakeCuda/Fake.h"

#include <algorithm>
#include <cstring>

using namespace fake;

namespace {
/// CUDA_KERNEL_NODE_PARAMS_v1
struct KernelNodeParameters {
  Function *function;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
};

/// The source or the destination of a CopyParameters.
struct CopySide {
  size_t x, y, z, level;
  uint32_t type;
  void *host;
  uint64_t device;
  void *array, *reserved;
  size_t pitch, height;
};
/// CUDA_MEMCPY3D_v2
struct CopyParameters {
  CopySide from, to;
  size_t width, height, depth;
};

Code kernelWork(Driver &driver, const KernelNodeParameters &kernel, Work &work) {
  return kernel.extra ? invalidValue
                      : driver.prepare(kernel.function, std::to_array(kernel.grid), std::to_array(kernel.block),
                                       kernel.shared, kernel.parameters, work);
}

/// Prepares a device-to-device copy of one row, the only kind that Tilewright uses. Returns an error for other copies.
Code copyWork(Driver &driver, const CopyParameters &copy, void *context, Work &work) {
  for (const CopySide &side : {copy.from, copy.to})
    if (side.x || side.y || side.z || side.level || side.type != 2 || side.reserved ||
        !onDevice(driver, side.device, copy.width))
      return invalidValue;
  const uint64_t to = copy.to.device, from = copy.from.device, bytes = copy.width;
  if (!bytes || copy.height != 1 || copy.depth != 1 || context != driver.current() ||
      (to < from + bytes && from < to + bytes))
    return invalidValue;
  work = [=] {
    std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return success;
  };
  return success;
}

Code add(Driver &driver, Graph *graph, GraphNode **node, GraphNode *const *before, size_t count, bool isCopy,
         Work work) {
  auto fresh = std::make_unique<GraphNode>();
  fresh->isCopy = isCopy;
  fresh->work = std::move(work);
  for (size_t i = 0; i < count; ++i) {
    if (std::none_of(graph->nodes.begin(), graph->nodes.end(), [&](auto &each) { return each.get() == before[i]; }) ||
        std::find(fresh->before.begin(), fresh->before.end(), before[i]) != fresh->before.end())
      return invalidValue;
    fresh->before.push_back(before[i]);
  }
  *node = fresh.get();
  graph->nodes.push_back(std::move(fresh));
  return success;
}

/// Returns an execution order: among the nodes that are ready, the one that was added last runs first.
std::vector<GraphNode *> lateOrder(const Graph &graph) {
  std::vector<GraphNode *> order;
  auto done = [&](GraphNode *node) { return std::find(order.begin(), order.end(), node) != order.end(); };
  while (order.size() < graph.nodes.size())
    for (size_t i = graph.nodes.size(); i-- > 0;)
      if (GraphNode *node = graph.nodes[i].get();
          !done(node) && std::all_of(node->before.begin(), node->before.end(), done)) {
        order.push_back(node);
        break;
      }
  return order;
}
} // namespace

ENTRY Code cuGraphCreate(Graph **graph, unsigned flags) {
  Call call("cuGraphCreate");
  if (call.code != success || flags)
    return call.code != success ? call.code : invalidValue;
  auto fresh = std::make_unique<Graph>();
  *graph = fresh.get();
  call.driver.graphs[*graph] = std::move(fresh);
  return success;
}

ENTRY Code cuGraphDestroy(Graph *graph) {
  Call call("cuGraphDestroy");
  return call.driver.graphs.erase(graph) ? success : invalidHandle;
}

ENTRY Code cuGraphAddKernelNode(GraphNode **node, Graph *graph, GraphNode *const *before, size_t count,
                                const KernelNodeParameters *kernel) {
  Call call("cuGraphAddKernelNode");
  if (call.code != success)
    return call.code;
  if (!call.driver.graphs.count(graph))
    return invalidHandle;
  Work work;
  Code code = kernelWork(call.driver, *kernel, work);
  return code != success ? code : add(call.driver, graph, node, before, count, false, std::move(work));
}

ENTRY Code cuGraphAddMemcpyNode(GraphNode **node, Graph *graph, GraphNode *const *before, size_t count,
                                const CopyParameters *copy, void *context) {
  Call call("cuGraphAddMemcpyNode");
  if (call.code != success)
    return call.code;
  if (!call.driver.graphs.count(graph))
    return invalidHandle;
  Work work;
  Code code = copyWork(call.driver, *copy, context, work);
  return code != success ? code : add(call.driver, graph, node, before, count, true, std::move(work));
}

ENTRY Code cuGraphInstantiateWithFlags(GraphExec **exec, Graph *graph, unsigned long long flags) {
  Call call("cuGraphInstantiateWithFlags");
  if (call.code != success)
    return call.code;
  if (!call.driver.graphs.count(graph) || flags)
    return invalidValue;
  auto fresh = std::make_unique<GraphExec>();
  fresh->of = graph;
  for (auto &node : graph->nodes)
    fresh->works[node.get()] = node->work;
  fresh->order = lateOrder(*graph);
  *exec = fresh.get();
  call.driver.execs[*exec] = std::move(fresh);
  return success;
}

ENTRY Code cuGraphExecDestroy(GraphExec *exec) {
  Call call("cuGraphExecDestroy");
  return call.driver.execs.erase(exec) ? success : invalidHandle;
}

ENTRY Code cuGraphExecKernelNodeSetParams(GraphExec *exec, GraphNode *node, const KernelNodeParameters *kernel) {
  Call call("cuGraphExecKernelNodeSetParams");
  if (call.code != success)
    return call.code;
  if (!call.driver.execs.count(exec) || !exec->works.count(node) || node->isCopy)
    return invalidHandle;
  return kernelWork(call.driver, *kernel, exec->works[node]);
}

ENTRY Code cuGraphExecMemcpyNodeSetParams(GraphExec *exec, GraphNode *node, const CopyParameters *copy, void *context) {
  Call call("cuGraphExecMemcpyNodeSetParams");
  if (call.code != success)
    return call.code;
  if (!call.driver.execs.count(exec) || !exec->works.count(node) || !node->isCopy)
    return invalidHandle;
  return copyWork(call.driver, *copy, context, exec->works[node]);
}

/// Copies the nodes' work, so that parameters that are set later do not change this launch.
ENTRY Code cuGraphLaunch(GraphExec *exec, void *stream) {
  Call call("cuGraphLaunch");
  if (call.code != success)
    return call.code;
  if (!call.driver.execs.count(exec))
    return invalidHandle;
  std::vector<Work> works;
  for (GraphNode *node : exec->order)
    works.push_back(exec->works[node]);
  call.driver.put(reinterpret_cast<uintptr_t>(stream), [works = std::move(works)] {
    for (const Work &work : works)
      if (Code code = work(); code != success)
        return code;
    return success;
  });
  return success;
}

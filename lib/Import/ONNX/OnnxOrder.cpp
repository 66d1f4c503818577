//===- OnnxOrder.cpp - topological order of nodes ------------------------------------===//
#include "lib/Import/ONNX/OnnxOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>

namespace tilewright {
namespace {

/// Calls `use` with the name of every value that `node` or a graph in its attributes reads.
void eachRead(const onnx::Node &node, llvm::function_ref<void(const std::string &)> use) {
  for (const std::string &input : node.inputs)
    if (!input.empty())
      use(input);
  for (const auto &[name, attribute] : node.attributes)
    if (attribute.graph) {
      for (const onnx::Node &inner : attribute.graph->nodes)
        eachRead(inner, use);
      for (const onnx::ValueInfo &output : attribute.graph->outputs)
        use(output.name);
    }
}

} // namespace

std::vector<const onnx::Node *> inOrderOfUse(const std::vector<onnx::Node> &nodes) {
  llvm::StringMap<size_t> producers;
  for (auto [i, node] : llvm::enumerate(nodes))
    for (const std::string &output : node.outputs)
      if (!output.empty())
        producers.try_emplace(output, i);
  std::vector<const onnx::Node *> order;
  enum : uint8_t { Waiting, Open, Done };
  std::vector<uint8_t> states(nodes.size(), Waiting);
  std::vector<std::pair<size_t, std::vector<size_t>>> stack; ///< nodes, and their producers still to be visited
  auto open = [&](size_t node) {
    states[node] = Open;
    std::vector<size_t> before;
    eachRead(nodes[node], [&](const std::string &name) {
      if (auto producer = producers.find(name); producer != producers.end() && states[producer->second] == Waiting)
        before.push_back(producer->second);
    });
    std::reverse(before.begin(), before.end());
    stack.push_back({node, std::move(before)});
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (states[i] == Waiting)
      open(i);
    while (!stack.empty()) {
      auto &[node, before] = stack.back();
      if (!before.empty()) {
        const size_t next = before.back();
        before.pop_back();
        if (states[next] == Waiting)
          open(next);
        continue;
      }
      states[node] = Done;
      order.push_back(&nodes[node]);
      stack.pop_back();
    }
  }
  return order;
}

} // namespace tilewright

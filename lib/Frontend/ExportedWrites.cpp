//===- ExportedWrites.cpp - ops in place, as plain exports have them ---------------------===//
//
//   %c = conv2d(%x, ...)       memory 0: c
//   %r = relu_(%c)             memory 0: c, r        both are relu(c) from here on
//   %v = view(%r, ...)         memory 0 is shared, so is v
//   %s = sigmoid_(%v)          refused: %r would have to change, too
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/ExportedWrites.h"
#include "llvm/ADT/Twine.h"

namespace tilewright {

using exported::Argument;

/// The name of an op without namespace and overload: "relu_" of "aten.relu_.default".
static llvm::StringRef baseName(llvm::StringRef target) { return target.split('.').second.split('.').first; }

/// Ops whose results lie in memory of their own, whatever their arguments are.
static constexpr llvm::StringLiteral memoryMakers =
    " abs adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d add addmm amax arange avg_pool2d "
    "batch_norm bmm cat clamp clone conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d convolution cos div elu embedding erf exp full full_like gelu group_norm "
    "hardsigmoid hardswish hardtanh layer_norm leaky_relu linear log log_softmax masked_fill matmul "
    "max_pool2d max_pool3d mean mm mul neg ones ones_like pow relu rms_norm rsqrt "
    "scaled_dot_product_attention sigmoid silu sin softmax sqrt stack sub sum tanh where zeros zeros_like ";

static bool makesMemory(llvm::StringRef target) {
  return target.starts_with("aten.") && memoryMakers.contains((" " + baseName(target) + " ").str());
}

std::string ExportedWrites::functional(llvm::StringRef target) {
  llvm::StringRef name = baseName(target);
  if (!target.starts_with("aten.") || !name.ends_with("_") || name.starts_with("_"))
    return "";
  return ("aten." + name.drop_back() + target.drop_front(5 + name.size())).str();
}

std::string ExportedWrites::problem(const exported::Node &node) const {
  const auto *self = node.positional.empty() ? nullptr : std::get_if<exported::TensorName>(&node.positional[0]);
  auto memory = self ? memoryOf.find(self->name) : memoryOf.end();
  if (memory == memoryOf.end())
    return "it writes an input or a weight in place, and a compiled model keeps no state between calls";
  if (memories[memory->second].shared)
    return "it writes in place what other tensors may be views of";
  if (node.results.size() != 1 || !std::holds_alternative<exported::TensorName>(node.results[0]))
    return "it writes in place, and gives something else than what it wrote";
  return "";
}

llvm::SmallVector<std::string> ExportedWrites::written(const exported::Node &node) {
  const size_t memory = memoryOf.at(std::get<exported::TensorName>(node.positional[0]).name);
  const std::string &result = std::get<exported::TensorName>(node.results[0]).name;
  memoryOf[result] = memory;
  memories[memory].names.push_back(result);
  return memories[memory].names;
}

void ExportedWrites::see(const exported::Node &node) {
  const bool own = makesMemory(node.target);
  auto share = [&](const std::string &name) {
    if (auto memory = memoryOf.find(name); memory != memoryOf.end())
      memories[memory->second].shared = true;
  };
  if (!own) {
    for (const Argument &argument : node.positional)
      exported::visitTensors(argument, share);
    for (const auto &[name, argument] : node.named)
      exported::visitTensors(argument, share);
  }
  for (const Argument &result : node.results)
    exported::visitTensors(result, [&](const std::string &name) {
      memoryOf[name] = memories.size();
      memories.push_back({{name}, !own});
    });
}

} // namespace tilewright

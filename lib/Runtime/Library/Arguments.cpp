//===- Arguments.cpp - check a caller's tensors against the model's signature ---===//
#include "lib/Runtime/Library/Model.h"

#include <algorithm>
#include <cstdint>

using namespace tilewright;
using namespace tilewright::library;

namespace {

std::string textOf(const int64_t *sizes, int32_t rank) {
  std::string text = "[";
  for (int32_t dim = 0; dim < rank; ++dim)
    text += (dim ? ", " : "") + std::to_string(sizes[dim]);
  return text + "]";
}

std::string nameOf(const char *what, size_t i, const Tensor &tensor) {
  return std::string(what) + " " + std::to_string(i) + " (" + tensor.name + ")";
}

/// Returns the bytes of a dense tensor, or -1 if they exceed 63 bits.
int64_t bytesOf(const CallerTensor &tensor) {
  int64_t bytes = dtypes[tensor.dtype].bytes;
  for (int32_t dim = 0; dim < tensor.rank; ++dim)
    if (__builtin_mul_overflow(bytes, tensor.sizes[dim], &bytes))
      return -1;
  return bytes;
}

/// Returns true if the tensor is empty or contiguous in row-major order. Strides of dimensions of size 1 are ignored.
bool isDense(const CallerTensor &tensor) {
  bool dense = true;
  int64_t expected = 1;
  for (int32_t dim = tensor.rank - 1; dim >= 0; --dim) {
    if (tensor.sizes[dim] == 0)
      return true;
    dense &= tensor.sizes[dim] == 1 || tensor.strides[dim] == expected;
    expected *= tensor.sizes[dim];
  }
  return dense;
}

} // namespace

bool tilewright_model::checkInput(size_t i, const CallerTensor &tensor) {
  const Tensor &info = description.inputs[i];
  auto wrong = [&](const std::string &what) {
    return fail(nameOf("input", i, info) + " " + what + "; expected " + info.text);
  };
  if (tensor.dtype < 0 || tensor.dtype >= numDTypes)
    return wrong("has the unknown dtype " + std::to_string(tensor.dtype));
  if (tensor.dtype != info.dtype)
    return wrong("is of " + std::string(dtypes[tensor.dtype].name));
  if (tensor.rank != info.rank)
    return wrong("has " + std::to_string(tensor.rank) + " dimensions");
  for (int32_t dim = 0; dim < tensor.rank; ++dim)
    if (tensor.sizes[dim] < 0)
      return wrong("has the negative size " + std::to_string(tensor.sizes[dim]) + " in dimension " +
                   std::to_string(dim));
  return true;
}

/// Solves the linear `expr` for `symbol`, given the size of dimension `dim` of input `i`, and checks the symbol's
/// range. If there is no exact solution, rounds down, so that the later comparison of sizes fails.
bool tilewright_model::findSymbol(size_t symbol, const plan::Expr &expr, size_t i, size_t dim, int64_t size) {
  std::string problem;
  symbols[symbol] = 0;
  const int64_t atZero = plan::evaluate(expr, symbols.data(), problem);
  symbols[symbol] = 1;
  const int64_t atOne = plan::evaluate(expr, symbols.data(), problem);
  int64_t slope = 0, rest = 0;
  const bool solvable = problem.empty() && !__builtin_sub_overflow(atOne, atZero, &slope) && slope > 0 &&
                        !__builtin_sub_overflow(size, atZero, &rest);
  symbols[symbol] = solvable ? (rest < 0 ? -1 : rest / slope) : 0;
  const plan::Symbol &range = plan.symbols[symbol];
  if (symbols[symbol] >= range.min && symbols[symbol] <= range.max)
    return true;
  return fail(nameOf("input", i, description.inputs[i]) + " has the size " + std::to_string(size) + " in dimension " +
              std::to_string(dim) + "; expected " + description.inputs[i].text + ", where " + range.name + " is " +
              std::to_string(range.min) + (range.max == INT64_MAX ? " or more" : " to " + std::to_string(range.max)));
}

/// Computes the symbols' values, first from sizes that consist of a symbol only, then from linear expressions of one
/// symbol.
bool tilewright_model::findSymbols(const CallerTensor *inputs) {
  std::vector<bool> known(symbols.size(), false);
  for (bool bare : {true, false})
    for (size_t i = 0; i < description.numInputs; ++i)
      for (size_t dim = 0; dim < inputSizes[i].size(); ++dim) {
        const plan::Expr &expr = inputSizes[i][dim];
        const int64_t symbol = plan::linearSymbol(expr);
        if (symbol < 0 || known[size_t(symbol)] || bare != (expr.items.size() == 1))
          continue;
        known[size_t(symbol)] = true;
        if (!findSymbol(size_t(symbol), expr, i, dim, inputs[i].sizes[dim]))
          return false;
      }
  return true;
}

bool tilewright_model::expectedSizes(size_t i, bool output, int64_t *sizes) {
  const Sizes &exprs = output ? outputSizes[i] : inputSizes[i];
  const Tensor &info = output ? description.outputs[i] : description.inputs[i];
  for (size_t dim = 0; dim < exprs.size(); ++dim) {
    std::string problem;
    sizes[dim] = plan::evaluate(exprs[dim], symbols.data(), problem);
    if (!problem.empty() || sizes[dim] < 0)
      return fail(nameOf(output ? "output" : "input", i, info) + ", " + info.text + ", has no size in dimension " +
                  std::to_string(dim) + " for these inputs: " + (problem.empty() ? "it is negative" : problem));
  }
  return true;
}

/// Checks the dtypes and ranks of the inputs, computes the values of the symbols, compares all sizes with them, and
/// checks the size guards.
bool tilewright_model::checkSizes(const CallerTensor *inputs) {
  if (!inputs && description.numInputs != 0)
    return fail("the model has " + std::to_string(description.numInputs) +
                " inputs, but the list of inputs is a null pointer");
  for (size_t i = 0; i < description.numInputs; ++i)
    if (!checkInput(i, inputs[i]))
      return false;
  if (!findSymbols(inputs))
    return false;
  for (size_t i = 0; i < description.numInputs; ++i) {
    int64_t expected[maxRank];
    if (!expectedSizes(i, false, expected))
      return false;
    for (int32_t dim = 0; dim < inputs[i].rank; ++dim)
      if (inputs[i].sizes[dim] != expected[dim])
        return fail(nameOf("input", i, description.inputs[i]) + " has sizes " +
                    textOf(inputs[i].sizes, inputs[i].rank) + "; expected " + description.inputs[i].text + ", here " +
                    textOf(expected, inputs[i].rank));
  }
  // If a frame is cached for these symbols, an earlier call has already checked the guards.
  auto isOfCall = [&](const auto &frame) { return frame->symbols == symbols; };
  if (plan.guards.empty() || std::any_of(frames.begin(), frames.end(), isOfCall))
    return true;
  std::string broken = plan::brokenGuard(plan, symbols.data());
  return broken.empty() || fail(std::move(broken));
}

bool tilewright_model::checkMemory(size_t i, bool output, const CallerTensor &tensor) {
  const Tensor &info = output ? description.outputs[i] : description.inputs[i];
  auto wrong = [&](const std::string &what) {
    return fail(nameOf(output ? "output" : "input", i, info) + ", " + info.text + ", " + what);
  };
  const int64_t bytes = bytesOf(tensor);
  if (bytes < 0)
    return wrong("is larger than the address space: " + textOf(tensor.sizes, tensor.rank));
  if (!tensor.data && bytes != 0)
    return wrong("is a null pointer, but it is not empty");
  if (reinterpret_cast<uintptr_t>(tensor.data) % uintptr_t(dtypes[tensor.dtype].bytes) != 0)
    return wrong("begins at an address that is not a multiple of its elements' " +
                 std::to_string(dtypes[tensor.dtype].bytes) + " bytes");
  if (tensor.strides && !isDense(tensor))
    return wrong("has strides " + textOf(tensor.strides, tensor.rank) + " for sizes " +
                 textOf(tensor.sizes, tensor.rank) + ", but must be dense in row-major order; copy it");
  return true;
}

bool tilewright_model::checkOutput(size_t i, const CallerTensor &tensor) {
  const Tensor &info = description.outputs[i];
  int64_t expected[maxRank];
  if (!expectedSizes(i, true, expected))
    return false;
  bool right = tensor.dtype == info.dtype && tensor.rank == info.rank;
  for (int32_t dim = 0; right && dim < info.rank; ++dim)
    right = tensor.sizes[dim] == expected[dim];
  if (!right)
    return fail(nameOf("output", i, info) + " must be " + info.text + ", for these inputs " +
                textOf(expected, info.rank) + "; the shape function fills that in");
  return checkMemory(i, true, tensor);
}

/// Checks that results overlap no other tensor: kernels may read an input after they have begun to write a result.
bool tilewright_model::checkOverlap(const CallerTensor *inputs, const CallerTensor *outputs) {
  auto overlap = [](const CallerTensor &a, const CallerTensor &b) {
    const auto x = reinterpret_cast<uintptr_t>(a.data), y = reinterpret_cast<uintptr_t>(b.data);
    return x < y + uintptr_t(bytesOf(b)) && y < x + uintptr_t(bytesOf(a)) && bytesOf(a) != 0 && bytesOf(b) != 0;
  };
  for (size_t i = 0; i < description.numOutputs; ++i) {
    const std::string name = nameOf("output", i, description.outputs[i]);
    for (size_t k = 0; k < description.numInputs; ++k)
      if (overlap(outputs[i], inputs[k]))
        return fail(name + " overlaps " + nameOf("input", k, description.inputs[k]) + "; use separate memory for it");
    for (size_t k = 0; k < i; ++k)
      if (overlap(outputs[i], outputs[k]))
        return fail(name + " overlaps " + nameOf("output", k, description.outputs[k]) + "; use separate memory for it");
  }
  return true;
}

bool tilewright_model::shape(const CallerTensor *inputs, CallerTensor *outputs) {
  if (!checkSizes(inputs))
    return false;
  if (!outputs && description.numOutputs != 0)
    return fail("the list of outputs is a null pointer");
  for (size_t i = 0; i < description.numOutputs; ++i) {
    outputs[i].dtype = description.outputs[i].dtype;
    outputs[i].rank = description.outputs[i].rank;
    if (!expectedSizes(i, true, outputs[i].sizes))
      return false;
  }
  return true;
}

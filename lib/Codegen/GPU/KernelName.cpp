//===- KernelName.cpp - names of kernels for profilers ----------------------------------===//
//
// Test: test/Codegen/NVPTX/kernel-names.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/KernelName.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The maximum length of a name. Longer names would not fit the columns of profilers.
constexpr size_t longest = 60;

std::string textOf(int64_t size) { return ShapedType::isDynamic(size) ? "n" : std::to_string(size); }

/// Returns the batches, rows, columns and terms of products that have the same number of rows and terms. The columns
/// are those of all products.
std::string sizesOf(MutableArrayRef<Contraction> products) {
  Contraction &first = products.front();
  std::string text;
  if (const int64_t batches = first.sizeOf(first.batches); batches != 1)
    text = textOf(batches) + "x";
  int64_t columns = first.sizeOf(first.columns) * first.numProducts();
  for (Contraction &other : products.drop_front())
    columns += other.sizeOf(other.columns) * other.numProducts();
  return text + textOf(first.sizeOf(first.rows)) + "x" + textOf(columns) + "x" + textOf(first.sizeOf(first.depth));
}

std::string sizesOfLargestResult(func::FuncOp kernel) {
  RankedTensorType largest;
  // A symbolic size is assumed to be large.
  auto elements = [](RankedTensorType type) {
    double count = 1;
    for (int64_t size : type.getShape())
      count *= ShapedType::isDynamic(size) ? 1024. : double(size);
    return count;
  };
  for (Type type : kernel.getResultTypes())
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      if (!largest || elements(ranked) > elements(largest))
        largest = ranked;
  if (!largest || largest.getRank() == 0)
    return "scalar";
  return llvm::join(llvm::map_range(largest.getShape(), textOf), "x");
}

/// Returns the parts of a kernel's name without its number: "matmul", "to", "16" for "matmul_6_to_16".
SmallVector<StringRef> partsOfName(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '_');
  auto number =
      std::find_if(parts.begin() + 1, parts.end(), [](StringRef part) { return llvm::all_of(part, llvm::isDigit); });
  if (number != parts.end())
    parts.erase(number);
  return parts;
}
} // namespace

std::string speakingName(func::FuncOp kernel) {
  std::string reason;
  SmallVector<Contraction, 1> products = matchContractions(kernel, reason);
  const std::string sizes = products.empty() ? sizesOfLargestResult(kernel) : sizesOf(products);
  std::string name;
  for (StringRef part : partsOfName(kernel.getName())) {
    if (!name.empty() && name.size() + part.size() + sizes.size() + 2 > longest)
      break;
    name += (name.empty() ? "" : "_") + part.str();
  }
  return name + "_" + sizes;
}

} // namespace tilewright::gpu

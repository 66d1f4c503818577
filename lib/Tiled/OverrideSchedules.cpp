//===- OverrideSchedules.cpp - the user's schedules replace the chosen ones ---===//
//
// The file (option schedule_file):
//   { "kernel_0": {"tiles": [64, 48]},          // a kernel's name, or its ops as the report and dumps show them
//     "layer_norm*": {"tiles": [4]} }            // or a pattern over its ops, which may match any number of kernels
// Before:  func @kernel_0(...) attributes {tw.schedule = {tiles = array<i64: 32, 48>}}
// After:   func @kernel_0(...) attributes {tw.schedule = {tiles = array<i64: 64, 48>}}
//
// Only sizes that a kernel leaves open may change: not the panel that a contraction's operand is packed in. What cannot
// be obeyed is an error that names the file, the entry and the kernels there are.
//
// Test: test/Tiled/override-schedules.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "lib/Tiled/NamedKernels.h"
#include "tilewright/Passes.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_OVERRIDESCHEDULES
#include "tilewright/Passes.h.inc"
namespace tiled {
using namespace tile;
namespace {

/// A row of tiles whose size is free, in multiples of `unit`.
struct OpenRow {
  int64_t row, unit;
};

/// The rows of `kernel` whose tile size is the user's to choose; no value: all of them.
std::optional<SmallVector<OpenRow>> openRows(func::FuncOp kernel) {
  SmallVector<Operation *> members;
  for (Operation &op : kernel.getBody().front())
    if ((isa<linalg::LinalgOp>(op) && !isa<linalg::FillOp>(op)) || op.getName().getDialectNamespace() == "tw_tile")
      members.push_back(&op);
  std::string reason;
  std::optional<RowMap> rows;
  for (Operation *member : members) {
    if (isa<PackOp, AttentionGradientOp>(member))
      return SmallVector<OpenRow>{};
    if (isa<AttentionOp>(member))
      return SmallVector<OpenRow>{{2, 1}};
    if (!isa<MatmulOp, ConvolutionOp>(member))
      continue;
    if (!rows && !(rows = computeRows(members, reason)))
      return SmallVector<OpenRow>{};
    // The rows of a matrix, the lines of an image; columns or filters in whole panels.
    ArrayRef<int64_t> rowOfLoop = rows->rowOfLoop[member];
    if (auto matmul = dyn_cast<MatmulOp>(member)) {
      int64_t loops = numLoops(member);
      return SmallVector<OpenRow>{{rowOfLoop[loops - 2], 1}, {rowOfLoop[loops - 1], int64_t(matmul.getPanel())}};
    }
    return SmallVector<OpenRow>{{rowOfLoop[1], 1}, {rowOfLoop[3], int64_t(cast<ConvolutionOp>(member).getPanel())}};
  }
  return std::nullopt;
}

class Overrides {
public:
  Overrides(ModuleOp module, StringRef file) : module(module), file(file), kernels(module) {}

  LogicalResult run() {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return fail("cannot be read: " + buffer.getError().message());
    llvm::Expected<llvm::json::Value> value = llvm::json::parse((*buffer)->getBuffer());
    if (!value)
      return fail("is not JSON: " + llvm::toString(value.takeError()));
    auto *entries = value->getAsObject();
    if (!entries)
      return fail("must hold an object, such as {\"kernel_0\": {\"tiles\": [64, 48]}}");
    // Patterns first, so that an entry of a kernel's own name has the last word.
    for (bool patterns : {true, false})
      for (auto &[key, entry] : *entries)
        if (isPattern(key) == patterns && failed(apply(key, entry)))
          return failure();
    return success();
  }

private:
  LogicalResult fail(const Twine &text) {
    return emitError(UnknownLoc::get(module.getContext())) << "schedule file '" << file << "' " << text;
  }

  LogicalResult apply(StringRef key, const llvm::json::Value &entry) {
    auto *object = entry.getAsObject();
    const llvm::json::Array *list = object && object->size() == 1 ? object->getArray("tiles") : nullptr;
    SmallVector<int64_t> tiles;
    for (const llvm::json::Value &number : list ? *list : llvm::json::Array())
      if (std::optional<int64_t> size = number.getAsInteger(); size && *size >= 0)
        tiles.push_back(*size);
    if (!list || tiles.size() != list->size())
      return fail("says of '" + key + "' something else than {\"tiles\": [sizes, 0 for a whole dimension]}");
    llvm::Expected<SmallVector<func::FuncOp>> found = kernels.find(key);
    if (!found)
      return fail("has the pattern '" + key + "': " + llvm::toString(found.takeError()));
    for (func::FuncOp kernel : *found)
      if (failed(replace(key, kernel, tiles)))
        return failure();
    if (!found->empty() || isPattern(key))
      return success();
    return fail("names '" + key + "', but the graph's kernels are " + kernels.list());
  }

  LogicalResult replace(StringRef key, func::FuncOp kernel, ArrayRef<int64_t> tiles) {
    auto schedule = kernel->getAttrOfType<DictionaryAttr>("tw.schedule");
    ArrayRef<int64_t> chosen = schedule.getAs<DenseI64ArrayAttr>("tiles").asArrayRef();
    auto told = [&](const Twine &text) {
      std::string sizes;
      for (int64_t size : chosen)
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
      return fail("entry '" + key + "' does not fit " + kernel.getName() + " (" + opsOf(kernel) +
                  "), whose tiles are [" + sizes + "] by default: " + text);
    };
    if (tiles.size() != chosen.size())
      return told("it has " + Twine(tiles.size()) + " sizes");
    std::optional<SmallVector<OpenRow>> open = openRows(kernel);
    for (auto [row, size] : llvm::enumerate(tiles)) {
      if (!open || size == chosen[row])
        continue;
      const OpenRow *found = llvm::find_if(*open, [&](const OpenRow &entry) { return entry.row == int64_t(row); });
      if (found == open->end())
        return told("size " + Twine(row) + " is not free; it follows from the layout of the operands");
      if (size % found->unit != 0)
        return told("size " + Twine(row) + " is not a multiple of " + Twine(found->unit) +
                    ", the width of the operand's panels");
    }
    Builder builder(kernel.getContext());
    kernel->setAttr("tw.schedule",
                    builder.getDictionaryAttr({builder.getNamedAttr("tiles", builder.getDenseI64ArrayAttr(tiles))}));
    return success();
  }

  ModuleOp module;
  StringRef file;
  NamedKernels kernels;
};

struct OverrideSchedules : impl::OverrideSchedulesBase<OverrideSchedules> {
  using OverrideSchedulesBase::OverrideSchedulesBase;
  void runOnOperation() override {
    if (!file.empty() && failed(Overrides(getOperation(), file).run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace tiled
} // namespace tilewright

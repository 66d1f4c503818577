//===- OverrideSchedules.cpp - replaces schedules by those of a file ----------===//
//
// The file (option schedule_file):
//   { "matmul_add_0": {"tiles": [64, 48]},     // a kernel's name, or its ops as the report and dumps show them
//     "layer_norm*": {"tiles": [4]},           // or a pattern over its ops, which may match any number of kernels
//     "matmul_1": {"tiles": [64, 96], "order": 1, "k_block": 256} }   // with knobs, as `tilewright tune --list` has
//     them
// Before:  func @kernel_0(...) attributes {tw.schedule = {tiles = array<i64: 32, 48>}}
// After:   func @kernel_0(...) attributes {tw.schedule = {tiles = array<i64: 64, 48>}}
//
// The file may set only tile sizes that the kernel allows: the panel width of a contraction's packed operand is fixed.
// If an entry cannot be applied, the error contains the file, the entry and the available kernels. KnobAttrs.h lists
// the knobs.
//
// Test: test/Codegen/CPU/Schedule/override-schedules.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/NamedKernels.h"
#include "lib/Codegen/CPU/Schedule/KernelShapes.h"
#include "lib/Codegen/CPU/Schedule/KnobAttrs.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_OVERRIDESCHEDULES
#include "tilewright/Passes.h.inc"
namespace tiled {
using namespace tile;
namespace {

class Overrides {
public:
  Overrides(ModuleOp module, StringRef file) : module(module), file(file), kernels(module) {}

  LogicalResult run() {
    auto entries = tile::readScheduleFile(file);
    if (!entries)
      return fail(llvm::toString(entries.takeError()));
    for (const auto &[key, entry] : *entries)
      if (failed(apply(key, entry)))
        return failure();
    return success();
  }

private:
  LogicalResult fail(const Twine &text) {
    return emitError(UnknownLoc::get(module.getContext())) << "schedule file '" << file << "' " << text;
  }

  LogicalResult apply(StringRef key, const llvm::json::Value &entry) {
    auto *object = entry.getAsObject();
    const llvm::json::Array *list = object ? object->getArray("tiles") : nullptr;
    SmallVector<int64_t> tiles;
    for (const llvm::json::Value &number : list ? *list : llvm::json::Array())
      if (std::optional<int64_t> size = number.getAsInteger(); size && *size >= 0)
        tiles.push_back(*size);
    bool good = list && tiles.size() == list->size();
    SmallVector<std::pair<StringRef, int64_t>> knobs;
    if (good)
      for (const auto &[name, value] : *object) {
        if (StringRef(name) == "tiles")
          continue;
        std::optional<int64_t> number = value.getAsInteger();
        const KnobAttr *knob = findKnobAttr(name);
        good &= number && knob;
        if (number && knob && (*number < knob->least || *number > knob->most))
          return fail("sets " + StringRef(name) + " of '" + key + "' to " + Twine(*number) + "; its range is " +
                      Twine(knob->least) + " to " + Twine(knob->most) + " (" + knob->meaning + ")");
        if (good)
          knobs.push_back({knob->name, *number});
      }
    if (!good)
      return fail("has an entry '" + key + "' that is not of the form {\"tiles\": [sizes, 0 for a whole dimension]}, " +
                  "optionally with the knobs " + knobNames());
    llvm::Expected<SmallVector<func::FuncOp>> found = kernels.find(key);
    if (!found)
      return fail("has the pattern '" + key + "': " + llvm::toString(found.takeError()));
    for (func::FuncOp kernel : *found)
      if (failed(replace(key, kernel, tiles, knobs)))
        return failure();
    if (!found->empty() || isPattern(key))
      return success();
    return fail("names '" + key + "', but the graph's kernels are " + kernels.list());
  }

  LogicalResult replace(StringRef key, func::FuncOp kernel, ArrayRef<int64_t> tiles,
                        ArrayRef<std::pair<StringRef, int64_t>> knobs) {
    auto schedule = kernel->getAttrOfType<DictionaryAttr>(scheduleAttrName);
    ArrayRef<int64_t> chosen = schedule.getAs<DenseI64ArrayAttr>("tiles").asArrayRef();
    auto reject = [&](const Twine &text) {
      std::string sizes;
      for (int64_t size : chosen)
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
      return fail("entry '" + key + "' does not fit " + kernel.getName() + " (" + opsOf(kernel) +
                  "), whose tiles are [" + sizes + "] by default: " + text);
    };
    if (tiles.size() != chosen.size())
      return reject("it has " + Twine(tiles.size()) + " sizes");
    std::optional<SmallVector<OpenRow>> open = openRows(kernel);
    for (auto [row, size] : llvm::enumerate(tiles)) {
      if (!open || size == chosen[row])
        continue;
      const OpenRow *found = llvm::find_if(*open, [&](const OpenRow &entry) { return entry.row == int64_t(row); });
      if (found == open->end())
        return reject("size " + Twine(row) + " is not free; it follows from the layout of the operands");
      if (size % found->unit != 0)
        return reject("size " + Twine(row) + " is not a multiple of " + Twine(found->unit) +
                      ", the width of the operand's panels");
    }
    Builder builder(kernel.getContext());
    SmallVector<NamedAttribute> attributes{builder.getNamedAttr("tiles", builder.getDenseI64ArrayAttr(tiles))};
    for (auto [name, value] : knobs)
      attributes.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
    kernel->setAttr(scheduleAttrName, builder.getDictionaryAttr(attributes));
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

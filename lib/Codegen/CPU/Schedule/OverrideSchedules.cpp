//===- OverrideSchedules.cpp - replaces schedules by those of a file ----------===//
//
// The file (option schedule_file):
//   { "matmul_add_0": {"tiles": [64, 48]},     // a kernel's name, or its ops as the report and dumps show them
//     "layer_norm*": {"tiles": [4]},           // or a pattern over its ops, which may match any number of kernels
//     "matmul_1": {"tiles": [64, 96], "order": 1, "k_block": 256} }   // with knobs of `tilewright tune --list`
// Before:  func @matmul_add_0(...) attributes {tw.schedule = #tw_cpu.schedule<tiles = [32, 48]>}
// After:   func @matmul_add_0(...) attributes {tw.schedule = #tw_cpu.schedule<tiles = [64, 48]>}
//
// The file may set only tile sizes that the kernel allows (openRows()). For example, the tile size of a product's
// columns must be a multiple of the panel width of the packed operand, which is fixed. If an entry cannot be applied,
// the error contains the file, the entry and the reason. If no kernel has the name in the entry, the error lists the
// graph's kernels. dialects/Schedule/CpuSchedule.cpp lists the knobs. A knob that the entry does not contain is not
// changed.
//
// Test: test/Codegen/CPU/Schedule/override-schedules.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Schedule/NamedKernels.h"
#include "lib/Codegen/CPU/Schedule/KernelShapes.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_OVERRIDESCHEDULES
#include "tilewright/Passes.h.inc"
namespace tiled {
using namespace tile;
using namespace schedule;
namespace {

class Overrides {
public:
  Overrides(ModuleOp module, StringRef file) : module(module), file(file), kernels(module) {}

  LogicalResult run() {
    auto entries = readScheduleFile(file);
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
    SmallVector<std::pair<std::string, int64_t>> knobs;
    if (good)
      for (const auto &[name, value] : *object) {
        if (StringRef(name) == "tiles")
          continue;
        std::optional<int64_t> number = value.getAsInteger();
        const CpuKnob *knob = findCpuKnob(name);
        good &= number && knob;
        if (number && knob && (*number < knob->least || *number > knob->most))
          return fail("sets " + StringRef(name) + " of '" + key + "' to " + Twine(*number) + "; its range is " +
                      Twine(knob->least) + " to " + Twine(knob->most) + " (" + knob->meaning + ")");
        if (good)
          knobs.push_back({knob->name.str(), *number});
      }
    if (!good)
      return fail("has an entry '" + key + "' that is not of the form {\"tiles\": [sizes, 0 for a whole dimension]}, " +
                  "optionally with the knobs " +
                  llvm::join(llvm::map_range(cpuKnobs(), [](const CpuKnob &knob) { return knob.name; }), ", "));
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

  LogicalResult replace(StringRef key, func::FuncOp kernel, ArrayRef<int64_t> tiles, KnobValues knobs) {
    auto selected = dyn_cast<CpuScheduleAttr>(kernel->getAttr(scheduleAttrName));
    if (!selected)
      return fail("has the entry '" + key + "' for " + kernel.getName() + ", which has no #tw_cpu.schedule");
    ArrayRef<int64_t> chosen = selected.getTiles();
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
        return reject("size " + Twine(row) + " cannot be changed, because it follows from the layout of the operands");
      if (size % found->unit != 0)
        return reject("size " + Twine(row) + " is not a multiple of " + Twine(found->unit) +
                      ", the width of the operand's panels");
    }
    kernel->setAttr(scheduleAttrName, selected.withTiles(tiles).withKnobs(knobs));
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

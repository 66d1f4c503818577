//===- OverrideCudaSchedules.cpp - replaces schedules by the user's -------===//
//
// The file (option schedule_file) may contain the knobs that `tilewright tune --list --target=cuda` prints. Knobs that
// an entry does not contain are not changed:
//   { "matmul_0": {"warp_m": 32, "warp_n": 64, "warps_m": 4, "warps_n": 2, "k": 32, "stages": 3},
//     "matmul*": {"k": 64} }
// Before:  func @matmul_0(...) attributes {tw.schedule = #tw_gpu.schedule<kind = mma, block = [64, 64, 32], ...>}
// After:   func @matmul_0(...) attributes {tw.schedule = #tw_gpu.schedule<kind = mma, block = [128, 128, 32], ...>}
//
// For wgmma, an entry with `cluster` or `tiles_per_block` sets `split_k` to 1 unless it contains it, because `split_k`
// excludes them.
//
// For attention, `consumers` also selects the instructions: wgmma (1 or 2 warp groups) or mma.sync (0). The other knobs
// of wgmma and mma.sync differ:
//   { "attention*": {"consumers": 0, "warps": 2} }
//
// If an entry cannot be applied, the error contains the file, the entry and the reason.
//
// Tests: test/Codegen/GPU/Schedule/select-schedule.mlir, test/Codegen/GPU/Schedule/product-space.mlir,
// test/Codegen/NVPTX/attention-wgmma.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/NamedKernels.h"
#include "lib/Codegen/GPU/Schedule/KernelSpace.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupGradient.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_OVERRIDECUDASCHEDULES
#include "tilewright/Passes.h.inc"
namespace gpu {
namespace {

/// Selects attention with `consumers` consumer warp groups, or with mma.sync if it is 0. Returns the reason if this
/// schedule cannot be emitted.
std::string chooseConsumers(std::optional<int64_t> consumers, func::FuncOp kernel, const Arch &arch,
                            Schedule &schedule) {
  std::string reason;
  const std::optional<Attention> attention = matchAttention(kernel, reason);
  const std::optional<AttentionGradient> gradient = matchAttentionGradient(kernel, reason);
  if (!consumers || *consumers < 0 || *consumers > 2)
    return "consumers must be 1 or 2 for the consumer warp groups of wgmma, or 0 for mma.sync";
  if (*consumers == 0) {
    schedule = attention ? chooseAttention(*attention) : chooseAttentionGradient(*gradient);
    return attention ? whyNotAttention(schedule, *attention) : whyNotAttentionGradient(schedule, *gradient);
  }
  if (arch.groupFlops == 0)
    return arch.name.str() + " has no wgmma, so consumers must be 0";
  if (gradient) {
    schedule = chooseWarpGroupGradient(*gradient, arch.sharedBytes, *consumers);
    return whyNotWarpGroupGradient(schedule, *gradient, arch.sharedBytes);
  }
  schedule = chooseWarpGroupAttention(*attention, arch.sharedBytes, *consumers);
  return whyNotWarpGroupAttention(schedule, *attention, arch.sharedBytes);
}

struct OverrideCudaSchedules : impl::OverrideCudaSchedulesBase<OverrideCudaSchedules> {
  using Base::Base;

  void runOnOperation() override {
    if (!file.empty() && failed(overrideAll()))
      signalPassFailure();
  }

private:
  LogicalResult fail(const Twine &text) {
    return emitError(UnknownLoc::get(&getContext())) << "schedule file '" << file << "' " << text;
  }

  LogicalResult overrideAll() {
    auto entries = schedule::readScheduleFile(file);
    if (!entries)
      return fail(llvm::toString(entries.takeError()));
    schedule::NamedKernels kernels(getOperation());
    for (const auto &[key, entry] : *entries) {
      llvm::Expected<SmallVector<func::FuncOp>> found = kernels.find(key);
      if (!found)
        return fail("has the pattern '" + key + "': " + llvm::toString(found.takeError()));
      if (found->empty() && !schedule::isPattern(key))
        return fail("names '" + key + "', but the graph's kernels are " + kernels.list());
      for (func::FuncOp kernel : *found)
        if (failed(override(key, entry, kernel)))
          return failure();
    }
    return success();
  }

  LogicalResult override(StringRef key, const llvm::json::Value &entry, func::FuncOp kernel) {
    auto reject = [&](const Twine &text) {
      return fail("entry '" + key + "' does not fit " + kernel.getName() + " (" + schedule::opsOf(kernel) +
                  "): " + text);
    };
    llvm::Expected<Arch> known = findArch(arch);
    if (!known)
      return reject(llvm::toString(known.takeError()));
    std::optional<Schedule> schedule = getSchedule(kernel);
    if (!schedule)
      return failure();
    const llvm::json::Object *object = entry.getAsObject();
    if (!object)
      return reject("expected an object of knobs");
    constexpr StringLiteral consumers = "consumers";
    bool selected = false; // the entry has `consumers`, which selects the kind of instructions
    if (schedule->kind == Schedule::Kind::Attention && object->get(consumers)) {
      if (std::string why = chooseConsumers(object->getInteger(consumers), kernel, *known, *schedule); !why.empty())
        return reject(why);
      selected = true;
    }
    const std::optional<KernelSpace> found = spaceOf(kernel, *schedule, *known);
    if (!found)
      return reject("the kernel has only one schedule");
    const ScheduleSpace &space = found->space;
    SchedulePoint point = space.initial();
    for (const auto &[name, value] : *object) {
      if (selected && StringRef(name) == consumers)
        continue;
      auto knob = llvm::find_if(space.knobs, [&](const Knob &knob) { return knob.name == StringRef(name); });
      std::optional<int64_t> number = value.getAsInteger();
      constexpr int64_t most = 1024; // no knob has larger values
      if (knob == space.knobs.end() || !number || *number < 1 || *number > most)
        return reject("it has no knob " + StringRef(name) + " with this value; its knobs are\n" + space.print());
      point[size_t(knob - space.knobs.begin())] = *number;
    }
    Schedule wanted = found->at(point);
    // The default may have a split_k, which excludes these knobs.
    if ((object->get("cluster") || object->get("tiles_per_block")) && !object->get("split_k"))
      wanted.splitK = 1;
    if (std::string why = found->whyNot(wanted); !why.empty())
      return reject(why);
    if (std::string why = schedule::whyInvalid(wanted); !why.empty())
      return reject(why);
    setSchedule(kernel, wanted);
    return success();
  }
};
} // namespace
} // namespace gpu
} // namespace tilewright

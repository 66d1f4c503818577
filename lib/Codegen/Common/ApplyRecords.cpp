//===- ApplyRecords.cpp - replaces the model's schedules by measured schedules ---------------------===//
//
// Before:  func @kernel_0(...) attributes {tw.schedule = #tw_cpu.schedule<tiles = [64, 96], nanoseconds = 352000>}
// After:   func @kernel_0(...)
//            attributes {tw.schedule = #tw_cpu.schedule<tiles = [128, 48], order = 1, record = "5f0a1c2297be">}
//
// If the folder `records` has a record (Records.h) of a kernel, this pass replaces the kernel's schedule by the
// schedule of the record. The schedules of other kernels are unchanged. A kernel with symbolic sizes has one record for
// each class of sizes (SizeClasses.h). Consecutive classes with the same schedule form a range. If there is more than
// one range, each range has a copy of the kernel:
//
// Before:  func @kernel_0(%n: index, ...) attributes {tw.schedule = ...}          call @kernel_0(...)
// After:   func @kernel_0(%n: index, ...) attributes {tw.schedule = ..., tw.sizes_between = array<i64: 17, -1>}
//          func @kernel_0_to_16(%n: index, ...) attributes {tw.schedule = ..., tw.sizes_between = array<i64: 0, 16>}
//                                                     call @kernel_0(...) {tw.other_sizes = [@kernel_0_to_16]}
//
// The plan launches the kernel whose range contains the product of the sizes of a call. The options of this pass are:
//   strict         a kernel that has a search space but no record is an error
//   deterministic  a record is ignored unless its schedule is known to have the default schedule's order of sums
//   stamp          the pass stores the keys of kernels in attributes, which the tuner reads
// If a kernel has records, but none of them is valid for this machine and compiler, a warning states the reason once
// per process and folder.
//
// Tests: test/Tuner/tune.test, test/Tuner/size-classes.test
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/Schedule.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Interfaces/ForkMutex.h"
#include "lib/Tuner/KernelSignature.h"
#include "lib/Tuner/Records.h"
#include "lib/Tuner/SizeClasses.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/ScheduleSpace.h"
#include "llvm/Support/FileSystem.h"
#include <map>

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_APPLYRECORDS
#include "tilewright/Passes.h.inc"
namespace tuner {
namespace {

struct ApplyRecords : impl::ApplyRecordsBase<ApplyRecords> {
  using ApplyRecordsBase::ApplyRecordsBase;

  void runOnOperation() override {
    RecordStore store(records);
    SmallVector<RecordKey> missed;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto initial = schedule::scheduleOf(kernel);
      if (!kernel->hasAttr(kernelAttrName) || !initial)
        continue;
      KernelSignature signature = signatureOf(kernel);
      const std::string epoch = epochOf(target, kernel);
      if (stamp) {
        Builder builder(&getContext());
        kernel->setAttr(signatureAttrName, builder.getStringAttr(signature.exact));
        kernel->setAttr(familyAttrName, builder.getStringAttr(signature.family));
        kernel->setAttr(sizesOfFamilyAttrName, builder.getDenseI64ArrayAttr(signature.sizes));
        kernel->setAttr(epochAttrName, builder.getStringAttr(epoch));
      }
      if (records.empty() || !initial.isTunable())
        continue;
      SmallVector<Part> parts;
      bool any = false;
      std::string why;
      for (const std::optional<SizeClass> &sizes : classesOf(kernel)) {
        RecordKey key{sizes ? signatureIn(signature.exact, *sizes) : signature.exact, target, machine, epoch};
        std::optional<KernelRecord> record = store.find(key, why);
        any |= record.has_value();
        if (!record)
          missed.push_back(key);
        schedule::ScheduleAttrInterface own = initial;
        if (record && replacesDefault(*record))
          own = replaced(kernel, initial, *record, key);
        if (!own)
          return signalPassFailure();
        const int64_t least = sizes ? sizes->least : 0, most = sizes ? sizes->most : INT64_MAX;
        if (!parts.empty() && parts.back().schedule.withoutOrigin() == own.withoutOrigin())
          parts.back().most = most;
        else
          parts.push_back({least, most, own});
      }
      if (!any && strict && kernel->hasAttr(spaceAttrName))
        return refuse(kernel, {signature.exact, target, machine, epoch}, why);
      kernel->setAttr(scheduleAttrName, parts.back().schedule);
      if (parts.size() > 1)
        split(kernel, parts);
    }
    warnOfIgnored(missed);
    // The option `strict` reads the search spaces in the kernels' attributes. Remove these attributes unless `stamp` is
    // set.
    if (!stamp)
      for (auto kernel : getOperation().getOps<func::FuncOp>())
        for (StringRef name : {spaceAttrName, wideSpaceAttrName, predictedAttrName})
          kernel->removeAttr(name);
  }

private:
  /// A schedule and the range of sizes for which it is used.
  struct Part {
    int64_t least, most;
    schedule::ScheduleAttrInterface schedule;
  };

  /// Returns true if the schedule of `record` must replace the default schedule. If the rates of the machine were
  /// measured again after the record was written, the current default schedule may differ from the default schedule in
  /// the record. The schedule of the record is then always applied, except in deterministic mode, because the record
  /// does not state the order of sums of the current default schedule.
  bool replacesDefault(const KernelRecord &record) const {
    if (record.rates != rates)
      return !deterministic;
    return record.chosen != record.initial && !(deterministic && record.chosenClass != record.initialClass);
  }

  /// Warns that kernels have records that are not valid, and states the reason. The warning appears once per process
  /// and folder of records.
  void warnOfIgnored(ArrayRef<RecordKey> missed) {
    if (missed.empty() || !llvm::sys::fs::exists(records))
      return;
    struct Folder {
      bool reported = false;
      std::multimap<std::string, RecordKey> bySignature;
    };
    // This object is never destroyed, because threads may compile while static objects are destroyed.
    static auto *folders = new runtime::ForkSafe<std::map<std::string, Folder>>;
    auto known = folders->lock();
    auto [found, isNew] = known->try_emplace(records);
    Folder &folder = found->second;
    if (isNew)
      for (const KernelRecord &record : RecordStore(records).all())
        folder.bySignature.emplace(record.key.signature, record.key);
    for (const RecordKey &key : missed)
      for (auto [at, end] = folder.bySignature.equal_range(key.signature); at != end && !folder.reported; ++at) {
        const RecordKey &there = at->second;
        if (there.target != key.target)
          continue;
        folder.reported = true;
        emitWarning(getOperation().getLoc(), "tuning records in '")
            << records << "' match kernels of this model, but are not used: "
            << (there.machine != key.machine ? otherMachine(there.machine, key.machine)
                                             : "the measurements were made with another version of the compiler")
            << "; tune again, or see tilewright tune --explain=" << there.hash().substr(0, 12);
      }
  }

  static SmallVector<std::optional<SizeClass>> classesOf(func::FuncOp kernel) {
    if (tile::indexArguments(kernel).empty())
      return {std::nullopt};
    return SmallVector<std::optional<SizeClass>>(sizeClasses());
  }

  void refuse(func::FuncOp kernel, const RecordKey &key, StringRef why) {
    auto ops = kernel->getAttrOfType<StringAttr>(opsAttrName);
    kernel.emitError("no tuning record for kernel ")
        << kernel.getName() << " (" << (ops ? ops.getValue() : "?") << ", key " << key.hash().substr(0, 12) << ") in '"
        << records << "': " << why
        << ". Tune the model for this machine (tilewright tune), import the records, or compile without tune=strict";
    signalPassFailure();
  }

  /// Clones `kernel` for each part except the last, and uses `kernel` for the last part, which has the largest sizes.
  void split(func::FuncOp kernel, ArrayRef<Part> parts) {
    Builder builder(&getContext());
    SymbolTable symbols(getOperation());
    auto mark = [&](func::FuncOp of, const Part &part) {
      of->setAttr(scheduleAttrName, part.schedule);
      of->setAttr(sizesBetweenAttrName,
                  builder.getDenseI64ArrayAttr({part.least, part.most == INT64_MAX ? -1 : part.most}));
    };
    SmallVector<Attribute> others;
    for (const Part &part : parts.drop_back()) {
      func::FuncOp made = kernel.clone();
      made.setName((kernel.getName() + "_to_" + Twine(part.most)).str());
      mark(made, part);
      others.push_back(FlatSymbolRefAttr::get(symbols.insert(made, Block::iterator(kernel))));
    }
    mark(kernel, parts.back());
    getOperation().walk([&](func::CallOp call) {
      if (call.getCallee() == kernel.getName())
        call->setAttr(otherSizesAttrName, builder.getArrayAttr(others));
    });
  }

  /// Returns `initial` with the knobs that `record` has selected, or null after an error.
  schedule::ScheduleAttrInterface replaced(func::FuncOp kernel, schedule::ScheduleAttrInterface initial,
                                           const KernelRecord &record, const RecordKey &key) {
    auto values = parsePoint(record.chosen);
    auto chosen = dyn_cast_or_null<schedule::ScheduleAttrInterface>(values ? initial.withKnobs(*values) : Attribute());
    if (chosen)
      return cast<schedule::ScheduleAttrInterface>(chosen.withRecord(StringRef(key.hash()).substr(0, 12)));
    kernel.emitError("the tuning record ")
        << key.hash() << " has the schedule '" << record.chosen << "', which does not fit the kernel; remove it";
    return {};
  }
};
} // namespace
} // namespace tuner
} // namespace tilewright

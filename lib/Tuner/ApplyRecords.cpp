//===- ApplyRecords.cpp - measured schedules replace those that the model chose ------------------===//
//
// Before:  func @kernel_0(...) attributes {tw.schedule = {tiles = array<i64: 64, 96>, time = "352 us, L3"}}
// After:   func @kernel_0(...) attributes {tw.schedule = {tiles = array<i64: 128, 48>, order = 1 : i64, record =
// "5f0a1c22"}}
//
// for a kernel that the folder `records` has a record of (Records.h); others stay as they are. With `strict` a kernel
// that has a space and no record is an error. With `deterministic` a record whose schedule sums in another order than
// the default's is not used. With `stamp` kernels are told their keys, for the tuner.
//
// Test: test/Tuner/apply-records.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/KernelSignature.h"
#include "lib/Tuner/Records.h"
#include "tilewright/Passes.h"
#include "tilewright/ScheduleSpace.h"

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
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      auto schedule = kernel->getAttrOfType<DictionaryAttr>("tw.schedule");
      if (!kernel->hasAttr("tw.kernel") || !schedule)
        continue;
      KernelSignature signature = signatureOf(kernel);
      RecordKey key{signature.exact, target, machine, epochOf(target, kernel)};
      if (stamp) {
        Builder builder(&getContext());
        kernel->setAttr("tw.signature", builder.getStringAttr(signature.exact));
        kernel->setAttr("tw.family", builder.getStringAttr(signature.family));
        kernel->setAttr("tw.sizes_of_family", builder.getDenseI64ArrayAttr(signature.sizes));
        kernel->setAttr("tw.epoch", builder.getStringAttr(key.epoch));
      }
      if (records.empty() || !schedule.contains("tiles"))
        continue;
      std::string why;
      std::optional<KernelRecord> record = store.find(key, why);
      if (!record) {
        if (strict && kernel->hasAttr("tw.space")) {
          auto ops = kernel->getAttrOfType<StringAttr>("tw.ops");
          kernel.emitError("no tuning record for kernel ")
              << kernel.getName() << " (" << (ops ? ops.getValue() : "?") << ", key " << key.hash().substr(0, 12)
              << ") in '" << records << "': " << why
              << ". Tune the model for this machine (tilewright tune), import the records, or do not ask for them";
          return signalPassFailure();
        }
        continue;
      }
      if (deterministic && record->chosenClass != record->initialClass)
        continue;
      if (record->chosen != record->initial && failed(apply(kernel, schedule, *record, key)))
        return signalPassFailure();
    }
    // Spaces are stamped for `strict` alone where nobody asks for them.
    if (!stamp)
      for (auto kernel : getOperation().getOps<func::FuncOp>())
        for (StringRef name : {"tw.space", "tw.predicted"})
          kernel->removeAttr(name);
  }

private:
  LogicalResult apply(func::FuncOp kernel, DictionaryAttr schedule, const KernelRecord &record, const RecordKey &key) {
    auto bad = [&] {
      return kernel.emitError("the tuning record ")
             << key.hash() << " has the schedule '" << record.chosen << "', which does not fit the kernel; remove it";
    };
    Builder builder(&getContext());
    SmallVector<int64_t> tiles = llvm::to_vector(schedule.getAs<DenseI64ArrayAttr>("tiles").asArrayRef());
    SmallVector<NamedAttribute> attributes;
    auto values = parsePoint(record.chosen);
    if (!values)
      return bad();
    for (const auto &[name, value] : *values) {
      StringRef row = name;
      size_t number = 0;
      if (!row.consume_front("tile")) {
        attributes.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
        continue;
      }
      if (row.getAsInteger(10, number) || number >= tiles.size() || value < 0)
        return bad();
      tiles[number] = value;
    }
    attributes.push_back(builder.getNamedAttr("tiles", builder.getDenseI64ArrayAttr(tiles)));
    attributes.push_back(builder.getNamedAttr("record", builder.getStringAttr(key.hash().substr(0, 12))));
    kernel->setAttr("tw.schedule", builder.getDictionaryAttr(attributes));
    return success();
  }
};
} // namespace
} // namespace tuner
} // namespace tilewright

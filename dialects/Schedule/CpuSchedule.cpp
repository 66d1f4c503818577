//===- CpuSchedule.cpp - schedules of the target cpu ---------------------------===//
//
// Test: test/Dialects/Schedule/cpu-schedule.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Schedule/CpuScheduleDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Schedule/CpuScheduleAttributes.cpp.inc"

namespace tilewright::schedule {

void CpuScheduleDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Schedule/CpuScheduleAttributes.cpp.inc"
      >();
}

llvm::ArrayRef<CpuKnob> cpuKnobs() {
  static constexpr CpuKnob all[] = {
      {"order", 0, 1, "1: the tasks of a column of tiles are consecutive", &CpuScheduleAttr::getOrder},
      {"k_block", 16, 4096, "K-block of a product, which is summed in registers", &CpuScheduleAttr::getKBlock},
      {"block", 1, 16, "rows of a product's register block", &CpuScheduleAttr::getBlock},
      {"unroll", 1, 64, "largest number of vectors over which a loop is fully unrolled", &CpuScheduleAttr::getUnroll},
      {"accumulators", 1, 8, "accumulators of a long reduction, in vectors", &CpuScheduleAttr::getAccumulators},
      {"keys", 16, 4096, "keys per block of attention", &CpuScheduleAttr::getKeys},
      {"scores", 1, 512, "rows of a block of attention scores", &CpuScheduleAttr::getScores},
  };
  return all;
}

const CpuKnob *findCpuKnob(StringRef name) {
  const CpuKnob *found = llvm::find_if(cpuKnobs(), [&](const CpuKnob &knob) { return knob.name == name; });
  return found == cpuKnobs().end() ? nullptr : found;
}

int64_t knobOr(func::FuncOp kernel, int64_t (CpuScheduleAttr::*knob)() const, int64_t otherwise) {
  auto schedule = kernel ? kernel->getAttrOfType<CpuScheduleAttr>(scheduleAttrName) : CpuScheduleAttr();
  const int64_t value = schedule ? (schedule.*knob)() : 0;
  return value ? value : otherwise;
}

namespace {
/// A mutable copy of the parameters of a schedule.
struct Parameters {
  explicit Parameters(CpuScheduleAttr schedule)
      : context(schedule.getContext()), tiles(schedule.getTiles().asArrayRef()), record(schedule.getRecord()),
        prediction(schedule.getPrediction()) {
    for (const CpuKnob &knob : cpuKnobs())
      knobs.push_back((schedule.*knob.get)());
  }
  CpuScheduleAttr attribute() const {
    const Prediction predicted = prediction.value_or(Prediction());
    return CpuScheduleAttr::get(context, DenseI64ArrayAttr::get(context, tiles), knobs[0], knobs[1], knobs[2], knobs[3],
                                knobs[4], knobs[5], knobs[6], predicted.nanoseconds, predicted.bound, record);
  }

  MLIRContext *context;
  SmallVector<int64_t> tiles, knobs; ///< `knobs` has one value for each of cpuKnobs()
  StringRef record;
  std::optional<Prediction> prediction;
};
} // namespace

CpuScheduleAttr CpuScheduleAttr::get(MLIRContext *context, ArrayRef<int64_t> tiles) {
  return get(context, DenseI64ArrayAttr::get(context, tiles), 0, 0, 0, 0, 0, 0, 0, 0, Bound::Compute, "");
}

LogicalResult CpuScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, DenseI64ArrayAttr tiles,
                                      int64_t order, int64_t kBlock, int64_t block, int64_t unroll,
                                      int64_t accumulators, int64_t keys, int64_t scores, int64_t nanoseconds,
                                      Bound bound, StringRef record) {
  for (int64_t size : tiles.asArrayRef())
    if (size < 0)
      return emitError() << "(schedule_c1) a tile size is " << size << "; 0 stands for a dimension that is not tiled";
  const int64_t values[] = {order, kBlock, block, unroll, accumulators, keys, scores};
  for (auto [knob, value] : llvm::zip_equal(cpuKnobs(), values))
    if (value != 0 && (value < knob.least || value > knob.most))
      return emitError() << "(schedule_c2) " << knob.name << " is " << value << "; its range is " << knob.least
                         << " to " << knob.most << " (" << knob.meaning << ")";
  if (nanoseconds < 0)
    return emitError() << "the predicted time is " << nanoseconds << " ns";
  return success();
}

std::string CpuScheduleAttr::describe() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "tiles ";
  llvm::interleave(getTiles().asArrayRef(), stream, "x");
  for (const CpuKnob &knob : cpuKnobs())
    if (int64_t value = (this->*knob.get)())
      stream << ", " << knob.name << " " << value;
  if (!getRecord().empty())
    stream << ", record " << getRecord();
  return text;
}

std::optional<Prediction> CpuScheduleAttr::getPrediction() const {
  return getNanoseconds() ? std::optional(Prediction{getNanoseconds(), getBound()}) : std::nullopt;
}

ArrayRef<int64_t> CpuScheduleAttr::getTileSizes() const { return getTiles().asArrayRef(); }

bool CpuScheduleAttr::isTunable() const { return true; }

Attribute CpuScheduleAttr::withKnobs(KnobValues values) const {
  Parameters changed(*this);
  changed.prediction.reset();
  for (const auto &[name, value] : values) {
    StringRef row = name;
    size_t number = 0;
    if (const CpuKnob *knob = findCpuKnob(name)) {
      if (value < knob->least || value > knob->most)
        return {};
      changed.knobs[size_t(knob - cpuKnobs().begin())] = value;
      continue;
    }
    if (!row.consume_front("tile") || row.getAsInteger(10, number) || number >= changed.tiles.size() || value < 0)
      return {};
    changed.tiles[number] = value;
  }
  return changed.attribute();
}

Attribute CpuScheduleAttr::withRecord(StringRef record) const {
  Parameters changed(*this);
  changed.record = record;
  return changed.attribute();
}

Attribute CpuScheduleAttr::withoutOrigin() const {
  Parameters changed(*this);
  changed.record = "";
  changed.prediction.reset();
  return changed.attribute();
}

CpuScheduleAttr CpuScheduleAttr::withTiles(ArrayRef<int64_t> tiles) const {
  Parameters changed(*this);
  changed.tiles = llvm::to_vector(tiles);
  return changed.attribute();
}

CpuScheduleAttr CpuScheduleAttr::withPrediction(std::optional<Prediction> prediction) const {
  Parameters changed(*this);
  changed.prediction = prediction;
  return changed.attribute();
}

std::string CpuScriptAttr::describe() const { return ("script " + getSequence()).str(); }

} // namespace tilewright::schedule

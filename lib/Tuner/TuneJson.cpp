//===- TuneJson.cpp - a tuning as JSON ---------------------------------------------------------------===//
//
// Test: test/Tuner/report.test
//
//===----------------------------------------------------------------------===//
#include "tilewright/Tuner.h"

namespace json = llvm::json;

namespace tilewright {

static json::Value toJson(const TunedKernel &kernel) {
  json::Array seen, failures;
  for (const SeenSchedule &schedule : kernel.seen)
    seen.push_back(json::Object{
        {"schedule", schedule.schedule}, {"ratio", schedule.ratio}, {"low", schedule.low}, {"high", schedule.high}});
  for (const auto &[schedule, reason] : kernel.failures)
    failures.push_back(json::Object{{"schedule", schedule}, {"reason", reason}});
  return json::Object{{"name", kernel.name},
                      {"operations", kernel.operations},
                      {"key", kernel.key},
                      {"calls", kernel.calls},
                      {"share", kernel.share},
                      {"schedules", kernel.points},
                      {"measurements", kernel.measurements},
                      {"recorded", kernel.recorded},
                      {"default", kernel.initial},
                      {"chosen", kernel.chosen},
                      {"defaultNanoseconds", kernel.initialNanoseconds},
                      {"ratio", kernel.ratio},
                      {"low", kernel.low},
                      {"high", kernel.high},
                      {"noise", kernel.noise},
                      {"seconds", kernel.seconds},
                      {"verdict", kernel.verdict},
                      {"seen", std::move(seen)},
                      {"failures", std::move(failures)}};
}

std::vector<const TuneReport *> TuneReport::each() const {
  std::vector<const TuneReport *> all{this};
  for (const TuneReport &other : otherSizes)
    all.push_back(&other);
  return all;
}

std::string TuneReport::sizesText() const {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "sizes " : ", ") + std::to_string(size);
  return text.empty() ? text : text + ": ";
}

json::Value toJson(const TuneReport &report, llvm::StringRef model) {
  json::Array kernels, others;
  for (const TuneReport &other : report.otherSizes)
    others.push_back(toJson(other, model));
  for (const TunedKernel &kernel : report.kernels)
    kernels.push_back(toJson(kernel));
  return json::Object{{"model", model},
                      {"seconds", report.seconds},
                      {"ratio", report.ratio},
                      {"low", report.low},
                      {"high", report.high},
                      {"untunedNanoseconds", report.untunedNanoseconds},
                      {"verdict", report.verdict},
                      {"interrupted", report.interrupted},
                      {"problems", json::Array(report.problems)},
                      {"sizes", json::Array(report.sizes)},
                      {"otherSizes", std::move(others)},
                      {"kernels", std::move(kernels)}};
}

json::Value toJson(const std::vector<DesignPoint> &points, llvm::StringRef model) {
  json::Array designs;
  for (const DesignPoint &point : points)
    designs.push_back(json::Object{{"offered", point.offered},
                                   {"latency", point.latency},
                                   {"interval", point.interval},
                                   {"dsp", point.dsp},
                                   {"bram", point.bram},
                                   {"uram", point.uram},
                                   {"best", point.best},
                                   {"refusal", point.refusal}});
  return json::Object{{"model", model}, {"designs", std::move(designs)}};
}

} // namespace tilewright

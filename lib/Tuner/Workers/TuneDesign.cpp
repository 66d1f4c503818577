//===- TuneDesign.cpp - designs of target hls with increasing numbers of multipliers -----------------------------===//
//
// The search of the hls target (lib/Codegen/HLS) finds the fastest design for a number of multipliers. With more
// multipliers, arrays are divided into more banks, so the search rejects a design if its arrays need more block
// memories than available. This file repeats that search with increasing numbers of multipliers, to find the fastest
// design that satisfies both limits and to report the gain of each step.
//
// Test: test/Tuner/tune-design.test
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/LowerStructured.h"
#include "lib/Interfaces/JsonText.h"
#include "tilewright/BudgetError.h"
#include "tilewright/Tuner.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;

namespace tilewright {
namespace {

/// Removes the dsp entry from a budget such as "dsp=2560,bram=600" and stores its value in `dsp`. Leaves `dsp`
/// unchanged if the budget has no such entry.
std::string withoutDsp(StringRef budget, int64_t &dsp) {
  llvm::SmallVector<StringRef> parts, others;
  budget.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    StringRef number = part.trim();
    if (!number.consume_front("dsp=") || number.getAsInteger(10, dsp))
      others.push_back(part);
  }
  return llvm::join(others, ",");
}

/// Creates one design and returns the numbers in its report.
llvm::Expected<DesignPoint> design(Session &session, ModuleOp graph, Options options, const std::string &others,
                                   int64_t dsp) {
  options.tune = "off";
  options.own.set("budget", "dsp=" + std::to_string(dsp) + (others.empty() ? "" : "," + others));
  OwningOpRef<ModuleOp> copy = graph.clone();
  if (llvm::Error failed = session.lowerTo(*copy, "target", options))
    return std::move(failed);
  llvm::Expected<Target *> target = configuredTarget(options);
  if (!target)
    return target.takeError();
  llvm::Expected<std::vector<DesignFile>> files = (*target)->files(*copy, options);
  if (!files)
    return files.takeError();
  DesignPoint point;
  point.offered = dsp;
  for (const DesignFile &file : *files)
    if (file.path == "report.json") {
      llvm::Expected<llvm::json::Value> report = parseJson(file.text);
      if (!report)
        return report.takeError();
      const llvm::json::Object *object = report->getAsObject();
      for (auto [name, into] : {std::pair("latency", &point.latency),
                                {"interval", &point.interval},
                                {"dsp", &point.dsp},
                                {"bram", &point.bram},
                                {"uram", &point.uram}})
        *into = object ? object->getInteger(name).value_or(0) : 0;
    }
  return point;
}

/// Returns the required and available numbers if `error` reports that the budget is exceeded, otherwise only its text.
BudgetError refusalOf(llvm::Error error) {
  BudgetError refusal("");
  llvm::handleAllErrors(
      std::move(error), [&](const BudgetError &budget) { refusal = budget; },
      [&](const llvm::ErrorInfoBase &other) { refusal.text = other.message(); });
  return refusal;
}
} // namespace

llvm::Expected<std::vector<DesignPoint>> tuneDesign(Session &session, ModuleOp module, const Options &options,
                                                    const TuneOptions &tune) {
  int64_t most = 0;
  const std::string others = withoutDsp(options.own.get("budget"), most);
  int64_t least = 1;
  if (most == 0)
    most = int64_t(1) << 30; // no limit in the budget: the number of DSP slices of the part is the limit
  std::vector<DesignPoint> points;
  const double step = std::sqrt(2.0);
  for (double offered = 1; !(tune.interrupted && tune.interrupted());) {
    const int64_t dsp = std::max(least, std::min(most, int64_t(std::llround(offered))));
    llvm::Expected<DesignPoint> made = design(session, module, options, others, dsp);
    if (!made) {
      const BudgetError refusal = refusalOf(made.takeError());
      const int64_t next = refusal.neededDsp.value_or(0);
      // The first error reports the minimum number of DSP slices that the model needs, or another problem.
      if (points.empty() && next > dsp && next <= most) {
        least = next;
        offered = double(next);
        continue;
      }
      if (refusal.availableDsp && *refusal.availableDsp < dsp) {
        most = *refusal.availableDsp;
        continue;
      }
      if (points.empty() && next > most && dsp != most) { // create the error for the given budget
        offered = double(most);
        continue;
      }
      if (points.empty())
        return llvm::createStringError(refusal.text);
      points.emplace_back().offered = dsp;
      points.back().refusal = refusal.text;
    } else if (points.empty() || !points.back().refusal.empty() || made->dsp != points.back().dsp ||
               made->latency != points.back().latency) {
      points.push_back(*made);
    }
    if (dsp >= most)
      break;
    offered = std::max(offered, double(dsp)) * step;
  }
  for (DesignPoint &point : points) {
    point.best = point.refusal.empty();
    for (const DesignPoint &other : points)
      if (other.refusal.empty() && other.dsp <= point.dsp && other.latency <= point.latency &&
          (other.dsp < point.dsp || other.latency < point.latency))
        point.best = false;
  }
  return points;
}

} // namespace tilewright

//===- ListSpaces.cpp - list the possible schedules of a model's kernels -------------------------------------===//
//
// Test: test/Tuner/tune.test, test/Python/test_tuning.py
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/LowerStructured.h"
#include "lib/Tuner/Workers/TunableKernels.h"
#include "tilewright/Tuner.h"
#include "llvm/Support/raw_ostream.h"

#include <random>

using namespace mlir;

namespace tilewright {

static llvm::Expected<std::vector<TunableKernel>> kernelsOf(Session &session, ModuleOp module, const Options &given) {
  Options options = given;
  llvm::Expected<Target *> target = configuredTarget(options);
  if (!target)
    return target.takeError();
  options.tune = "off";
  if (llvm::Error failed = lowerToKernels(session, module, **target, options))
    return std::move(failed);
  return tunableKernels(module, **target, options);
}

llvm::Expected<std::string> drawSchedules(Session &session, ModuleOp module, const Options &options, int count,
                                          uint64_t seed, bool deterministic) {
  llvm::Expected<std::vector<TunableKernel>> kernels = kernelsOf(session, module, options);
  if (!kernels)
    return kernels.takeError();
  std::mt19937_64 random(seed);
  std::string text;
  for (const TunableKernel &kernel : *kernels) {
    const ScheduleSpace &space = kernel.searched.space;
    std::vector<SchedulePoint> points;
    for (const SchedulePoint &point : kernel.searched.points)
      if (point != space.initial() &&
          (!deterministic || space.numericsClass(point) == space.numericsClass(space.initial())))
        points.push_back(point);
    std::shuffle(points.begin(), points.end(), random);
    for (int i = 0; i < count && size_t(i) < points.size(); ++i)
      text += "{\"" + kernel.kernel.name + "\": " + scheduleEntry(kernel, points[size_t(i)]) + "}\n";
  }
  return text;
}

llvm::Expected<std::string> listSpaces(Session &session, ModuleOp module, const Options &options) {
  llvm::Expected<std::vector<TunableKernel>> kernels = kernelsOf(session, module, options);
  if (!kernels)
    return kernels.takeError();
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const TunableKernel &kernel : *kernels) {
    out << kernel.kernel.name << " (" << kernel.kernel.operations << "), " << kernel.kernel.calls
        << (kernel.kernel.calls == 1 ? " call" : " calls");
    if (!kernel.record.key.signature.empty())
      out << ", key " << kernel.record.key.hash().substr(0, 12);
    if (!kernel.refusal.empty()) {
      out << "\n  cannot be tuned: " << kernel.refusal << "\n";
      continue;
    }
    if (kernel.searched.points.size() < 2) {
      out << "\n  one schedule\n";
      continue;
    }
    out << ", " << kernel.searched.points.size() << " schedules\n";
    llvm::SmallVector<StringRef> lines;
    const std::string space = kernel.searched.space.print();
    StringRef(space).split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef line : lines)
      out << "  " << line << "\n";
    if (!kernel.searched.predicted.empty()) {
      SchedulePoint best = tuner::bestByModel(kernel.searched, false);
      out << "  the cost model ranks first: " << kernel.searched.space.print(best) << "\n";
    }
  }
  return text;
}

} // namespace tilewright

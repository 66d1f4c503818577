//===- TunableKernels.cpp - the kernels of a model with their spaces and keys -------------------------------===//
//
// The keys of records are computed from the kernels in the whole model, because --tw-apply-records computes them from
// this IR, too. If the key of a kernel changes when the kernel is extracted into a separate module, because its
// operands have another layout there, the kernel is not tuned: the measurements would not apply to the model.
//
// Test: test/Tuner/tune.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Workers/TunableKernels.h"
#include "dialects/Graph/Decisions.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Schedule/Schedule.h"
#include "lib/Driver/LowerStructured.h"
#include "lib/Interfaces/SpaceText.h"
#include "lib/Tuner/Workers/CallSizes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright {
namespace {

std::string textOf(func::FuncOp kernel, StringRef name) {
  auto value = kernel->getAttrOfType<StringAttr>(name);
  return value ? value.str() : "";
}

/// Returns a copy of `module`, lowered to the end of the tiled stage, with the tuner's attributes on its kernels.
llvm::Expected<OwningOpRef<ModuleOp>> stamped(ModuleOp module, Target &target, Options options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  options.tune = "stamp";
  options.records.clear();
  if (llvm::Error failed = lowerStructured(*copy, target, options, /*onlyTiled=*/true))
    return std::move(failed);
  return std::move(copy);
}

/// Returns true if all calls of `kernel` compute values of parameters.
bool runsOnce(ModuleOp module, StringRef kernel) {
  auto calls = module.lookupSymbol<func::FuncOp>("main").getOps<func::CallOp>();
  return llvm::all_of(calls,
                      [&](func::CallOp call) { return call.getCallee() != kernel || call->hasAttr(onceAttrName); });
}

void describe(TunableKernel &of, func::FuncOp kernel, const std::string &machine, const Options &options) {
  of.signature = textOf(kernel, signatureAttrName);
  of.record.key = {of.signature, options.target, machine, textOf(kernel, epochAttrName)};
  of.record.family = textOf(kernel, familyAttrName);
  of.record.operations = of.kernel.operations;
  if (auto sizes = kernel->getAttrOfType<DenseI64ArrayAttr>(sizesOfFamilyAttrName))
    of.record.sizes = sizes.asArrayRef().vec();
  if (auto selected = schedule::scheduleOf(kernel))
    of.tiles = selected.getTileSizes().vec();
  std::string text = textOf(kernel, spaceAttrName), why;
  if (text.empty())
    return;
  std::optional<ScheduleSpace> space = spaceFromText(text, why);
  if (!space)
    return;
  of.searched.space = std::move(*space);
  of.searched.points = of.searched.space.points();
  if (auto predicted = kernel->getAttrOfType<DenseF64ArrayAttr>(predictedAttrName);
      predicted && predicted.size() == int64_t(of.searched.points.size()))
    of.searched.predicted = predicted.asArrayRef().vec();
  if (std::optional<ScheduleSpace> wide = spaceFromText(textOf(kernel, wideSpaceAttrName), why))
    of.wide = std::move(*wide);
  of.record.initial = of.searched.space.print(of.searched.space.initial());
  of.record.initialClass = of.searched.space.numericsClass(of.searched.space.initial());
}
} // namespace

llvm::Expected<std::vector<TunableKernel>> tunableKernels(ModuleOp module, Target &target, const Options &options) {
  llvm::Expected<OwningOpRef<ModuleOp>> whole = stamped(module, target, options);
  if (!whole)
    return whole.takeError();
  const std::string machine = target.recordKey(options), rates = target.ratesKey(options);
  std::vector<TunableKernel> kernels;
  for (KernelModule &made : kernelModules(module)) {
    TunableKernel &of = kernels.emplace_back();
    of.kernel = std::move(made);
    auto inModel = (**whole).lookupSymbol<func::FuncOp>(of.kernel.name);
    if (!inModel) {
      of.refusal = "target " + options.target + " merges it into another kernel of the model";
      continue;
    }
    if (runsOnce(module, of.kernel.name)) {
      of.refusal = "it runs once for each version of the parameters";
      continue;
    }
    if (!inModel->hasAttr(signatureAttrName)) {
      of.refusal = "target " + options.target + " has no schedule space for it";
      continue;
    }
    describe(of, inModel, machine, options);
    of.record.rates = rates;
    if (!of.kernel.module) {
      of.refusal = "a size of one of its operands is computed inside the model";
      continue;
    }
    if (of.searched.points.size() < 2)
      continue;
    llvm::Expected<OwningOpRef<ModuleOp>> alone = stamped(*of.kernel.module, target, options);
    if (!alone) {
      of.refusal = llvm::toString(alone.takeError());
      continue;
    }
    auto byItself = (**alone).lookupSymbol<func::FuncOp>(of.kernel.name);
    if (!byItself || textOf(byItself, signatureAttrName) != of.signature)
      of.refusal = "its operands have other layouts in the model than in a module with this kernel alone";
  }
  return kernels;
}

void beginAtSizes(std::vector<TunableKernel> &kernels, ArrayRef<int64_t> sizes) {
  for (TunableKernel &kernel : kernels) {
    const tuner::KernelRecord &before = kernel.record;
    tuner::KernelRecord fresh;
    fresh.key = before.key;
    fresh.rates = before.rates;
    fresh.family = before.family;
    fresh.sizes = before.sizes;
    fresh.initial = before.initial;
    fresh.initialClass = before.initialClass;
    fresh.operations = kernel.kernel.operations;
    if (std::optional<tuner::SizeClass> of = sizeClassOfKernel(kernel.kernel, sizes)) {
      fresh.key.signature = tuner::signatureIn(kernel.signature, *of);
      fresh.operations += ", sizes " + of->text();
    }
    kernel.record = std::move(fresh);
  }
}

static std::string entryOf(const TunableKernel &kernel, const ScheduleSpace &space, const SchedulePoint &point) {
  if (point.empty() || point == space.initial())
    return "";
  std::vector<int64_t> tiles = kernel.tiles;
  std::string others; // the entries of other knobs, each preceded by a comma
  for (size_t i = 0; i < point.size(); ++i) {
    StringRef name = space.knobs[i].name;
    size_t row = 0;
    if (name.consume_front("tile") && !name.getAsInteger(10, row) && row < tiles.size())
      tiles[row] = point[i];
    else
      others += ", \"" + space.knobs[i].name + "\": " + std::to_string(point[i]);
  }
  if (tiles.empty())
    return "{" + others.substr(2) + "}";
  std::string list;
  for (int64_t size : tiles)
    list += (list.empty() ? "" : ", ") + std::to_string(size);
  return "{\"tiles\": [" + list + "]" + others + "}";
}

std::string scheduleEntry(const TunableKernel &kernel, const SchedulePoint &point) {
  return entryOf(kernel, kernel.searched.space, point);
}

std::string wideScheduleEntry(const TunableKernel &kernel, const SchedulePoint &point) {
  return entryOf(kernel, kernel.wide, point);
}

llvm::Error lowerToKernels(Session &session, ModuleOp module, Target &target, const Options &options) {
  if (llvm::Error failed = session.lowerTo(module, "structured", options))
    return failed;
  graph::takeDecisions(module);
  if (!target.keepsScheduledKernels())
    return llvm::Error::success();
  Options defaults = options;
  defaults.tune = "off";
  defaults.scheduleFile.clear();
  return lowerStructured(module, target, defaults, /*onlyTiled=*/true);
}

} // namespace tilewright

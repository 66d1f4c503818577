//===- CompileEvents.cpp - record pass times and remarks during a compile ------------===//
//
// Test: test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#include "lib/Report/CompileEvents.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>

using namespace mlir;

namespace tilewright::explain {
namespace {

class LocationStreamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit LocationStreamer(std::vector<Location> &locations) : locations(locations) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    locations.push_back(remark.getLocation());
  }

private:
  std::vector<Location> &locations;
};

} // namespace

CompileEvents::CompileEvents(MLIRContext &context) : context(context) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = "fusion";
  // enableOptimizationRemarks() fails only if a category is not a valid regular expression.
  (void)remark::enableOptimizationRemarks(context, std::make_unique<LocationStreamer>(locations),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
  context.registerActionHandler([this](llvm::function_ref<void()> transform, const tracing::Action &action) {
    const auto *execution = dyn_cast<PassExecutionAction>(&action);
    // Ignore MLIR's adaptor pass, which runs nested passes and has no command-line name.
    if (!execution || execution->getPass().getArgument().empty())
      return transform();
    auto begin = std::chrono::steady_clock::now();
    transform();
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::lock_guard<std::mutex> lock(mutex);
    StringRef name = execution->getPass().getArgument();
    auto found = llvm::find_if(passes, [&](const PassTime &pass) { return pass.name == name; });
    if (found == passes.end())
      found = passes.insert(passes.end(), PassTime{name.str()});
    found->milliseconds += took.count();
    ++found->runs;
  });
}

CompileEvents::~CompileEvents() {
  context.registerActionHandler(nullptr);
  context.setRemarkEngine(nullptr);
}

std::vector<PassTime> CompileEvents::takePasses() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(passes, {});
}

} // namespace tilewright::explain

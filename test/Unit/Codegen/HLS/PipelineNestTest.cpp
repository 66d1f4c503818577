//===- PipelineNestTest.cpp - the order of loads and stores in a pipeline ---------------===//
#include "lib/Codegen/HLS/Rtl/PipelineNest.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright;

namespace {

/// Returns the step of the only access of this kind to `%y[index]`, where `index` is `factor` times the counter plus
/// `constant`.
const hls::Step &accessOf(const hls::PipelineNest &nest, hls::Step::Kind kind, int64_t factor, int64_t constant) {
  for (const hls::Step &step : nest.steps)
    if (step.kind == kind && step.at.front().factor(0) == factor && step.at.front().constant == constant)
      return step;
  ADD_FAILURE() << "the nest has no such step";
  return nest.steps.front();
}

class PipelineNest : public testing::Test {
protected:
  /// Returns the pipeline of a loop over %i from 0 to 7 with this body, which may use the arrays %x, %y and %z.
  hls::PipelineNest pipelineOf(const std::string &body) {
    module = parseSourceString<ModuleOp>("!t = memref<16xi32, #tw_hls.partition<complete>, #tw_hls.memory<register>>\n"
                                         "func.func @f(%x: !t, %y: !t, %z: !t) {\n  affine.for %i = 0 to 8 {\n" +
                                             body +
                                             "  } {tw_hls.loop = #tw_hls.loop<label = \"i\", ii = 16>}\n  return\n}\n",
                                         &session.context());
    EXPECT_TRUE(module);
    std::vector<std::string> problems;
    auto loop = *(*module->getOps<func::FuncOp>().begin()).getOps<affine::AffineForOp>().begin();
    hls::PipelineNest nest = hls::pipelineNest(loop, problems);
    EXPECT_TRUE(problems.empty()) << problems.front();
    return nest;
  }

private:
  Session session;
  OwningOpRef<ModuleOp> module; ///< has the ops to which the nest refers
};

constexpr auto load = hls::Step::Kind::Load, store = hls::Step::Kind::Store;

/// The load may read the element of either store. The first store is later than the second one, because its value is
/// a product.
TEST_F(PipelineNest, LoadStartsAfterAllEarlierStoresThatMayWriteItsElement) {
  hls::PipelineNest nest = pipelineOf("    %v = affine.load %x[%i] : !t\n"
                                      "    %p = arith.muli %v, %v : i32\n"
                                      "    affine.store %p, %y[%i] : !t\n"
                                      "    affine.store %v, %y[%i + 1] : !t\n"
                                      "    %w = affine.load %y[-%i + 8] : !t\n"
                                      "    affine.store %w, %z[%i] : !t\n");
  const hls::Step &late = accessOf(nest, store, 1, 0), &early = accessOf(nest, store, 1, 1);
  ASSERT_GT(late.start, early.start);
  EXPECT_GT(accessOf(nest, load, -1, 8).start, late.start);
}

/// A later store may have overwritten the element that the load reads, so the load cannot use the stored value.
TEST_F(PipelineNest, LoadDoesNotUseAValueThatALaterStoreMayOverwrite) {
  hls::PipelineNest nest = pipelineOf("    %v = affine.load %x[%i] : !t\n"
                                      "    %p = arith.muli %v, %v : i32\n"
                                      "    affine.store %p, %y[%i] : !t\n"
                                      "    affine.store %v, %y[-%i + 8] : !t\n"
                                      "    %w = affine.load %y[%i] : !t\n"
                                      "    affine.store %w, %z[%i + 2] : !t\n");
  const hls::Step &last = accessOf(nest, store, -1, 8);
  auto reload =
      llvm::find_if(nest.steps, [&](const hls::Step &step) { return step.kind == load && step.memory == last.memory; });
  ASSERT_NE(reload, nest.steps.end());
  EXPECT_GT(reload->start, last.start);
}

/// A load of the element that the last store has written uses the stored value.
TEST_F(PipelineNest, LoadUsesTheValueOfTheLastStore) {
  hls::PipelineNest nest = pipelineOf("    %v = affine.load %x[%i] : !t\n"
                                      "    affine.store %v, %y[%i] : !t\n"
                                      "    %w = affine.load %y[%i] : !t\n"
                                      "    affine.store %w, %z[%i + 2] : !t\n");
  EXPECT_EQ(llvm::count_if(nest.steps, [](const hls::Step &step) { return step.kind == load; }), 1);
}

} // namespace

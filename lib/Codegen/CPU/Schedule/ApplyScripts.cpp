//===- ApplyScripts.cpp - transform-dialect scripts instead of apply-schedule ----------===//
//
// The file (option schedule_file, if its name ends in .mlir):
//   module attributes {transform.with_named_sequence} {
//     transform.named_sequence @rows(%kernel: !transform.any_op) attributes {tw.kernels = "matmul*"} {
//       %last = transform.structured.match attributes {tw.op = "add+gelu"} in %kernel : ...
//       %tile, %loop = transform.structured.tile_using_forall %last tile_sizes [16, 48] : ...
//       %product = transform.structured.match ops{["tw_tile.matmul"]} in %kernel : ...
//       transform.structured.fuse_into_containing_op %product into %loop : ...
//       transform.yield } }
// Before:  func @kernel_0(...) attributes {tw.ops = "matmul+add+gelu", tw.schedule = #tw_cpu.schedule<...>} { two ops }
// After: func @kernel_0(...) attributes {tw.ops = ..., tw.schedule = #tw_cpu.script<"rows">} {
//            scf.forall (%i, %j) in (M / 16, N / 48) { both ops on their tiles } }
//
// The attribute tw.kernels is a kernel's name, its ops, a pattern over its ops, or a list of these. A sequence without
// tw.kernels can be included by other sequences. --tw-apply-schedule tiles the kernels that no sequence names. A script
// may create at most one scf.forall in a kernel, and all ops of the kernel that compute elements, except linalg.fill,
// must then be inside of this loop. This pass does not check that a script preserves the semantics of a kernel. The
// option `check=reference` compares the results of the kernel with those of the target reference.
//
// Test: test/Codegen/CPU/Schedule/apply-scripts.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Schedule/NamedKernels.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_APPLYSCRIPTS
#include "tilewright/Passes.h.inc"
namespace tiled {
using namespace tile;
using namespace schedule;
namespace {

constexpr llvm::StringLiteral kernelsAttrName = "tw.kernels";

class Scripts {
public:
  Scripts(ModuleOp module, StringRef file) : module(module), file(file), kernels(module) {}

  LogicalResult run() {
    if (!llvm::sys::fs::exists(file))
      return fail("cannot be read: there is no such file");
    OwningOpRef<ModuleOp> script = parseSourceFile<ModuleOp>(file, module.getContext());
    if (!script)
      return fail("is not MLIR of the transform dialect");
    bool any = false;
    for (auto sequence : script->getOps<transform::NamedSequenceOp>()) {
      SmallVector<StringRef> patterns;
      if (failed(readPatterns(sequence, patterns)))
        return failure();
      any |= !patterns.empty();
      for (StringRef pattern : patterns)
        if (failed(applyTo(pattern, sequence)))
          return failure();
    }
    return any ? success()
               : fail("has no transform.named_sequence with attributes {tw.kernels = \"a kernel's name, its ops or a "
                      "pattern over them\"}");
  }

private:
  LogicalResult fail(const Twine &text) {
    return emitError(UnknownLoc::get(module.getContext())) << "schedule script '" << file << "' " << text;
  }

  LogicalResult readPatterns(transform::NamedSequenceOp sequence, SmallVectorImpl<StringRef> &patterns) {
    Attribute said = sequence->getAttr(kernelsAttrName);
    if (!said)
      return success();
    auto list = dyn_cast<ArrayAttr>(said);
    for (Attribute one : list ? list.getValue() : ArrayRef<Attribute>(said)) {
      auto text = dyn_cast<StringAttr>(one);
      if (!text)
        return fail("has the attribute tw.kernels of @" + sequence.getSymName() +
                    ", which is not a string or a list of strings");
      patterns.push_back(text.getValue());
    }
    return success();
  }

  LogicalResult applyTo(StringRef key, transform::NamedSequenceOp sequence) {
    llvm::Expected<SmallVector<func::FuncOp>> found = kernels.find(key);
    if (!found)
      return fail("has the pattern '" + key + "': " + llvm::toString(found.takeError()));
    for (func::FuncOp kernel : *found) {
      if (!done.insert(kernel).second)
        return fail("has two sequences for " + kernel.getName() + " (" + opsOf(kernel) + ")");
      if (failed(applyScript(kernel, sequence)))
        return failure();
    }
    if (!found->empty() || isPattern(key))
      return success();
    return fail("names '" + key + "', but the graph's kernels are " + kernels.list());
  }

  LogicalResult applyScript(func::FuncOp kernel, transform::NamedSequenceOp sequence) {
    transform::TransformOptions options;
    if (failed(transform::applyTransformNamedSequence(kernel, sequence, /*transformModule=*/{}, options)))
      return fail("failed at @" + sequence.getSymName() + " on " + kernel.getName() + " (" + opsOf(kernel) +
                  "); the errors above give the reason");
    // Fold slices of tensor.empty into smaller tensor.empty ops, because no op reads the elements.
    RewritePatternSet patterns(kernel.getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    if (failed(applyPatternsGreedily(kernel, std::move(patterns))) || failed(mlir::verify(kernel)))
      return fail("leaves " + kernel.getName() + " invalid");
    // The iterations of the loop are the kernel's tasks. An op outside of the loop would be executed by every task or
    // by no task.
    auto loops = kernel.getOps<scf::ForallOp>();
    for (Operation &op : kernel.getBody().front())
      if (!loops.empty() && &op != *loops.begin() && isa<TilingInterface, scf::ForallOp>(op) &&
          !isa<linalg::FillOp>(op))
        return fail("leaves " + op.getName().getStringRef() + " outside of the scf.forall of " + kernel.getName() +
                    " (" + opsOf(kernel) + "); fuse it into the loop (transform.structured.fuse_into_containing_op)");
    kernel->setAttr(scheduleAttrName, schedule::CpuScriptAttr::get(kernel.getContext(), sequence.getSymName()));
    return success();
  }

  ModuleOp module;
  StringRef file;
  NamedKernels kernels;
  llvm::SmallPtrSet<Operation *, 8> done;
};

struct ApplyScripts : impl::ApplyScriptsBase<ApplyScripts> {
  using ApplyScriptsBase::ApplyScriptsBase;
  void runOnOperation() override {
    if (!file.empty() && failed(Scripts(getOperation(), file).run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace tiled
} // namespace tilewright

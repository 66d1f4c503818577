//===- Explain.cpp - compile a model and record how ----------------------------------===//
//
// This file compiles a model stage by stage, as Session::compile does, and records the text of each stage with the
// origins of each line.
//
// Test: test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#include "tilewright/Explain.h"
#include "dialects/Graph/Decisions.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Tile/Tile.h"
#include "lib/Plan/PlanFromIR.h"
#include "lib/Report/PlanRecord.h"
#include "lib/Report/Record.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Pipelines.h"
#include "tilewright/Target.h"
#include <chrono>
#include <set>

using namespace mlir;

namespace tilewright {
namespace {

using namespace explain;

class Explainer {
public:
  Explainer(Session &session, ModuleOp module, const Options &options, const ExplainOptions &explain)
      : session(session), module(module), explain(explain), origins(module) {
    record.options = options;
  }

  llvm::Expected<std::string> run() {
    record.model = explain.model;
    if (llvm::Error failed = lower())
      return std::move(failed);
    std::string problem;
    Target *target = findTarget(record.options.target, problem); // not null, because lowerTo() has found the target
    if (llvm::Error failed = target->configure(record.options))
      return std::move(failed);
    // Record the name of the host's CPU instead of "native".
    if (llvm::Expected<HostMachine> host = describeHost(record.options.cpu))
      record.machine = StringRef(host->key).split('|').first.str();
    else
      llvm::consumeError(host.takeError());
    llvm::Expected<plan::Plan> plan = planOf(module);
    if (plan) {
      record.plan = recordPlan(module, *plan, explain.symbols, copies, origins);
      record.kernels = recordKernels(module, *plan, record.plan, dtypes, origins);
      addMembers();
      if (explain.measured)
        if (llvm::Error failed = addMeasurement(record.kernels, *plan, *explain.measured))
          return std::move(failed);
      record.measured = explain.measured.has_value();
    } else {
      record.plan.problem = llvm::toString(plan.takeError());
    }
    auto begin = std::chrono::steady_clock::now();
    llvm::Expected<std::string> artifact = target->emit(module, record.options);
    if (!artifact)
      return artifact.takeError();
    record.codegenMilliseconds = since(begin);
    addCodeSizes(record.kernels, *artifact);
    if (llvm::Error failed = assemble(*target))
      return std::move(failed);
    record.sources = readSources(origins, explain.source);
    return writeRecord(record, origins);
  }

private:
  static double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  /// Runs all remaining stages and records them.
  llvm::Error lower() {
    CompileEvents events(session.context());
    record.stages.push_back({printStage("model", module, origins), 0, {}});
    auto begin = std::chrono::steady_clock::now();
    return session.lowerTo(module, "target", record.options, [&](StringRef stage) {
      const double milliseconds = since(begin);
      takeDecisions(events);
      if (stage == "structured")
        findMembers();
      findCopies();
      findDtypes();
      record.stages.push_back({printStage(stage, module, origins), milliseconds, events.takePasses()});
      begin = std::chrono::steady_clock::now();
    });
  }

  /// Records the decisions of a stage. Passes emit one remark for each decision about fusion, in the same order. The
  /// location of the remark identifies the operations.
  void takeDecisions(const CompileEvents &events) {
    for (DictionaryAttr entry : graph::takeDecisions(module)) {
      auto text = [&](StringRef name) { return entry.getAs<StringAttr>(name).str(); };
      EdgeRecord edge{
          {text("kind"), entry.getAs<BoolAttr>("done").getValue(), text("subject"), text("reason"), text("where")}};
      if (edge.decision.kind == "fusion" && fusions < events.fusionLocations().size())
        edge.set = origins.setOf(events.fusionLocations()[fusions++]);
      record.edges.push_back(std::move(edge));
    }
  }

  /// Collects the origins of the operations of each kernel. The location of a kernel's launch may lack some of them,
  /// because passes have merged operations. Skips constants and fills: equal constants are merged, so they may belong
  /// to several kernels.
  void findMembers() {
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        if (int set = origins.setOf(op->getLoc());
            set >= 0 && !op->hasTrait<OpTrait::ConstantLike>() && !isa<linalg::FillOp, tensor::EmptyOp>(op))
          members[function.getName().str()].insert(set);
      });
  }

  /// Finds the kernels that only copy elements. Checks each kernel at the first stage whose IR contains it.
  void findCopies() {
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(kernelAttrName) && kernels.insert(function.getName()).second && onlyCopies(function))
        copies.insert(function.getName());
  }

  /// Returns true if the kernel only moves elements, or constants, to other indices. An arith op computes an element
  /// unless it is a constant or part of a selection, or unless all its results are indices.
  static bool onlyCopies(func::FuncOp kernel) {
    auto computes = [](Operation *op) {
      if (auto loops = dyn_cast<linalg::LinalgOp>(op))
        return loops.getNumReductionLoops() > 0;
      if (isa<tile::PackOp, arith::ConstantOp, arith::SelectOp, arith::CmpIOp, arith::AndIOp>(op))
        return false;
      if (isa<arith::ArithDialect>(op->getDialect())) // arithmetic on indices computes no elements
        return !llvm::all_of(op->getResultTypes(), llvm::IsaPred<IndexType>);
      return !isa<linalg::LinalgDialect, tensor::TensorDialect, affine::AffineDialect, scf::SCFDialect,
                  func::FuncDialect>(op->getDialect());
    };
    return !kernel.walk([&](Operation *op) { return computes(op) ? WalkResult::interrupt() : WalkResult::advance(); })
                .wasInterrupted();
  }

  void addMembers() {
    for (KernelRecord &kernel : record.kernels) {
      std::set<int> all(kernel.origins.begin(), kernel.origins.end());
      for (int set : members[kernel.name])
        all.insert(origins.sets()[set].begin(), origins.sets()[set].end());
      kernel.origins.assign(all.begin(), all.end());
    }
  }

  /// Records the element type of the first operand of each kernel's first contraction. This type determines the peak
  /// rate in the kernel's roofline.
  void findDtypes() {
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](linalg::LinalgOp op) {
        if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() < 2)
          return;
        std::string name;
        llvm::raw_string_ostream(name) << getElementTypeOrSelf(op.getDpsInputOperand(0)->get());
        dtypes.try_emplace(function.getName(), name);
      });
  }

  /// Records the assembly, whose `.loc` directives refer to lines of the last stage.
  llvm::Error assemble(Target &target) {
    locateInText(module);
    PassManager passes(module.getContext(), ModuleOp::getOperationName());
    passes.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
    if (failed(passes.run(module)))
      return llvm::createStringError("internal error: the lines of the lowered module cannot be attached to its ops");
    llvm::Expected<std::string> assembly = target.print(module, record.options);
    if (!assembly)
      return assembly.takeError();
    record.stages.push_back({readAssembly(*assembly, record.stages.back().text), record.codegenMilliseconds, {}});
    return llvm::Error::success();
  }

  Session &session;
  ModuleOp module;
  const ExplainOptions &explain;
  Origins origins;
  Record record;
  llvm::StringMap<std::string> dtypes;          ///< by kernel
  llvm::StringSet<> kernels, copies;            ///< all kernels found so far, and those that only copy
  size_t fusions = 0;                           ///< decisions about fusion that were taken
  std::map<std::string, std::set<int>> members; ///< for each kernel: the sets of its operations
};

} // namespace

llvm::Expected<std::string> explainCompile(Session &session, ModuleOp module, const Options &options,
                                           const ExplainOptions &explain) {
  return Explainer(session, module, options, explain).run();
}

} // namespace tilewright

//===- EmitPtx.cpp - kernels of the llvm and nvvm dialects as PTX -----------------------===//
//
// Tests: test/Codegen/NVPTX/product.mlir, test/Python/test_cuda.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/NVPTX/EmitPtx.h"
#include "dialects/Plan/PlanDialect.h"
#include "lib/Codegen/NVPTX/AttachLocations.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace mlir;

namespace tilewright::cuda {
namespace {

/// The oldest PTX version that has the instructions of all architectures. The backend needs this version also for the
/// pragma that specifies which bytes of a load are used: a merged load may extend past the end of a tensor, within 16
/// bytes. NVIDIA drivers support this version since CUDA 12.3. mma of 8-bit floats needs the next version.
constexpr llvm::StringLiteral ptxVersion = "+ptx83", ptxWithFloat8 = "+ptx84";

/// Returns true if inline assembly is an mma.sync of 8-bit floats.
bool multipliesFloat8(llvm::StringRef assembly) { return assembly.starts_with("mma.sync") && assembly.contains(".e"); }

/// Returns the PTX version that the module's code needs.
llvm::StringRef versionFor(ModuleOp module) {
  const bool float8 =
      module
          .walk([](LLVM::InlineAsmOp op) {
            return multipliesFloat8(op.getAsmString()) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  return float8 ? ptxWithFloat8 : ptxVersion;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(const Arch &arch, llvm::StringRef version) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError("this LLVM has no NVPTX backend: " + error);
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, arch.name, version, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Default)); // Aggressive takes longer, with equal code
  if (!machine)
    return llvm::createStringError("this LLVM does not support the GPU " + arch.name);
  return machine;
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false; // only loads and stores can be vectors, and are merged later
  tuning.SLPVectorization = false;
  // To save compile time, skip dead store elimination and some of the eight runs of InstCombine. Each result is stored
  // once, so dead store elimination finds nothing, but it is slow if a thread has many stores. Only the first, third,
  // fourth and eighth run of InstCombine are executed.
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::DenseMap<const llvm::Function *, int> combined;
  callbacks.registerShouldRunOptionalPassCallback([&](StringRef pass, llvm::Any unit) {
    const auto *function = llvm::any_cast<const llvm::Function *>(&unit);
    if (pass != "InstCombinePass" || !function)
      return pass != "DSEPass";
    const int run = combined[*function]++;
    return run == 0 || run == 2 || run == 3 || run >= 7;
  });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

/// Marks inline assembly as convergent. Inline assembly must not be duplicated into divergent branches, because all
/// threads of a warp execute it together.
void keepWarpsTogether(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm())
        call->setConvergent();
}

bool isProductOfFloat8(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  return text && multipliesFloat8(text->getAsmString());
}

/// Prevents ptxas from unrolling loops of products of 8-bit floats. Such a product has two sets of sums, so unrolling
/// would cause register spills.
void keepLoopsOfFloat8(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (llvm::none_of(llvm::instructions(function), isProductOfFloat8))
      continue;
    llvm::DominatorTree tree(function);
    llvm::LoopInfo loops(tree);
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      if (llvm::any_of(loop->blocks(), [](llvm::BasicBlock *block) { return llvm::any_of(*block, isProductOfFloat8); }))
        llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.disable");
  }
}

/// Returns an error if the module declares a function that is not an LLVM intrinsic, because there is no device library
/// that could define it.
llvm::Error refuseCalls(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      return llvm::createStringError(
          "kernels call '" + function.getName() +
          "', which is not an instruction of the GPU, and target cuda has no library of functions");
  return llvm::Error::success();
}

/// The ops of a module that become one PTX text. The parts of a module are emitted in parallel.
using Part = SmallVector<Operation *>;

/// Splits the module into at most `most` groups of consecutive kernels, each with the symbols that it uses. A
/// definition may be in only one group. Therefore, there is only one group if kernels of different groups share a
/// definition, or if an op other than a kernel uses a symbol.
SmallVector<Part> partsOf(ModuleOp module, size_t most) {
  Part all;
  SmallVector<Operation *> kernels;
  for (Operation &op : module.getBody()->getOperations()) {
    if (isa<plan::ProgramOp>(op))
      continue;
    all.push_back(&op);
    if (op.hasAttr("tw_cuda.threads"))
      kernels.push_back(&op);
  }
  const size_t count = std::min(most, kernels.size());
  if (count < 2)
    return {all};
  SmallVector<Part> parts(count);
  llvm::DenseMap<Operation *, size_t> partOf;
  for (auto [number, kernel] : llvm::enumerate(kernels))
    partOf[kernel] = number * count / kernels.size();
  llvm::DenseMap<StringAttr, llvm::SmallSetVector<size_t, 2>> usersOf;
  for (Operation *op : all) {
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(op);
    auto part = partOf.find(op);
    if (!uses || (part == partOf.end() && !uses->empty()))
      return {all};
    for (const SymbolTable::SymbolUse &use : *uses)
      usersOf[use.getSymbolRef().getRootReference()].insert(part->second);
  }
  for (Operation *op : all) {
    if (auto part = partOf.find(op); part != partOf.end()) {
      parts[part->second].push_back(op);
      continue;
    }
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    const auto &users = usersOf[SymbolTable::getSymbolName(op)];
    if (users.size() > 1 && !(function && function.isExternal()))
      return {all};
    for (size_t user : users)
      parts[user].push_back(op);
  }
  return parts;
}

llvm::Expected<std::string> emitPart(const Part &part, Location loc, const Arch &arch, llvm::StringRef version,
                                     bool locations) {
  auto machine = createMachine(arch, version);
  if (!machine)
    return machine.takeError();
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(loc);
  OpBuilder builder(kernels->getBodyRegion());
  for (Operation *op : part)
    builder.clone(*op);
  if (locations)
    attachLocations(*kernels);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(*kernels, context, "tilewright");
  if (!translated)
    return llvm::createStringError("a kernel cannot be translated to LLVM IR");
  translated->setTargetTriple((*machine)->getTargetTriple());
  translated->setDataLayout((*machine)->createDataLayout());
  if (llvm::Error called = refuseCalls(*translated))
    return std::move(called);
  keepWarpsTogether(*translated);
  optimize(*translated, **machine);
  keepLoopsOfFloat8(*translated);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager codegen;
  if ((*machine)->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("LLVM's NVPTX backend cannot emit PTX text");
  codegen.run(*translated);
  return text.str().str();
}

} // namespace

llvm::Expected<std::string> emitPtx(ModuleOp module, const Arch &arch, bool locations) {
  MLIRContext *context = module.getContext();
  // If there are locations, emit only one part, because file numbers are unique only within a module. Otherwise, the
  // number of parts does not depend on the number of CPU cores, so that the text is the same on all machines.
  constexpr size_t mostParts = 64;
  const SmallVector<Part> parts = partsOf(module, locations ? 1 : mostParts);
  const llvm::StringRef version = versionFor(module);
  std::vector<std::string> texts(parts.size()), problems(parts.size());
  parallelFor(context, 0, parts.size(), [&](size_t number) {
    if (auto text = emitPart(parts[number], module.getLoc(), arch, version, locations))
      texts[number] = std::move(*text);
    else
      problems[number] = llvm::toString(text.takeError());
  });
  for (const std::string &problem : problems)
    if (!problem.empty())
      return llvm::createStringError(problem);
  std::string all = std::move(texts.front());
  constexpr llvm::StringLiteral endOfHead = ".address_size 64\n";
  for (const std::string &text : llvm::drop_begin(texts))
    all += llvm::StringRef(text).split(endOfHead).second;
  return all;
}

} // namespace tilewright::cuda

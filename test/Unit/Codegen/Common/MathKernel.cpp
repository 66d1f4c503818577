//===- MathKernel.cpp - compiles one function of --tw-expand-math --------------===//
//
// TILEWRIGHT_MATH_ASM names a folder into which the assembly of each function is written.
//
//===----------------------------------------------------------------------===//
#include "MathKernel.h"
#include "lib/Runtime/Jit/Codegen.h"
#include "tilewright/Passes.h"
#include "tilewright/Pipelines.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::runtime;

namespace {

mlir::MLIRContext &sharedContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    mlir::registerAllToLLVMIRTranslations(registry);
    return new mlir::MLIRContext(registry);
  }();
  return *context;
}

/// Returns the MLIR text of a function that computes out[i] = op(x[i], y[i]) for i in 0..n, `lanes` elements at a time.
std::string kernelText(const std::string &op, int operands, const std::string &element, int lanes) {
  std::string type = lanes == 1 ? element : "vector<" + std::to_string(lanes) + "x" + element + ">";
  std::string expression;
  if (op == "fpowi")
    expression = llvm::formatv("%k = arith.fptosi %b : {0} to {1}\n %r = math.fpowi %a, %k : {0}, {1}", type,
                               lanes == 1 ? "i32" : "vector<" + std::to_string(lanes) + "xi32>");
  else if (op == "remf")
    expression = "%r = arith.remf %a, %b : " + type;
  else if (op == "sigmoid")
    expression = llvm::formatv("%one = arith.constant {0} : {1}\n %k = arith.negf %a : {1}\n %e = math.exp %k : {1}\n"
                               "%d = arith.addf %one, %e : {1}\n %r = arith.divf %one, %d : {1}",
                               lanes == 1 ? "1.0" : "dense<1.0>", type);
  else if (llvm::StringRef name = op; name.consume_back("_short"))
    expression = ("%r = math." + name + " %a fastmath<afn> : " + type).str();
  else
    expression = "%r = math." + op + (operands == 2 ? " %a, %b : " : " %a : ") + type;
  return llvm::formatv(R"(
    func.func @f(%x: !llvm.ptr, %y: !llvm.ptr, %out: !llvm.ptr, %n: i64) {{
      %zero = arith.constant 0 : i64
      %lanes = arith.constant {0} : i64
      scf.for %i = %zero to %n step %lanes : i64 {{
        %xi = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, {3}
        %yi = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, {3}
        %oi = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, {3}
        %a = llvm.load %xi {{alignment = 4 : i64} : !llvm.ptr -> {1}
        %b = llvm.load %yi {{alignment = 4 : i64} : !llvm.ptr -> {1}
        {2}
        llvm.store %r, %oi {{alignment = 4 : i64} : {1}, !llvm.ptr
      }
      return
    })",
                       lanes, type, expression, element);
}

} // namespace

void *tilewright::compileKernel(const std::string &op, int operands, const char *element, int lanes,
                                const char *machineName, std::unique_ptr<Jit> &jit) {
  MachineDescription machine;
  std::string problem;
  EXPECT_TRUE(describeMachine(machineName, machine, problem)) << problem;
  if (!machine.runsHere)
    return nullptr;
  completeNative(machine);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernelText(op, operands, element, lanes), &sharedContext());
  EXPECT_TRUE(bool(module));
  mlir::PassManager pm(&sharedContext());
  ExpandMathOptions options;
  options.avx512 = machine.sets.avx512f;
  pm.addNestedPass<mlir::func::FuncOp>(createExpandMath(options));
  pm.addPass(mlir::createSCFToControlFlowPass());
  pm.addPass(mlir::createConvertVectorToLLVMPass());
  pm.addPass(mlir::createConvertMathToLLVMPass());
  pm.addPass(mlir::createConvertMathToLibmPass());
  pm.addPass(mlir::createConvertToLLVMPass());
  pm.addPass(mlir::createReconcileUnrealizedCastsPass());
  EXPECT_TRUE(succeeded(pm.run(*module)));
  auto target = llvm::cantFail(createTargetMachine(machine));
  llvm::LLVMContext context;
  auto translated = mlir::translateModuleToLLVMIR(*module, context);
  EXPECT_TRUE(bool(translated));
  if (const char *folder = getenv("TILEWRIGHT_MATH_ASM")) {
    auto text = llvm::cantFail(compileToAssembly(llvm::CloneModule(*translated), *target));
    std::error_code error;
    llvm::raw_fd_ostream(std::string(folder) + "/" + op + "." + element + "." + machineName + ".s", error) << text;
  }
  jit = llvm::cantFail(Jit::create());
  llvm::cantFail(jit->addObject(llvm::cantFail(compileToObject(std::move(translated), *target))));
  return reinterpret_cast<void *>(llvm::cantFail(jit->lookup("f")));
}

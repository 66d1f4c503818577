//===- PlanRecord.h - kernels, steps and memory of a plan ----------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_EXPLAIN_PLANRECORD_H
#define TILEWRIGHT_LIB_COMPILER_EXPLAIN_PLANRECORD_H

#include "lib/Compiler/Explain/Record.h"
#include "lib/Runtime/Plan/Plan.h"
#include "tilewright/Explain.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright::explain {

/// Steps and memory of `plan`, which `module` holds, where the first symbols have the values `symbols`.
PlanRecord recordPlan(mlir::ModuleOp module, const plan::Plan &plan, llvm::ArrayRef<int64_t> symbols, Origins &origins);

/// Distinct kernels in the order of their first launch. `dtypes` are those of their contractions' operands.
std::vector<KernelRecord> recordKernels(mlir::ModuleOp module, const plan::Plan &plan, const PlanRecord &steps,
                                        const llvm::StringMap<std::string> &dtypes, const Origins &origins);

/// Adds what was measured; an error where it is of another plan.
llvm::Error addMeasurement(std::vector<KernelRecord> &kernels, const plan::Plan &plan,
                           const ExplainMeasurement &measured);

/// Adds the sizes of the kernels' code in an artifact of Target::emit(); of targets with other artifacts: nothing.
void addCodeSizes(std::vector<KernelRecord> &kernels, llvm::StringRef artifact);

} // namespace tilewright::explain

#endif

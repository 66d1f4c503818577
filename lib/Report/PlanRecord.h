//===- PlanRecord.h - kernels, steps and memory of a plan ----------------------------===//
#ifndef TILEWRIGHT_LIB_REPORT_PLANRECORD_H
#define TILEWRIGHT_LIB_REPORT_PLANRECORD_H

#include "lib/Report/Record.h"
#include "lib/Runtime/Plan/Plan.h"
#include "tilewright/Explain.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright::explain {

/// Returns the steps and memory of `plan`, the program in `module`, with the values `symbols` for the first symbols.
/// Each other symbol has the value 8, clamped to its range. `copies` are the kernels that only copy.
PlanRecord recordPlan(mlir::ModuleOp module, const plan::Plan &plan, llvm::ArrayRef<int64_t> symbols,
                      const llvm::StringSet<> &copies, Origins &origins);

/// Returns the distinct kernels in the order of their first launch. `dtypes` contains the dtypes of the operands of
/// contractions.
std::vector<KernelRecord> recordKernels(mlir::ModuleOp module, const plan::Plan &plan, const PlanRecord &steps,
                                        const llvm::StringMap<std::string> &dtypes, const Origins &origins);

/// Adds measured times to `kernels`. Returns an error if no call was measured, or if the number of measured steps
/// differs from that of `plan`.
llvm::Error addMeasurement(std::vector<KernelRecord> &kernels, const plan::Plan &plan,
                           const ExplainMeasurement &measured);

/// Adds the sizes of the kernels' code in an artifact of Target::emit(). Ignores artifacts of other formats.
void addCodeSizes(std::vector<KernelRecord> &kernels, llvm::StringRef artifact);

} // namespace tilewright::explain

#endif

//===- BankLimits.h - limit schedules to the available number of banks ----------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_BANKLIMITS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_BANKLIMITS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <vector>

namespace tilewright::hls {

/// Computes the number of banks that each array needs for unrolled loop nests. An array is an operand of a nest. The
/// two arguments that a channel between two kernels connects are one array.
class BankDemand {
public:
  /// `nests` are loop nests in the kernels that the plan of `module` launches. Other functions of this class identify a
  /// nest by its index in `nests`.
  BankDemand(mlir::ModuleOp module, llvm::ArrayRef<mlir::linalg::LinalgOp> nests);

  /// Returns the index of an array that needs more than `mostBanks` banks if the loops of nest i have the unroll
  /// factors `unrolls[i]`, or std::nullopt if there is no such array.
  std::optional<size_t> overfull(llvm::ArrayRef<llvm::ArrayRef<int64_t>> unrolls) const;
  /// Returns true if `array` needs more than `mostBanks` banks when `nest` has the unroll factors `instead`, and all
  /// other nests have the unroll factors in `unrolls`.
  bool isOverfull(size_t array, llvm::ArrayRef<llvm::ArrayRef<int64_t>> unrolls, size_t nest,
                  llvm::ArrayRef<int64_t> instead) const;
  /// Returns the nests that access an array, without duplicates.
  llvm::ArrayRef<size_t> nestsOf(size_t array) const { return arrays[array].nests; }

private:
  struct Access {
    size_t nest;
    mlir::AffineMap map;
  };
  struct Array {
    llvm::SmallVector<int64_t> shape;
    std::vector<Access> accesses;
    llvm::SmallVector<size_t> nests;
  };
  int64_t banks(const Array &array, llvm::ArrayRef<llvm::ArrayRef<int64_t>> unrolls, std::optional<size_t> nest,
                llvm::ArrayRef<int64_t> instead) const;

  std::vector<Array> arrays;
};

} // namespace tilewright::hls

#endif

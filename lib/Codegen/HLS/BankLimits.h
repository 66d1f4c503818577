//===- BankLimits.h - limit schedules to the available number of banks ----------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_BANKLIMITS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_BANKLIMITS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <vector>

namespace tilewright::hls {

/// The banks that the unrolled copies of nests need in arrays that are inside a kernel or shared by kernels.
class BankDemand {
public:
  /// `nests` are in the kernels that the plan of `module` launches. A nest is identified by its index in this list.
  BankDemand(mlir::ModuleOp module, llvm::ArrayRef<mlir::linalg::LinalgOp> nests);

  /// Returns an array that would have more than `mostBanks` banks if the loops of each nest have these numbers of
  /// copies.
  std::optional<size_t> overfull(llvm::ArrayRef<llvm::ArrayRef<int64_t>> unrolls) const;
  /// Returns true if `array` would have more than `mostBanks` banks after `nest` changes its copies to `instead`.
  bool isOverfull(size_t array, llvm::ArrayRef<llvm::ArrayRef<int64_t>> unrolls, size_t nest,
                  llvm::ArrayRef<int64_t> instead) const;
  /// Returns the nests that need banks of an array, each nest once.
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

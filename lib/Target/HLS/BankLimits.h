//===- BankLimits.h - schedules that do not ask for more banks than there may be ------------===//
#ifndef TILEWRIGHT_TARGET_HLS_BANKLIMITS_H
#define TILEWRIGHT_TARGET_HLS_BANKLIMITS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <vector>

namespace tilewright::hls {

/// What the copies of nests ask of the arrays that kernels share or keep.
class BankDemand {
public:
  /// `nests`, numbered as they stand there, of the kernels that the plan of `module` launches.
  BankDemand(mlir::ModuleOp module, llvm::ArrayRef<mlir::linalg::LinalgOp> nests);

  /// An array that would have more than `mostBanks` banks with these copies per loop of each nest.
  std::optional<size_t> overfull(llvm::ArrayRef<llvm::ArrayRef<int64_t>> unrolls) const;
  /// Would this one, if `nest` had other copies?
  bool isOverfull(size_t array, llvm::ArrayRef<llvm::ArrayRef<int64_t>> unrolls, size_t nest,
                  llvm::ArrayRef<int64_t> instead) const;
  /// The nests that ask for banks of an array, each once.
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

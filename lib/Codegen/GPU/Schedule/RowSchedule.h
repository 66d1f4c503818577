//===- RowSchedule.h - choose a schedule `rows` --------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ROWSCHEDULE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ROWSCHEDULE_H

#include "dialects/Tile/Rows.h"
#include "lib/Codegen/GPU/Schedule.h"
#include "lib/Codegen/GPU/Schedule/Arch.h"

namespace tilewright::gpu {

/// Returns the size of the last dimension of each result of the kernel.
llvm::SmallVector<int64_t> lastSizes(mlir::func::FuncOp kernel);

/// Returns the number of adjacent elements, at most 8, that a thread computes. In the operand with the smallest type,
/// these elements take at most 16 bytes. If the number does not divide all `sizes`, it is halved until it does.
int64_t vectorOf(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> sizes);

/// Chooses how the schedule `rows` (EmitRows.cpp) computes a kernel.
class RowSchedule {
public:
  /// `members` are the structured ops of the kernel, and `rows` are its rows.
  RowSchedule(mlir::func::FuncOp kernel, const Arch &arch, llvm::ArrayRef<mlir::Operation *> members, tile::RowMap rows)
      : kernel(kernel), arch(arch), members(members), rows(std::move(rows)) {}

  /// Returns the schedule, or std::nullopt if several threads should not share a row.
  std::optional<Schedule> choose() { return isWanted() ? std::optional<Schedule>(chosen()) : std::nullopt; }

  /// Returns true if an op that iterates over a row depends on an op that has reduced the row.
  bool readsAgain();

private:
  bool isWanted();
  Schedule chosen();
  llvm::SmallVector<unsigned> loopsInRow(mlir::linalg::LinalgOp op) const;
  llvm::SmallVector<int64_t> sizesOfRows() const;
  bool hasRowsOfUnknownLength() const;
  bool hasProductOfRows() const;
  int64_t clusterAcrossLanes(int64_t longest) const;
  int64_t clusterFor(int64_t longest, int64_t groups, int64_t vector) const;

  mlir::func::FuncOp kernel;
  const Arch &arch;
  llvm::ArrayRef<mlir::Operation *> members;
  tile::RowMap rows;
  bool readsAdjacent = false; ///< a reduction iterates over adjacent elements
};

} // namespace tilewright::gpu

#endif

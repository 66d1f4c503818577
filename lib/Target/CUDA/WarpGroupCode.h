//===- WarpGroupCode.h - TMA, mbarriers and wgmma in what one thread does ------------------===//
//
// What LLVM has intrinsics for is made of nvvm ops, the rest is inline assembly of its own: the products of a step are
// one block of it, with the sums as registers that go in and out, so that nothing is copied between wgmmas, and the
// wait for the last of them passes the sums on, so that nothing reads them earlier. nvgpu and nvvm.wgmma are not used
// (shared/facts/gpu.md: descriptors of contiguous k; a struct for each wgmma).
//
// PTX ISA: "Asynchronous warpgroup level matrix multiply-accumulate", "mbarrier", "cp.async.bulk.tensor".
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_WARPGROUPCODE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_WARPGROUPCODE_H

#include "lib/Target/CUDA/ThreadCode.h"

namespace tilewright::cuda {

/// The base of what emits a schedule for warp groups. Numbers of slots and parities are values of type i32.
class WarpGroupCode : protected ThreadCode {
protected:
  explicit WarpGroupCode(ThreadKernel &kernel) : ThreadCode(kernel) {}

  /// A slot of a ring of tiles and the parity of its round, which turns where the ring begins anew.
  struct Place {
    mlir::Value slot, parity;
  };
  Place first();
  Place next(const Place &place);
  /// Bytes `stride` * slot + `offset` behind a pointer to shared memory.
  mlir::Value inSlot(mlir::Value pointer, int64_t stride, mlir::Value slot, int64_t offset = 0);

  // An mbarrier in shared memory.
  void initialise(mlir::Value barrier, int64_t arrivals);
  void arrive(mlir::Value barrier);
  /// At the same mbarrier of the block of the cluster with the number `rank` (i32).
  void arriveAt(mlir::Value barrier, mlir::Value rank);
  /// Arrives, and lets the phase wait for so many bytes of bulk copies, too.
  void arriveExpecting(mlir::Value barrier, int64_t bytes);
  /// Until the phase of that parity has ended.
  void wait(mlir::Value barrier, mlir::Value parity);

  /// A box of the tensor of `map` at `at` (i32, the fastest dimension first) to `to`; `barrier` counts its bytes.
  /// With `blocks` above 1, to the same place in each of so many blocks of the cluster, and each one's mbarrier.
  void load(mlir::Value to, mlir::Value map, llvm::ArrayRef<mlir::Value> at, mlir::Value barrier, int64_t blocks = 1);
  /// All threads of all blocks of the cluster meet.
  void meetCluster();

  /// A matrix in shared memory, swizzled by 128 bytes, whose lines of 128 bytes are along k or along its rows.
  struct Matrix {
    mlir::Value start; ///< a pointer: of the step's first k, at a multiple of 1024 bytes
    bool alongK;
    int64_t lineBytes; ///< from 64 rows to the next where lines are along rows
    int64_t nextLine = 0; ///< from a line's k to the next line's, where lines are along k and a sum has several
  };
  mlir::Value descriptorOf(const Matrix &matrix);
  /// sums += A * B for `steps` times 32 bytes of k and all of `left`, 64 rows each; `sums` are as many for each of
  /// them, f32 or, of i8, i32. With `anew` sums = A * B. Commits one group.
  void multiply(mlir::Type element, mlir::Type rhsElement, llvm::ArrayRef<Matrix> left, const Matrix &right,
                int64_t columns, int64_t steps, llvm::MutableArrayRef<mlir::Value> sums, bool anew = false);
  /// The same where A, 64 rows, is in registers: four words for each 16 numbers of 16 bits along k.
  void multiplyWords(mlir::Type element, llvm::ArrayRef<mlir::Value> left, const Matrix &right, int64_t columns,
                     llvm::MutableArrayRef<mlir::Value> sums);
  /// Until at most `groups` groups are in flight. With `sums`, what comes behind reads them as they are then.
  void waitForGroups(int64_t groups, llvm::MutableArrayRef<mlir::Value> sums = {});

private:
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  /// Assembly that touches memory, and the registers `sums` in place.
  void assembly(llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands,
                llvm::MutableArrayRef<mlir::Value> sums = {});
};

} // namespace tilewright::cuda

#endif

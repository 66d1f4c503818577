//===- WarpGroupCode.h - TMA, mbarriers and wgmma in the code of one thread ----------------===//
//
// The instructions are emitted as inline assembly. All products of one call of multiply() or multiplyWords() are one
// block of assembly. The sums are its input and output registers, which prevents copies between wgmmas. The wait for
// the last product also has the sums as inputs and outputs, so that no code reads them before the wait. nvgpu and
// nvvm.wgmma are not used: their descriptors support only contiguous k, and the sums of each wgmma are a struct.
//
// See the PTX ISA: "Asynchronous warpgroup level matrix multiply-accumulate", "mbarrier", "cp.async.bulk.tensor".
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_WARPGROUPCODE_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_WARPGROUPCODE_H

#include "lib/Codegen/GPU/ThreadCode.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

/// The base class of the emitters of schedules for warp groups. Slot indices and parities are values of type i32.
class WarpGroupCode : protected ThreadCode {
protected:
  explicit WarpGroupCode(ThreadKernel &kernel) : ThreadCode(kernel) {}

  /// A position in a ring of tiles: the slot, and the parity of the round, which changes when the ring restarts.
  struct PipelineState {
    mlir::Value slot, parity;
  };
  PipelineState first();
  PipelineState next(const PipelineState &state);
  /// Returns a pointer to shared memory plus `stride` * slot + `offset` bytes.
  mlir::Value inSlot(mlir::Value pointer, int64_t stride, mlir::Value slot, int64_t offset = 0);

  // The following functions emit operations on an mbarrier in shared memory.
  void initialise(mlir::Value barrier, int64_t arrivals);
  void arrive(mlir::Value barrier);
  /// Arrives at the same mbarrier in the block with the rank `rank` (i32) of the cluster. The arrival does not make
  /// writes of this thread visible to that block.
  void arriveAt(mlir::Value barrier, mlir::Value rank);
  /// Arrives at the mbarrier. The phase also waits for `bytes` more bytes of bulk copies.
  void arriveExpecting(mlir::Value barrier, int64_t bytes);
  /// Waits until the phase with this parity has completed.
  void wait(mlir::Value barrier, mlir::Value parity);

  /// Emits a branch in which the block's first warp group executes `produce`, and the consumer warp groups execute
  /// `consume`. If there are two consumer warp groups, the producer releases registers, and the consumers acquire them.
  /// A single consumer warp group already has the maximum number of registers.
  void divideRoles(llvm::function_ref<void()> produce, llvm::function_ref<void()> consume);

  /// Waits at the named barrier `number` (i32, 1 to 15) until `threads` threads of the block have arrived there, by
  /// this function or by arriveNamed().
  void syncNamed(mlir::Value number, int64_t threads);
  /// Arrives at a named barrier without waiting.
  void arriveNamed(mlir::Value number, int64_t threads);

  /// Loads the box at `at` (i32 indices, the fastest dimension first) of the tensor of `map` into `to`. `barrier`
  /// counts the bytes of the box. If `blocks` is above 1, loads the box to the same address in each block of the
  /// cluster, and signals the mbarrier of each block. If there are `offsets` (i32, the width first), `map` is a map of
  /// windows, `at` is the position of the first window, and `offsets` are the distances of the loaded pixels from the
  /// windows' positions.
  void load(mlir::Value to, mlir::Value map, llvm::ArrayRef<mlir::Value> at, mlir::Value barrier, int64_t blocks = 1,
            llvm::ArrayRef<mlir::Value> offsets = {});
  /// Emits a barrier of all threads of the cluster after a fence.mbarrier_init. The barrier makes initializations of
  /// mbarriers visible to the other blocks, but no other writes.
  void beginCluster();
  /// Emits a barrier of all threads of the cluster. After the barrier, no block of the cluster accesses the shared
  /// memory of another block.
  void endCluster();
  /// Stores four sums (f32 or i32) to shared memory. The address `to` must be a multiple of 16 bytes.
  void storeSums(mlir::Value to, llvm::ArrayRef<mlir::Value> sums);
  /// Loads four sums of `type` from the same address in the shared memory of the block with the rank `rank`.
  llvm::SmallVector<mlir::Value> loadSums(mlir::Value from, int64_t rank, mlir::Type type);

  /// A matrix in shared memory with a swizzle of 128 bytes. Its lines of 128 bytes are along k or, otherwise, along m
  /// (left operand) or n (right operand).
  struct Matrix {
    mlir::Value start; ///< pointer to the first k of the first step, at a multiple of 1024 bytes
    bool alongK;
    int64_t lineBytes;    ///< if lines are along m or n, the distance in bytes between adjacent lines for the same k
    int64_t nextLine = 0; ///< if lines are along k, the distance in bytes between adjacent lines for the same m or n
  };
  mlir::Value descriptorOf(const Matrix &matrix);
  /// Emits sums += A * B in `steps` steps of 32 bytes along k, or sums = A * B if `anew` is true. A consists of all
  /// matrices of `left`. Each of these matrices has 64 rows, and each has the same number of `sums` (f32, or i32 for
  /// i8). Commits one group.
  void multiply(mlir::Type element, mlir::Type rhsElement, llvm::ArrayRef<Matrix> left, const Matrix &right,
                int64_t columns, int64_t steps, llvm::MutableArrayRef<mlir::Value> sums, bool anew = false);
  /// Emits sums += A * B with the 64 rows of A in registers: four words per 16 elements of 16 bits along k.
  void multiplyWords(mlir::Type element, llvm::ArrayRef<mlir::Value> left, const Matrix &right, int64_t columns,
                     llvm::MutableArrayRef<mlir::Value> sums);
  /// Waits until at most `groups` groups are in flight. Replaces `sums` by results of the wait, so that later code
  /// reads them after the wait.
  void waitForGroups(int64_t groups, llvm::MutableArrayRef<mlir::Value> sums = {});

private:
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  /// Emits assembly that accesses memory, and updates the registers `sums` in place.
  void assembly(llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands,
                llvm::MutableArrayRef<mlir::Value> sums = {});
};

} // namespace tilewright::cuda

#endif

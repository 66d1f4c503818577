//===- Pipelines.h - the whole compiler, by stage ---------------------------===//
//
//   graph -> structured -> tiled -> vector -> target -> runtime
//
// Each stage before `runtime` has a function that adds its passes, such as buildGraphStage(), and a pipeline in
// tilewright-opt, such as --tw-stage-graph. From the tiled stage on, they are those of the target cpu.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PIPELINES_H
#define TILEWRIGHT_PIPELINES_H

#include "tilewright/MachineRates.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace tilewright {

/// The properties of the machine that the stages use. A target sets them.
struct MachineShape {
  int64_t lanes = 16;         ///< f32 elements of a vector
  int64_t registers = 32;     ///< vector registers
  int64_t threads = 2;        ///< number of threads to plan for
  int64_t l1Bytes = 32 << 10; ///< bytes of the L1 data cache of one core
  int64_t l1Ways = 8;         ///< lines per set of the L1 data cache
  int64_t lineBytes = 64;     ///< bytes per line of the L1 data cache
  int64_t l2Bytes = 1 << 20;  ///< bytes of the L2 cache of one core
  int64_t l3Bytes = 0;        ///< bytes of the L3 cache, which cores share; 0: there is none
  MachineRates rates;
  /// Number of consecutive k of a bf16 column that are stored together: 2 for dot products and AMX.
  int64_t bf16Group = 1;
  int64_t bf16Depth = 1; ///< k of packed bf16 operands is padded to a multiple of this number: 32 for AMX
  int64_t f16Group = 1;  ///< number of consecutive k of an f16 column that are stored together
  int64_t f16Depth = 1;  ///< k of packed f16 operands is padded to a multiple of this number
  /// Number of consecutive k of bytes that are stored together: 4 for vpdpbusd and AMX, 2 for vpmaddwd.
  int64_t int8Group = 2;
  int64_t int8Depth = 2;   ///< k of packed bytes is padded to a multiple of this number: 64 for AMX
  bool amxInt8 = false;    ///< the machine has AMX tiles of bytes
  bool amx = false;        ///< the machine has AMX tiles of bf16
  bool amxF16 = false;     ///< the machine has AMX tiles of f16
  bool splitF16 = false;   ///< f16 products are computed on bf16 tiles
  bool emulateAmx = false; ///< vectors emulate AMX tiles, for machines without AMX
  bool bf16Dot = false;    ///< vdpbf16ps runs at full rate
};

/// Returns the names of the stages, in order.
llvm::ArrayRef<llvm::StringLiteral> stageNames();

/// The number of workers for which the keys of attention with few rows are split; see --tw-split-k-attention.
struct KeyWorkers {
  int64_t threads = 0; ///< of a CPU; 0: the default of the pass
  int64_t blocks = 0;  ///< of a GPU; 0: the target is not a GPU
};
/// Adds the passes from tw to tw: they match quantized ops, narrow softmax, share and split the keys of attention,
/// select layouts, convert 3-D convolutions to 2-D ones, move views so that they cancel, and canonicalize ops. Dialects
/// afterwards: tw, func.
void buildGraphStage(mlir::OpPassManager &pm, KeyWorkers workers = {});
/// Limits and options of kernel formation for a target.
struct KernelLimits {
  int64_t mostProducts = 4;     ///< maximum number of products in a kernel that combines them elementwise
  int64_t columnsToSpan = 2048; ///< maximum number of columns of a product whose kernel also reduces whole rows
  bool readSlices = false; ///< true: launches that differ only in the slices they read share a kernel and pass offsets
  bool computePieces = false; ///< true: elementwise producers of parts of a concatenation are fused into its kernel
  /// True: f32 attention is one kernel; false: its products and its softmax are separate.
  bool fuseSingleAttention = true;
  bool scatterPoolGradients = false; ///< true: the gradient of a max pool in channels-first layout is a scatter
  /// True: the sums of products with few tiles are divided; false: a later stage may divide them.
  bool splitProducts = true;
  bool tf32Convolutions = false; ///< true: convolutions of f32 may round their operands to tf32
  /// True: gradients of attention read sum(dO * O) of each row, which another kernel computes.
  bool attentionDelta = false;
};
/// Adds the passes from tw to linalg and tw_tile, and kernel formation. Dialects afterwards: linalg, tw_tile, tensor,
/// arith, math, affine, func. With `keepRoundings`, values of bf16, f16 and 8-bit floats are also rounded between fused
/// ops.
void buildStructuredStage(mlir::OpPassManager &pm, bool keepRoundings = false, const KernelLimits &limits = {});
/// Sources of schedules that replace those selected by the cost model.
struct ScheduleSources {
  std::string file;    ///< path of the user's schedule file (OverrideSchedules.cpp, ApplyScripts.cpp); empty: none
  std::string records; ///< the folder of measured schedules (lib/Codegen/Common/ApplyRecords.cpp); empty: none
  std::string machine; ///< the machine's key in records (Target::recordKey)
  std::string rates;   ///< rates on which the default schedules depend, too (Target::ratesKey)
  bool strict = false, deterministic = false, stamp = false; ///< options of the pass tw-apply-records
};

/// Resolves layouts, selects schedules and applies them. Additional op afterwards: scf.forall.
void buildTiledStage(mlir::OpPassManager &pm, const MachineShape &machine, const ScheduleSources &sources = {});
/// Adds the passes that convert to memrefs and vectors, assign scratch memory, and turn @main into the plan. Dialects
/// afterwards: memref, vector, scf, arith, math, affine, ub, func, tw_plan, and tw_tile for contractions and packing.
void buildVectorStage(mlir::OpPassManager &pm, const MachineShape &machine);
/// Adds the passes that lower for the target cpu. Dialects afterwards: llvm, tw_plan.
void buildCpuStage(mlir::OpPassManager &pm, const MachineShape &machine);

/// Registers all dialects of all stages with their interfaces. Registration is explicit, without static constructors.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers all passes (`--tw-...`) and the stage pipelines (`--tw-stage-graph`, `--tw-stage-structured`, ...).
void registerAllPasses();

} // namespace tilewright

#endif

//===- Pipelines.h - the whole compiler, by stage ---------------------------===//
//
//   graph -> structured -> tiled -> vector -> target -> runtime
//
// Each stage is a function that adds its passes, and a pipeline of the same name in tilewright-opt.
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

/// What the stages want to know of the machine; a target fills it in.
struct MachineShape {
  int64_t lanes = 16;        ///< f32 elements of a vector
  int64_t registers = 32;    ///< vector registers
  int64_t threads = 2;       ///< to plan for
  int64_t l2Bytes = 1 << 20; ///< of one core
  int64_t l3Bytes = 0;       ///< of the cache that cores share; 0: none
  MachineRates rates;
  int64_t bf16Group = 1;   ///< consecutive k of a bf16 column kept together: 2 for dot products and AMX
  int64_t bf16Depth = 1;   ///< k of packed bf16 operands are padded to a multiple of this: 32 for AMX
  int64_t f16Group = 1;    ///< the same for f16
  int64_t f16Depth = 1;    ///< the same for f16
  int64_t int8Group = 2;   ///< the same for bytes: 4 for vpdpbusd and AMX, 2 for vpmaddwd
  int64_t int8Depth = 2;   ///< 64 for AMX
  bool amxInt8 = false;    ///< byte tiles
  bool amx = false;        ///< bf16 tiles
  bool amxF16 = false;     ///< f16 tiles
  bool splitF16 = false;   ///< f16 products on bf16 tiles
  bool emulateAmx = false; ///< tiles as vectors, for machines without them
  bool bf16Dot = false;    ///< vdpbf16ps at full rate
};

/// The stages' names, in order.
llvm::ArrayRef<llvm::StringLiteral> stageNames();

/// tw -> tw: views collapsed, layouts chosen, ops canonical. Alive after: tw, func. `threads` to plan for; 0: a guess.
void buildGraphStage(mlir::OpPassManager &pm, int64_t threads = 0);
/// What a target's kernels may hold.
struct KernelLimits {
  int64_t mostProducts = 4;     ///< whose results are combined element by element
  int64_t columnsToSpan = 2048; ///< of a product, of which a kernel has whole rows for a reduction behind it
  bool readSlices = false; ///< operands are slices where kernels differ in nothing else: a launch has their offsets
  bool computePieces = false; ///< what makes a part of a concatenation element by element is in its kernel
  bool fuseSingleAttention = true; ///< attention of f32 is one kernel; else its products and its softmax are several
};
/// tw -> linalg, tw_tile; kernels formed. Alive after: linalg, tw_tile, tensor, arith, math, affine, func.
/// `keepRoundings`: values of narrow floats are rounded between fused ops, too.
void buildStructuredStage(mlir::OpPassManager &pm, bool keepRoundings = false, const KernelLimits &limits = {});
/// What replaces the schedules that the model selects.
struct ScheduleSources {
  std::string file;    ///< the user's (lib/Tiled/OverrideSchedules.cpp, ApplyScripts.cpp); empty: none
  std::string records; ///< the folder of measured ones (lib/Tuner/ApplyRecords.cpp); empty: none
  std::string machine; ///< what records know it by (Target::recordKey)
  std::string rates;   ///< what the default schedules follow from beside it (Target::ratesKey)
  bool strict = false, deterministic = false, stamp = false; ///< as the pass tw-apply-records has them
};

/// Schedules selected, layouts resolved, schedules applied. Alive after: + scf.forall.
void buildTiledStage(mlir::OpPassManager &pm, const MachineShape &machine, const ScheduleSources &sources = {});
/// Memrefs, vectors, scratch; @main is the plan. Alive after: memref, vector, scf, arith, math, affine, func, tw_plan.
void buildVectorStage(mlir::OpPassManager &pm, const MachineShape &machine);
/// The cpu tenant's lowering. Alive after: llvm, tw_plan.
void buildCpuStage(mlir::OpPassManager &pm, const MachineShape &machine);

/// All dialects of all stages with their interfaces; explicit, no static constructor.
void registerAllDialects(mlir::DialectRegistry &registry);

/// All passes (`--tw-...`) and the stage pipelines (`--tw-stage-graph`, `--tw-stage-structured`, ...).
void registerAllPasses();

} // namespace tilewright

#endif

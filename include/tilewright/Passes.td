//===- Passes.td - all passes of the compiler ---------------------------------===//
//
// Passes are grouped by stage and target. The file that implements a pass begins with the IR before and after it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PASSES
#define TILEWRIGHT_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Contracts of stages
//===----------------------------------------------------------------------===//

def VerifyStage : Pass<"tw-verify-stage", "::mlir::ModuleOp"> {
  let summary = "Check the dialects, the calls and the plan of the IR after a stage";
  let options = [Option<"stage", "stage", "std::string", "", "Name of the stage that has ended">,
    ListOption<"dialects", "dialects", "std::string",
      "Dialects whose ops may remain; if empty, the dialects of this stage for the target cpu">];
}

//===----------------------------------------------------------------------===//
// Graph: tw -> tw
//===----------------------------------------------------------------------===//

def FixedPoint : Pass<"tw-fixed-point", "::mlir::ModuleOp"> {
  let summary = "Convert a graph of floats to fixed-point integers; ops are exact, and values are rounded to the formats of layers";
  let options = [
    Option<"formats", "formats", "std::string", "\"16,6\"",
           "the default format as W,I,Q,O of ap_fixed, then the formats of inputs, weights, layers and results by name: 16,6 fc1=8,3">,
  ];
}

def WidenIntegers : Pass<"tw-widen-integers", "::mlir::func::FuncOp"> {
  let summary = "Convert integers of any width to 8, 16, 32 or 64 bits without changing their values";
}

def PackElements : Pass<"tw-pack-elements", "::mlir::func::FuncOp"> {
  let summary = "Store narrow elements (integers such as i4 and i12, and 4-bit floats) in whole bytes";
}

def GuardSizes : Pass<"tw-guard-sizes", "::mlir::func::FuncOp"> {
  let summary = "Prove the relations between symbolic sizes that ops require, or emit guards that each call checks";
}

def CollapseViews : Pass<"tw-collapse-views", "::mlir::func::FuncOp"> {
  let summary = "Move reshapes past elementwise ops, norms and reductions so that they cancel";
}

def MatchQuantized : Pass<"tw-match-quantized", "::mlir::func::FuncOp"> {
  let summary = "Convert products and convolutions of dequantized 8-bit integers to integer ops with a scaled result";
}

def MatchAttention : Pass<"tw-match-attention", "::mlir::func::FuncOp"> {
  let summary = "Convert products around a softmax to attention";
  let options = [Option<"tensorCoresOnly", "tensor-cores-only", "bool", "false", "change only attention that tensor cores can compute">];
}

def WidenFloat8 : Pass<"tw-widen-float8", "::mlir::func::FuncOp"> {
  let summary = "Widen 8-bit float operands of products, for targets that cannot multiply this type";
  let options = [Option<"to", "to", "std::string", "\"f16\"", "f16 or bf16">];
}

def SumRowProducts : Pass<"tw-sum-row-products", "::mlir::func::FuncOp"> {
  let summary = "Compute products with one column as row sums, for targets whose products compute panels of columns";
}

def NarrowSoftmax : Pass<"tw-narrow-softmax", "::mlir::func::FuncOp"> {
  let summary = "Compute only the gathered elements of a log-softmax that is read by gathers alone";
}

def ShareKeys : Pass<"tw-share-keys", "::mlir::func::FuncOp"> {
  let summary = "Let attention read keys and values before they are repeated for the query heads of a group";
}

def SplitKAttention : Pass<"tw-split-k-attention", "::mlir::func::FuncOp"> {
  let summary = "Split attention of few rows and many keys into parts of the keys, so that all threads have tasks";
  let options = [Option<"threads", "threads", "int64_t", "8", "number of threads that share the tasks">,
                 Option<"blocks", "blocks", "int64_t", "0", "for a GPU: number of blocks that should run at the same time">];
}

def PropagateLayout : Pass<"tw-propagate-layout", "::mlir::func::FuncOp"> {
  let summary = "Convert convolutions to channels-last and sink the permutes so that they cancel";
}

def SplitDepth : Pass<"tw-split-depth", "::mlir::func::FuncOp"> {
  let summary = "Convert 3-D convolutions to 2-D ones that read the input planes as concatenated channels";
}

//===----------------------------------------------------------------------===//
// Structured: tw -> linalg, tw_tile
//===----------------------------------------------------------------------===//

def ScatterPoolGradients : Pass<"tw-scatter-pool-gradients", "::mlir::func::FuncOp"> {
  let summary = "Compute gradients of channels-first max pools as scatters, for CPUs";
}

def RecordSizes : Pass<"tw-record-sizes", "::mlir::func::FuncOp"> {
  let summary = "Record the sizes in the type encodings of @main's tensor arguments as argument attributes";
}

def LowerGraph : Pass<"tw-lower-graph", "::mlir::func::FuncOp"> {
  let summary = "Lower the graph to linalg, tensor and tw_tile ops on tensors";
  let options = [Option<"splitProducts", "split-products", "bool", "true", "divide the sums of products with few tiles into parts">,
                 Option<"tf32Convolutions", "tf32-convolutions", "bool", "false",
                        "mark the products of f32 convolutions with tw.tf32: they may round their operands to tf32">,
                 Option<"attentionDelta", "attention-delta", "bool", "false",
                        "compute sum(dO * O) of each row before the gradients of attention, which then do not read O">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::tilewright::tile::TileDialect"];
}

def InlineElementwise : Pass<"tw-inline-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Merge chains of elementwise linalg.generic ops into one loop body";
}

def MakeContiguous : Pass<"tw-make-contiguous", "::mlir::func::FuncOp"> {
  let summary = "Copy slices for which a view does not suffice, so that all tensors between kernels are dense";
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FormKernels : Pass<"tw-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Cluster the ops of @main, outline each cluster as a kernel, and merge equal kernels";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let options = [Option<"mostProducts", "most-products", "int64_t", "4", "largest number of products in a kernel">,
    Option<"columnsToSpan", "columns-to-span", "int64_t", "2048",
      "largest number of columns of a product whose kernel also reduces the product's whole rows">,
    Option<"readSlices", "read-slices", "bool", "false",
      "dense slices of one tensor stay in @main and are operands of kernels, so that the kernels are equal">,
    Option<"computePieces", "compute-pieces", "bool", "false",
      "elementwise producers of the parts of a concatenation are computed in its kernel">];
}

def MarkInPlace : Pass<"tw-mark-in-place", "::mlir::ModuleOp"> {
  let summary = "Mark the operands of a kernel that its results may overwrite";
}

//===----------------------------------------------------------------------===//
// Tiled: schedules
//===----------------------------------------------------------------------===//

def ResolveLayouts : Pass<"tw-resolve-layouts", "::mlir::ModuleOp"> {
  let summary = "Convert contractions to read packed panels, and hoist the packing out of the kernels";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::tensor::TensorDialect", "::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
  let options = [
    Option<"vectorLanes", "vector-lanes", "int64_t", "16", "f32 lanes of the widest vector">,
    Option<"bf16Group", "bf16-group", "int64_t", "1", "consecutive k of a column that are adjacent in packed bf16 operands">,
    Option<"bf16Depth", "bf16-depth", "int64_t", "1", "K of packed bf16 operands is padded to a multiple of this number">,
    Option<"f16Group", "f16-group", "int64_t", "1", "consecutive k of a column that are adjacent in packed f16 operands">,
    Option<"f16Depth", "f16-depth", "int64_t", "1", "K of packed f16 operands is padded to a multiple of this number">,
    Option<"splitF16", "split-f16", "bool", "false", "f16 convolutions are not packed in groups, because only products are split for bf16 tiles">,
    Option<"int8Group", "int8-group", "int64_t", "2", "consecutive k of a column that are adjacent in packed bytes">,
    Option<"int8Depth", "int8-depth", "int64_t", "2", "K of packed bytes is padded to a multiple of this number">];
}

// Options of the passes that use the cost model: properties of the machine.
defvar costOptions = [
    Option<"threads", "threads", "int64_t", "2", "threads to plan for">,
    Option<"l1Bytes", "l1-bytes", "int64_t", "32768", "bytes of the L1 data cache of one core">,
    Option<"l1Ways", "l1-ways", "int64_t", "8", "lines per set of the L1 data cache">,
    Option<"lineBytes", "line-bytes", "int64_t", "64", "bytes per line of the L1 data cache">,
    Option<"cacheBytes", "cache-bytes", "int64_t", "1048576", "bytes of the L2 cache of one core">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "33554432", "bytes of the last-level cache, which cores share; 0: none">,
    Option<"rates", "rates", "std::string", "\"\"", "the measured rates of the machine, in the format of MachineRates.h">,
    Option<"tileUnit", "tile-unit", "bool", "false", "products of 16-bit and 8-bit types run on AMX tiles">,
    Option<"splitF16", "split-f16", "bool", "false", "each task of an f16 product splits its rows of A into two parts of bf16">];

def SelectSchedule : Pass<"tw-select-schedule", "::mlir::func::FuncOp"> {
  let summary = "Select a schedule for each kernel from its sizes and the machine description";
  let dependentDialects = ["::tilewright::schedule::CpuScheduleDialect"];
  let options = costOptions;
}

def DescribeSpaces : Pass<"tw-describe-spaces", "::mlir::func::FuncOp"> {
  let summary = "Attach to each kernel its schedule space and the times that the cost model predicts for it";
  let options = costOptions;
}

def ApplyRecords : Pass<"tw-apply-records", "::mlir::ModuleOp"> {
  let summary = "Replace selected schedules by measured ones from the tuning records";
  let options = [
    Option<"records", "records", "std::string", "\"\"", "the folder of tuning records; empty: none">,
    Option<"target", "target", "std::string", "\"cpu\"", "the target that kernels are compiled for">,
    Option<"machine", "machine", "std::string", "\"\"", "the key of the machine in records (Target::recordKey)">,
    Option<"rates", "rates", "std::string", "\"\"", "the rates that the default schedules depend on (Target::ratesKey)">,
    Option<"strict", "strict", "bool", "false", "a kernel that has a schedule space but no record is an error">,
    Option<"deterministic", "deterministic", "bool", "false", "ignore records whose order of sums differs from the default's">,
    Option<"stamp", "stamp", "bool", "false", "set each kernel's key as an attribute">];
}

def OverrideSchedules : Pass<"tw-override-schedules", "::mlir::ModuleOp"> {
  let summary = "Replace selected schedules by those of the user's schedule file";
  let options = [Option<"file", "file", "std::string", "", "JSON: a kernel's name or ops -> {\"tiles\": [...], \"order\": 1}">];
}

def ApplyScripts : Pass<"tw-apply-scripts", "::mlir::ModuleOp"> {
  let summary = "Tile the kernels that a transform-dialect script names with that script, not with their schedules";
  let dependentDialects = ["::tilewright::schedule::CpuScheduleDialect", "::mlir::transform::TransformDialect", "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect"];
  let options = [Option<"file", "file", "std::string", "", "MLIR: transform.named_sequence with tw.kernels">];
}

def ApplySchedule : Pass<"tw-apply-schedule", "::mlir::func::FuncOp"> {
  let summary = "Tile each kernel into parallel tasks, all its ops in one scf.forall, as its schedule specifies";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
}

def MergeReductions : Pass<"tw-merge-reductions", "::mlir::func::FuncOp"> {
  let summary = "Merge reductions along rows with the elementwise ops that produce the rows";
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def BuildPlan : Pass<"tw-build-plan", "::mlir::ModuleOp"> {
  let summary = "Convert @main, which consists of kernel calls and views, to a tw_plan.program";
  let dependentDialects = ["::tilewright::plan::PlanDialect"];
}

def FinishPlan : Pass<"tw-finish-plan", "::mlir::ModuleOp"> {
  let summary = "Set the grids, scratch sizes and schedules of launches from the lowered kernels";
}

//===----------------------------------------------------------------------===//
// Vector: memrefs and vectors
//===----------------------------------------------------------------------===//

def BufferizeKernels : Pass<"tw-bufferize-kernels", "::mlir::ModuleOp"> {
  let summary = "Bufferize the kernels with One-Shot Bufferize; results are stored in destination arguments";
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
}

def ExpandAttention : Pass<"tw-expand-attention", "::mlir::func::FuncOp"> {
  let summary = "Lower tw_tile.attention (by online softmax) and its gradient on buffers to loops over blocks of keys";
  let options = [
    Option<"bf16Group", "bf16-group", "int64_t", "1", "consecutive k of a column that are adjacent in packed bf16 operands">,
    Option<"bf16Depth", "bf16-depth", "int64_t", "1", "K of packed bf16 operands is padded to a multiple of this number">,
    Option<"f16Group", "f16-group", "int64_t", "1", "consecutive k of a column that are adjacent in packed f16 operands">,
    Option<"f16Depth", "f16-depth", "int64_t", "1", "K of packed f16 operands is padded to a multiple of this number">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
}

def ExpandLoops : Pass<"tw-expand-loops", "::mlir::func::FuncOp"> {
  let summary = "Lower tw_tile.scan, sort and scatter on buffers to loops";
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
}

def FlattenGrid : Pass<"tw-flatten-grid", "::mlir::func::FuncOp"> {
  let summary = "Convert the kernel's scf.forall to a loop over a range [begin, end) of its tiles";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
}

def PlaceScratch : Pass<"tw-place-scratch", "::mlir::func::FuncOp"> {
  let summary = "Convert allocations inside a kernel to views of its per-thread scratch memory";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
}

def LowerIndexChecks : Pass<"tw-lower-index-checks", "::mlir::func::FuncOp"> {
  let summary = "Lower tw_tile.place, divisor, require and report to checks whose failure is reported to the runtime";
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

def VectorizeLoops : Pass<"tw-vectorize-loops", "::mlir::func::FuncOp"> {
  let summary = "Lower structured ops on buffers to loops over vectors with masked tails";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::ub::UBDialect"];
  let options = [Option<"lanes", "lanes", "int64_t", "16", "f32 elements of a vector">];
}

//===----------------------------------------------------------------------===//
// Target: cpu
//===----------------------------------------------------------------------===//

def ExpandContractions : Pass<"tw-cpu-expand-contractions", "::mlir::func::FuncOp"> {
  let summary = "Lower tw_tile.matmul, pack and the convolution ops to register-blocked micro-kernels";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::amx::AMXDialect", "::mlir::x86vector::X86VectorDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
  let options = [Option<"lanes", "lanes", "int64_t", "16", "f32 elements of a vector">,
    Option<"registers", "registers", "int64_t", "32", "vector registers">,
    Option<"amx", "amx", "bool", "false", "bf16 operands packed in pairs are multiplied on AMX tiles, not by vdpbf16ps">,
    Option<"amxF16", "amx-f16", "bool", "false", "f16 operands packed in pairs are multiplied on AMX tiles">,
    Option<"splitF16", "split-f16", "bool", "false", "f16 operands are split into two parts and multiplied on AMX tiles of bf16">,
    Option<"amxInt8", "amx-int8", "bool", "false", "bytes packed in fours are multiplied on AMX tiles, not by vpdpbusd">];
}

def EmulateTiles : Pass<"tw-cpu-emulate-tiles", "::mlir::func::FuncOp"> {
  let summary = "Lower amx ops to vectors and loops, for machines without AMX";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"];
}

def ExpandMath : Pass<"tw-expand-math", "::mlir::func::FuncOp"> {
  let summary = "Lower math ops on f32, and on vectors of f64, to polynomials with stated error bounds in ULP";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [Option<"avx512", "avx512", "bool", "false", "vscalefps may be used on vectors of 16 f32, vscalefpd on 8 f64">,
    Option<"bf16Denormals", "bf16-denormals", "bool", "false", "f64 is rounded to bf16 by integer ops, which keep denormals">];
}

//===----------------------------------------------------------------------===//
// Target: the last passes of all targets on the host's CPU
//===----------------------------------------------------------------------===//

def LowerToLLVM : Pass<"tw-host-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower kernels to llvm functions in one conversion of all remaining dialects";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerKernelABI : Pass<"tw-host-lower-kernel-abi", "::mlir::ModuleOp"> {
  let summary = "Change the signature of kernels to the five arguments of the runtime (RuntimeABI.h)";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect"];
}

//===----------------------------------------------------------------------===//
// Used by several targets
//===----------------------------------------------------------------------===//

def ExpandFloat8 : Pass<"tw-expand-float8"> {
  let summary = "Lower conversions from and to f8E4M3FN and f8E5M2 to integer ops on their bits";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def KeepRoundings : Pass<"tw-keep-roundings"> {
  let summary = "Remove the fast-math flags that allow later passes to drop roundings, for rounding = eager";
}

def SplitReshapes : Pass<"tw-split-reshapes"> {
  let summary = "Lower memref.expand_shape with several symbolic sizes in one group to memref.reinterpret_cast";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// Target: cuda
//===----------------------------------------------------------------------===//

def SelectCudaSchedule : Pass<"tw-cuda-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Select a schedule of the target cuda for each kernel, and report all unsupported ops together";
  let dependentDialects = ["::tilewright::schedule::GpuScheduleDialect"];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"", "the architecture that kernels are compiled for, such as sm_90a">,
                 Option<"f32Fma", "f32-fma", "bool", "false",
                        "do not compute products of f32 as products of bf16 parts on tensor cores">];
}

def OverrideCudaSchedules : Pass<"tw-cuda-override-schedules", "::mlir::ModuleOp"> {
  let summary = "Replace selected schedules of the target cuda by those of the user's schedule file";
  let options = [Option<"file", "file", "std::string", "\"\"", "JSON; empty: nothing is replaced">,
                 Option<"arch", "arch", "std::string", "\"sm_80\"", "the architecture that kernels are compiled for, such as sm_90a">];
}

def DescribeCudaSpaces : Pass<"tw-cuda-describe-spaces", "::mlir::func::FuncOp"> {
  let summary = "Attach to each kernel its schedule space on the target cuda and the predictions of the cost model";
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"", "the architecture that kernels are compiled for, such as sm_90a">];
}

def LowerToThreads : Pass<"tw-cuda-lower-to-threads", "::mlir::ModuleOp"> {
  let summary = "Convert kernels on tensors to the code of one thread of a grid, as their schedules specify";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
    "::mlir::vector::VectorDialect"];
}

def ConvertFloat8 : Pass<"tw-cuda-convert-float8", "::mlir::func::FuncOp"> {
  let summary = "Lower conversions between f32 and 8-bit floats to instructions of sm_89 and later";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect"];
}

def LowerToNvvm : Pass<"tw-cuda-lower-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Lower thread code to kernels in the llvm and nvvm dialects, with a 32-bit index if sizes allow";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

//===----------------------------------------------------------------------===//
// Target: reference
//===----------------------------------------------------------------------===//

def WidenFloats : Pass<"tw-widen-floats", "::mlir::func::FuncOp"> {
  let summary = "Compute every intermediate float in f64; arguments and results keep their types";
  let options = [Option<"kernelsOnly", "kernels-only", "bool", "false", "do not change functions that are not kernels">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::tilewright::tile::TileDialect"];
}

def DecomposeTile : Pass<"tw-decompose-tile", "::mlir::func::FuncOp"> {
  let summary = "Lower scans, sorts, scatters, grouped convolutions and attention to linalg ops and plain loops over tensors";
  let options = [Option<"wideAttentionOnly", "wide-attention-only", "bool", "false", "decompose only attention in f64">,
    Option<"singleAttention", "single-attention", "bool", "false", "with wide-attention-only: decompose attention in f32, too">,
    Option<"divisors", "divisors", "bool", "false", "decompose tw_tile.divisor and require, too, without their checks">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::affine::AffineDialect"];
}

//===----------------------------------------------------------------------===//
// Target hls
//===----------------------------------------------------------------------===//

def HlsWindowLoops : Pass<"tw-hls-window-loops", "::mlir::func::FuncOp"> {
  let summary = "Lower 2-D grouped convolutions to linalg ops over a padded input";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def HlsAcceptModel : Pass<"tw-hls-accept-model", "::mlir::ModuleOp"> {
  let summary = "Report everything in a model that hls does not support in one error, and record the names of the ports";
  let dependentDialects = ["::tilewright::hls::HLSDialect"];
}

def HlsEmbedWeights : Pass<"tw-hls-embed-weights", "::mlir::ModuleOp"> {
  let summary = "Convert weights of the model file to constants of the design; large weights stay ports if too few block memories remain";
  let options = [Option<"part", "part", "std::string", "\"xcu280\"", "the device">,
    Option<"budget", "budget", "std::string", "\"\"", "the same as the option of --tw-hls-select-schedules">,
    Option<"place", "place", "std::string", "\"\"", "embedded, external, or empty: by size">];
  let dependentDialects = ["::tilewright::hls::HLSDialect", "::mlir::arith::ArithDialect"];
}

def HlsSplitKernels : Pass<"tw-hls-split-kernels", "::mlir::ModuleOp"> {
  let summary = "Split kernels of several loop nests into one kernel per nest if this needs no copies of arrays";
  let dependentDialects = ["::tilewright::hls::HLSDialect", "::tilewright::plan::PlanDialect"];
}

def HlsSelectSchedules : Pass<"tw-hls-select-schedules", "::mlir::ModuleOp"> {
  let summary = "Select the loop order and unrolling of every loop nest under a budget of resources";
  let options = [Option<"part", "part", "std::string", "\"xcu280\"", "the device">,
    Option<"budget", "budget", "std::string", "\"\"", "resource=count, separated by commas: dsp, bram, uram">,
    Option<"blocks", "blocks", "bool", "false", "kernels run in parallel and pass blocks of their results to each other">,
    Option<"fabric", "fabric", "bool", "false", "f32 additions use lookup tables instead of DSP blocks if the part has enough of them">,
    Option<"shares", "shares", "bool", "true", "one operator is used in several cycles between two iterations, as HLS tools do; the Verilog of --rtl does not">];
  let dependentDialects = ["::tilewright::hls::HLSDialect"];
}

def HlsApplySchedules : Pass<"tw-hls-apply-schedules", "::mlir::func::FuncOp"> {
  let summary = "Lower each linalg op to the loop nest that its schedule specifies";
  let dependentDialects = ["::tilewright::hls::HLSDialect", "::mlir::affine::AffineDialect"];
}

def HlsBuildDesign : Pass<"tw-hls-build-design", "::mlir::ModuleOp"> {
  let summary = "Convert the plan to a top function with ports, buffers and a dataflow region of tasks";
  let dependentDialects = ["::tilewright::hls::HLSDialect", "::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

def HlsPlaceMemories : Pass<"tw-hls-place-memories", "::mlir::ModuleOp"> {
  let summary = "Move arrays to UltraRAM if a design needs more block memories than its budget";
  let options = [Option<"part", "part", "std::string", "\"xcu280\"", "the device">,
    Option<"budget", "budget", "std::string", "\"\"", "the same as the option of --tw-hls-select-schedules">];
  let dependentDialects = ["::tilewright::hls::HLSDialect"];
}

def HlsPortProtocols : Pass<"tw-hls-port-protocols", "::mlir::ModuleOp"> {
  let summary = "Convert the ports that the option `ports` lists to streams and registers";
  let options = [Option<"ports", "ports", "std::string", "\"\"", "name=axi_master, name=axi_lite or name=stream, separated by spaces">];
  let dependentDialects = ["::tilewright::hls::HLSDialect"];
}

def HlsStreamChannels : Pass<"tw-hls-stream-channels", "::mlir::ModuleOp"> {
  let summary = "Convert buffers that are written and read once, in the same order, to streams";
  let dependentDialects = ["::tilewright::hls::HLSDialect", "::mlir::affine::AffineDialect"];
}

#endif

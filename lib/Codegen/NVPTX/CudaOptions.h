//===- CudaOptions.h - options of the target cuda -----------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_CUDAOPTIONS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_CUDAOPTIONS_H

#include "tilewright/Compiler.h"

namespace tilewright::cuda {

struct CudaOptions {
  std::string arch;   ///< may end with tf32Suffix (Arch.h); configure() sets the default
  std::string device; ///< "" means "cuda"
  bool graph = false;
  bool tf32Convolutions = false;
  bool f32Fma = false;
};

inline llvm::ArrayRef<OptionField<CudaOptions>> cudaOptions() {
  static const OptionField<CudaOptions> table[] = {
      {{"arch", TargetOption::Text, "name",
        "the GPU architecture, which is `sm_80`, `sm_86`, `sm_89` or `sm_90a` (default: the architecture of the "
        "device, or `sm_80` without a GPU)",
        InCompile | InRun | InTune | InPython},
       &CudaOptions::arch},
      {{"device", TargetOption::Text, "name",
        "the device, which is `cuda`, `cuda:1`, ..., or `emulated` for the PTX interpreter, which needs no GPU "
        "(default: `cuda`)",
        InRun | InTune | InPython},
       &CudaOptions::device},
      {{"cuda_graph", TargetOption::Flag, "",
        "launch one CUDA graph in each call whose sizes equal those of the previous call", InRun | InPython},
       &CudaOptions::graph},
      {{"tf32_convolutions", TargetOption::Flag, "",
        "compute convolutions of f32 without groups on tensor cores, with operands rounded to tf32; the suffix `+tf32` "
        "of the architecture does the same for all f32 products",
        InCompile | InRun | InTune},
       &CudaOptions::tf32Convolutions},
      {{"f32_fma", TargetOption::Flag, "",
        "compute products of f32 by fma on CUDA cores; by default, large products on sm_90a are computed on tensor "
        "cores as six products of bf16 parts, which have f32 precision for operands of at least 2^-110, and may return "
        "nan instead of inf",
        InCompile | InRun | InTune | InPython},
       &CudaOptions::f32Fma},
  };
  return table;
}

inline CudaOptions readCuda(const Options &options) { return readOptions(cudaOptions(), options.own); }

} // namespace tilewright::cuda

#endif

//===- CudaOptions.h - options of the target cuda -----------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_CUDAOPTIONS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_CUDAOPTIONS_H

#include "tilewright/Compiler.h"

namespace tilewright::cuda {

struct CudaOptions {
  std::string arch;   ///< may have tf32Suffix (Arch.h); configure() completes it
  std::string device; ///< "" means "cuda"
  bool graph = false;
};

inline llvm::ArrayRef<OptionField<CudaOptions>> cudaOptions() {
  static const OptionField<CudaOptions> table[] = {
      {{"arch", TargetOption::Text, "name",
        "`sm_80`, `sm_86`, `sm_89` or `sm_90a` (default: that of the device, else `sm_80`)",
        InCompile | InRun | InTune | InPython},
       &CudaOptions::arch},
      {{"device", TargetOption::Text, "name",
        "`cuda`, `cuda:1`, ..., or `emulated`, which runs kernels in the PTX interpreter, without a GPU (default: "
        "`cuda`)",
        InRun | InPython},
       &CudaOptions::device},
      {{"cuda_graph", TargetOption::Flag, "", "every call after the first launches one CUDA graph", InRun | InPython},
       &CudaOptions::graph},
  };
  return table;
}

inline CudaOptions readCuda(const Options &options) { return readOptions(cudaOptions(), options.own); }

} // namespace tilewright::cuda

#endif

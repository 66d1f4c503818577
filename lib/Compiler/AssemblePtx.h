//===- AssemblePtx.h - machine code of a GPU from PTX, by ptxas where there is one ------===//
//
//   PtxAssembly made = assemblePtx(ptx, 90, options.cache);   // for a chip of compute capability 9.0
//   load(made.cubin.empty() ? ptx : made.cubin);              // else the driver compiles
//
// ptxas is the one that TILEWRIGHT_PTXAS names ("off": the driver compiles), that of CUDA_HOME or CUDA_PATH, of PATH,
// of /usr/local/cuda, or of triton's or NVIDIA's wheel where the package lies beside one. It takes the kernels of a
// module on all cores. What it makes is kept in the object cache, under its version, the chip and the PTX.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_ASSEMBLEPTX_H
#define TILEWRIGHT_LIB_COMPILER_ASSEMBLEPTX_H

#include "tilewright/CacheFolder.h"

namespace tilewright {

struct PtxAssembly {
  std::string cubin;       ///< empty: the driver has to compile the PTX
  std::string stage;       ///< for the report: "ptxas", "cached cubin"; empty: nothing was done
  double milliseconds = 0; ///< that it took
  std::string warning;     ///< why a ptxas that is there made none; empty: it made one, or there is none
};

/// A cubin of `ptx` for a chip of compute capability `capability` (90 for 9.0).
PtxAssembly assemblePtx(llvm::StringRef ptx, int capability, bool useCache);

/// Reads what `bytes` of a cache's entry tell about it; false where they are none of a cubin.
bool describeCubin(llvm::StringRef bytes, CacheEntry &entry);

} // namespace tilewright

#endif

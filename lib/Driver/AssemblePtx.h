//===- AssemblePtx.h - machine code of a GPU from PTX, by ptxas if available ------------===//
//
//   PtxAssembly made = assemblePtx(ptx, 90, options.cache);   // for a chip of compute capability 9.0
//   load(made.cubin.empty() ? ptx : made.cubin);              // otherwise the NVIDIA driver compiles
//
// ptxas is searched for in this order: TILEWRIGHT_PTXAS ("off": the NVIDIA driver compiles), CUDA_HOME or CUDA_PATH,
// PATH, /usr/local/cuda, and a wheel of triton or NVIDIA that is installed in the same folder as Tilewright. A ptxas
// with the option --split-compile assembles the kernels of a module on all cores. The result is stored in the object
// cache. The key contains ptxas's version, the chip and the digest of the PTX.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_ASSEMBLEPTX_H
#define TILEWRIGHT_LIB_DRIVER_ASSEMBLEPTX_H

#include "tilewright/CacheFolder.h"

namespace tilewright {

struct PtxAssembly {
  std::string cubin;       ///< empty: the NVIDIA driver has to compile the PTX
  std::string stage;       ///< for the report: "ptxas", "cached cubin"; empty if there is no cubin
  double milliseconds = 0; ///< duration of the stage
  std::string warning;     ///< why an available ptxas produced no cubin; empty: it did, or there is no ptxas
};

/// Assembles `ptx` for a chip of compute capability `capability` (90 for 9.0), or reads the cubin from the object
/// cache.
PtxAssembly assemblePtx(llvm::StringRef ptx, int capability, bool useCache);

/// Reads the description in a cache entry's `bytes`; returns false if they are not a cubin entry.
bool describeCubin(llvm::StringRef bytes, CacheEntry &entry);

} // namespace tilewright

#endif

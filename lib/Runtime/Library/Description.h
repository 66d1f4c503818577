//===- Description.h - the data of an ahead-of-time library besides its code ---===//
//
// The compiler writes one Description into every library (lib/AOT), as constants of the object file. The runtime that
// is linked into the library reads it. Both programs include this header, so that the layouts agree. The data is
// read-only.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_LIBRARY_DESCRIPTION_H
#define TILEWRIGHT_LIB_RUNTIME_LIBRARY_DESCRIPTION_H

#include "lib/Interfaces/RuntimeABI.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::library {

/// Element types with the same numbers as in the generated header.
enum class DType : int32_t {
#define TW_DTYPE(...)
#define TW_LIBRARY_DTYPE(ENUM, ...) ENUM,
#include "dialects/Graph/Dtypes.def"
};

/// An element type's name in torch ("float32"), its name in C ("F32"), and the bytes of an element.
struct DTypeInfo {
  const char *name, *shortName;
  int64_t bytes;
};

/// All element types, in the order of DType.
inline constexpr DTypeInfo dtypes[] = {
#define TW_DTYPE(...)
#define TW_LIBRARY_DTYPE(ENUM, NAME, BITS, ...) {NAME, #ENUM, (BITS) / 8},
#include "dialects/Graph/Dtypes.def"
};
inline constexpr int numDTypes = sizeof dtypes / sizeof *dtypes;

/// The maximum rank of a caller's tensor.
inline constexpr int maxRank = 8;

/// An item of a plan::Expr.
struct SizeItem {
  int64_t op, value;
};

struct SizeExpr {
  const SizeItem *items;
  int64_t count;
};

/// An input or output. The first five fields have the layout of <model>_tensor_info in the generated C header.
struct Tensor {
  const char *name;
  int32_t dtype, rank;
  const int64_t *sizes; ///< -1 for a symbolic size
  const char *text;     ///< for error messages: "float32 [batch, 64]"
  const SizeExpr *exprs;
  int64_t number;  ///< index in the plan's inputs or outputs
  int64_t inPlace; ///< 1 if a call writes this input
};

/// An input of the plan whose data is part of the library's weights.
struct Weight {
  int64_t number, offset, bytes;
};

/// The header of a file of weights; the weights follow it.
struct WeightsFileHeader {
  char magic[16]; ///< "TilewrightWeight"
  uint8_t id[32]; ///< equal to the weightsId of the library's Description
  uint64_t bytes; ///< number of bytes of the weights after the header
  uint64_t hash;  ///< plan::hashBytes() of the weights, for optional verification
};
inline constexpr char weightsMagic[17] = "TilewrightWeight";

/// The model's code for one kind of CPU.
struct Variant {
  const char *cpu;          ///< the machine that the code was compiled for
  uint64_t instructionSets; ///< runtime::maskOf() of the sets that the kernels use
  const uint8_t *plan;      ///< image that plan::serialize() has written
  uint64_t planBytes;
  const tilewright_kernel_fn *kernels; ///< functions in the order of the plan's kernels
  uint64_t numKernels;
  const Weight *weights; ///< ranges of the weights, which all variants share
  uint64_t numWeights;
};

struct Description {
  uint64_t abi; ///< TILEWRIGHT_ABI_VERSION
  const char *model;
  /// At least one variant; by default, an instance uses the first variant that its CPU supports.
  const Variant *variants;
  uint64_t numVariants;
  const Tensor *inputs;
  uint64_t numInputs;
  const Tensor *outputs;
  uint64_t numOutputs;
  const uint8_t *weightData; ///< null: the weights are in a file
  uint64_t weightBytes;
  /// Name that the file of weights had when it was written; null: the weights are in weightData.
  const char *weightsFile;
  const uint8_t *weightsId;
};

/// A tensor that the caller passes. The structure has the layout of <model>_tensor in the generated C header.
struct CallerTensor {
  void *data;
  int32_t dtype, rank;
  int64_t sizes[maxRank];
  const int64_t *strides; ///< strides in elements; null: the tensor is dense and row-major
};

/// The options that the caller passes to create(). The structure has the layout of <model>_options in the generated C
/// header.
struct CallerOptions {
  int32_t threads;
  const char *weightsFile;
  const char *cpu;       ///< name of a variant; null: the first variant that this CPU supports
  int32_t verifyWeights; ///< not 0: create() reads the whole file of weights and rejects a damaged one
};

/// A step of a run and its time, for the caller. The structure has the layout of <model>_step in the generated C
/// header.
struct CallerStep {
  const char *operations; ///< operations of the model that the step computes, and their lines
  double seconds;         ///< sum of the times on all threads and in all runs
};

} // namespace tilewright::library

// The functions that the library's exported functions (lib/AOT/Describe.cpp) call. Their symbols are local to the
// library.
extern "C" {
struct tilewright_model;
tilewright_model *tilewright_library_create(const tilewright::library::Description *description,
                                            const tilewright::library::CallerOptions *options, char *error,
                                            size_t errorBytes);
int tilewright_library_shape(tilewright_model *model, const tilewright::library::CallerTensor *inputs,
                             tilewright::library::CallerTensor *outputs);
int tilewright_library_run(tilewright_model *model, const tilewright::library::CallerTensor *inputs,
                           const tilewright::library::CallerTensor *outputs);
int32_t tilewright_library_profile(tilewright_model *model, int32_t on);
int32_t tilewright_library_steps(tilewright_model *model, tilewright::library::CallerStep *steps, int32_t capacity);
const char *tilewright_library_error(const tilewright_model *model);
const char *tilewright_library_cpu(const tilewright_model *model);
void tilewright_library_destroy(tilewright_model *model);
int32_t tilewright_library_num_inputs(const tilewright::library::Description *description);
int32_t tilewright_library_num_outputs(const tilewright::library::Description *description);
const tilewright::library::Tensor *tilewright_library_input(const tilewright::library::Description *description,
                                                            int32_t number);
const tilewright::library::Tensor *tilewright_library_output(const tilewright::library::Description *description,
                                                             int32_t number);
}

#endif

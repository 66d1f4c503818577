//===- Header.cpp - the C header of a library ----------------------------------------===//
//
// The header declares the structs and functions of lib/Runtime/Library/Description.h, with the model's name as a
// prefix.
//
// Test: test/Python/test_library.py compiles it as C and as C++
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Header.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright::library {
namespace {

/// The header of a model. {m} is replaced by the model's name, {M} by the name in capitals, and other names in braces
/// by generated text.
constexpr const char *headerText = R"(/* {m}.h: a model compiled by Tilewright. Plain C; include it from C or C++.
 *
{signature} *
 * Sizes in brackets are dimensions, outermost first. Tensors are dense and row-major, and begin at addresses that are
 * multiples of the size of an element.
 *
 *   char error[512];
 *   {m} *model = {m}_create(NULL, error, sizeof error);
 *   if (!model) { fputs(error, stderr); return 1; }
 *   {m}_tensor inputs[{M}_NUM_INPUTS] = { ... }, outputs[{M}_NUM_OUTPUTS] = {{0}};
 *   if ({m}_shape(model, inputs, outputs)) ...            dtype, rank and sizes of the outputs
 *   outputs[0].data = malloc(...);
 *   if ({m}_run(model, inputs, outputs)) { fputs({m}_error(model), stderr); ... }
 *   {m}_destroy(model);
 *
 * The library has no global state. Instances are independent: several threads may each create and run an instance at
 * the same time. Calls of one instance are serialized.
 */
#ifndef TILEWRIGHT_MODEL_{M}_H
#define TILEWRIGHT_MODEL_{M}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define {M}_NUM_INPUTS {inputs}
#define {M}_NUM_OUTPUTS {outputs}
#define {M}_MAX_RANK {rank}

/* Types of elements. A bool is one byte, 0 or 1. F16 is IEEE half precision, and BF16 is the upper half of a float. */
enum {
{dtypes}};

/* An instance of the model, which owns its threads, its memory and its packed weights. */
typedef struct {m} {m};

typedef struct {m}_tensor {
  void *data; /* may be NULL if the tensor has no elements; run writes to an input only if the list above says so */
  int32_t dtype;
  int32_t rank;
  int64_t sizes[{M}_MAX_RANK];
  const int64_t *strides; /* in elements; NULL, or the strides of a dense, row-major tensor */
} {m}_tensor;

typedef struct {m}_tensor_info {
  const char *name;
  int32_t dtype;
  int32_t rank;
  const int64_t *sizes; /* -1 if the size may differ between calls */
  const char *text;     /* "float32 [batch, 64]" */
} {m}_tensor_info;

typedef struct {m}_options {
  int32_t threads; /* largest number of threads of a call; 0 means OMP_NUM_THREADS, or all CPUs of the process */
{weights}{cpus}{verify}} {m}_options;

/* A step of a run. */
typedef struct {m}_step {
  const char *operations; /* the operations of the model that the step computes, with their lines */
  double seconds;         /* summed over all threads and runs */
} {m}_step;

/* Creates an instance: checks that the CPU has the instruction sets for which the model was compiled, and packs weights
 * that the library does not contain in packed form. `options` may be NULL. After an error, the function returns NULL
 * and writes the reason to `error`, truncated to `error_bytes` bytes, including the terminating null character. */
{m} *{m}_create(const {m}_options *options, char *error, size_t error_bytes);

/* Destroys an instance and its threads. No call of the instance may be running. Does nothing if `model` is NULL. */
void {m}_destroy({m} *model);

/* Sets dtype, rank and sizes of all outputs for inputs of these dtypes, ranks and sizes; does not read their data.
 * Returns 0. If the model does not accept the dtype, the rank or a size of an input, returns another number, and
 * {m}_error() returns the reason. */
int32_t {m}_shape({m} *model, const {m}_tensor *inputs, {m}_tensor *outputs);

/* Computes the outputs. The caller allocates their memory, which must not overlap with other outputs or inputs. Returns
 * 0. If the dtype, the rank or a size of a tensor is wrong, if an index is out of range, or if memory cannot be
 * allocated, returns another number, and {m}_error() returns the reason. */
int32_t {m}_run({m} *model, const {m}_tensor *inputs, const {m}_tensor *outputs);

/* Starts (`on` is not 0) or stops timing the steps of the instance's runs, and discards earlier times. Returns 0. */
int32_t {m}_profile({m} *model, int32_t on);

/* Writes at most `capacity` steps of a run to `steps`, with their times since {m}_profile(model, 1). A step is a kernel
 * or a copy. Returns the number of steps, or 0 if the steps are not timed. The strings are valid until the instance is
 * destroyed. */
int32_t {m}_steps({m} *model, {m}_step *steps, int32_t capacity);

/* Returns the error message of the last call of the instance that failed. The text is valid until the next call. */
const char *{m}_error(const {m} *model);

/* Returns the name of the CPU whose code the instance runs, as in the flag `--cpu`. */
const char *{m}_cpu(const {m} *model);

/* These functions describe the inputs and outputs, and need no instance. {m}_input() and {m}_output() return NULL if
 * `number` is out of range. */
int32_t {m}_num_inputs(void);
int32_t {m}_num_outputs(void);
const {m}_tensor_info *{m}_input(int32_t number);
const {m}_tensor_info *{m}_output(int32_t number);

#ifdef __cplusplus
}
#endif

#endif
)";

void replaceAll(std::string &text, llvm::StringRef from, llvm::StringRef to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Returns `text` with each slash and each non-printable character replaced, because they could end a comment or a
/// line.
std::string commentText(llvm::StringRef text) {
  std::string clean;
  for (char c : text)
    clean += llvm::isPrint(c) && c != '/' ? c : c == '/' ? '|' : '?';
  return clean;
}

std::string signatureOf(const Interface &interface) {
  std::string text;
  auto list = [&](const char *what, llvm::ArrayRef<InterfaceTensor> tensors) {
    for (auto [number, tensor] : llvm::enumerate(tensors))
      text += (" *   " + llvm::Twine(what) + " " + llvm::Twine(number) + "  " + commentText(tensor.name) + ": " +
               commentText(tensor.text()) + (tensor.inPlace ? ", written by run" : "") + "\n")
                  .str();
  };
  list("input ", interface.inputs);
  list("output", interface.outputs);
  for (const plan::Symbol &symbol : interface.symbols)
    text += " *   " + commentText(symbol.name) + ": " + std::to_string(symbol.min) +
            (symbol.max == INT64_MAX ? " or more" : " to " + std::to_string(symbol.max)) + "\n";
  return text;
}

} // namespace

std::string writeHeader(const Interface &interface, const Contents &contents) {
  llvm::StringRef weightsFile = contents.weightsFile;
  const std::string upper = llvm::StringRef(interface.model).upper();
  std::string constants;
  for (int dtype = 0; dtype < numDTypes; ++dtype)
    constants += "  " + upper + "_" + llvm::StringRef(dtypes[dtype].shortName).upper() + " = " + std::to_string(dtype) +
                 (dtype + 1 < numDTypes ? ",\n" : "\n");
  std::string weights =
      weightsFile.empty()
          ? "  const char *weights_file; /* not used: the library contains its weights */\n"
          : "  const char *weights_file; /* path of " + commentText(weightsFile) + ", which is mapped */\n";
  std::string text = headerText;
  replaceAll(text, "{signature}", signatureOf(interface));
  replaceAll(text, "{dtypes}", constants);
  replaceAll(text, "{weights}", weights);
  // Do not list the CPUs: libraries of the same model for other CPUs may be in the same folder and share the header.
  replaceAll(
      text, "{cpus}",
      "  const char *cpu; /* one of the CPUs that `tilewright inspect` lists. NULL: the first whose code this CPU "
      "can run */\n");
  replaceAll(text, "{verify}",
             weightsFile.empty() ? "  int32_t verify_weights; /* not used */\n"
                                 : "  int32_t verify_weights; /* not 0: create reads all of weights_file, and fails if "
                                   "it is damaged */\n");
  replaceAll(text, "{inputs}", std::to_string(interface.inputs.size()));
  replaceAll(text, "{outputs}", std::to_string(interface.outputs.size()));
  replaceAll(text, "{rank}", std::to_string(maxRank));
  replaceAll(text, "{m}", interface.model);
  replaceAll(text, "{M}", upper);
  return text;
}

} // namespace tilewright::library

//===- Create.cpp - create and destroy an instance --------------------------===//
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/InstructionSets.h"
#include "lib/Runtime/Library/Model.h"
#include "lib/Runtime/Plan/Hash.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::library;

tilewright_model::~tilewright_model() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

bool tilewright_model::fail(std::string text) {
  error = std::move(text);
  return false;
}

/// Returns the names of the instruction sets of `variant` that the CPU or the operating system does not support, or an
/// empty string.
static std::string missingSets(const Variant &variant) {
  const uint64_t missing = variant.instructionSets & ~runtime::maskOf(runtime::hostInstructionSets());
  std::string names;
  int bit = 0;
  for (const runtime::InstructionSet &set : runtime::instructionSets())
    if (missing >> bit++ & 1)
      names += std::string(names.empty() ? "" : ", ") + set.name;
  return missing && names.empty() ? "instructions" : names;
}

static bool usesAmx(const Variant &variant) {
  int bit = 0;
  for (const runtime::InstructionSet &set : runtime::instructionSets())
    if (variant.instructionSets >> bit++ & 1 && set.member == &runtime::InstructionSets::amxTile)
      return true;
  return false;
}

/// Sets `variant` to the variant for `cpu`, or, if `cpu` is null, to the first variant that this CPU supports. Fails if
/// there is no such variant, or if this CPU does not support it. No kernel may run before this call, because an
/// unsupported instruction ends the process.
bool tilewright_model::chooseVariant(const char *cpu) {
  std::string offered, lacking;
  bool amxRefused = false;
  for (const Variant &one : std::span(description.variants, description.numVariants)) {
    offered += std::string(offered.empty() ? "" : ", ") + one.cpu;
    if (cpu && strcmp(cpu, one.cpu) != 0)
      continue;
    const std::string missing = missingSets(one);
    if (missing.empty() && (!usesAmx(one) || runtime::requestAmxPermission())) {
      variant = &one;
      return true;
    }
    amxRefused = missing.empty();
    lacking +=
        (lacking.empty() ? "" : ", or for ") + std::string(one.cpu) + " and needs " + (amxRefused ? "AMX" : missing);
  }
  if (lacking.empty())
    return fail("this library has no code for the CPU '" + std::string(cpu ? cpu : "") + "'; it has code for " +
                offered);
  if (amxRefused)
    return fail("this library was compiled for " + lacking +
                ", which the system does not permit this process to use; compile the model with --cpu=x86-64-v4");
  return fail("this library was compiled for " + lacking +
              ", which this CPU or its system does not have; compile the model with --cpu=x86-64-v3");
}

static std::vector<plan::Expr> exprsOf(const Tensor &tensor) {
  std::vector<plan::Expr> exprs(size_t(tensor.rank));
  for (size_t dim = 0; dim < exprs.size(); ++dim)
    for (int64_t i = 0; i < tensor.exprs[dim].count; ++i) {
      const SizeItem &item = tensor.exprs[dim].items[i];
      exprs[dim].items.push_back({plan::Expr::Op(item.op), item.value});
    }
  return exprs;
}

/// Checks that the description is consistent with the plan (indices of tensors and symbols, ranges of weights). Returns
/// an error message, or an empty string.
static std::string misfit(const Description &description, const Variant &variant, const plan::Plan &plan) {
  const std::span inputs(description.inputs, description.numInputs),
      outputs(description.outputs, description.numOutputs);
  const std::span weights(variant.weights, variant.numWeights);
  auto isAmong = [](int64_t number, int32_t count) { return number >= 0 && number < count; };
  for (std::span tensors : {inputs, outputs})
    for (const Tensor &tensor : tensors) {
      if (!isAmong(tensor.number, tensors.data() == outputs.data() ? plan.numOutputs : plan.numInputs))
        return std::string("its plan has no tensor for ") + tensor.name;
      for (const plan::Expr &size : exprsOf(tensor))
        if (std::string problem = plan::verify(size, plan.symbols.size()); !problem.empty())
          return std::string("the sizes of ") + tensor.name + ": " + problem;
    }
  for (const Weight &weight : weights)
    if (!isAmong(weight.number, plan.numInputs) || weight.offset < 0 || weight.bytes < 0 ||
        uint64_t(weight.offset) > description.weightBytes ||
        uint64_t(weight.bytes) > description.weightBytes - uint64_t(weight.offset))
      return "its weights do not match its plan";
  return "";
}

bool tilewright_model::readPlan() {
  std::string problem;
  if (description.abi != TILEWRIGHT_ABI_VERSION || variant->numKernels > variant->planBytes)
    return fail("this library is damaged: the versions of its description and its code differ");
  if (!plan::deserialize(variant->plan, variant->planBytes, plan, problem))
    return fail("this library is damaged: " + problem);
  if (problem = plan::verify(plan); !problem.empty())
    return fail("this library is damaged: " + problem);
  if (plan.kernels.size() != variant->numKernels || !plan.hostFunctions.empty() || !plan.constants.empty())
    return fail("this library is damaged: its plan and its code do not match");
  for (size_t i = 0; i < variant->numKernels; ++i)
    kernels.push_back({variant->kernels[i], ""});
  if (problem = misfit(description, *variant, plan); !problem.empty())
    return fail("this library is damaged: " + problem);
  inputPointers.resize(size_t(plan.numInputs));
  outputPointers.resize(size_t(plan.numOutputs));
  symbols.resize(plan.symbols.size());
  for (size_t i = 0; i < description.numInputs; ++i)
    inputSizes.push_back(exprsOf(description.inputs[i]));
  for (size_t i = 0; i < description.numOutputs; ++i)
    outputSizes.push_back(exprsOf(description.outputs[i]));
  return true;
}

/// Sets `weights` to the weights in the library, or maps and checks the weights file. Then sets the pointers of the
/// plan's inputs that are weights.
bool tilewright_model::findWeights(const char *path, bool verify) {
  weights = description.weightData;
  if (description.weightsFile) {
    const std::string name = path ? path : "";
    if (name.empty())
      return fail("the weights of this model are in the file '" + std::string(description.weightsFile) +
                  "'; give its path in options.weights_file");
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // without O_NONBLOCK, opening a pipe would block
    if (file < 0)
      return fail("cannot open the weights '" + name + "': " + strerror(errno));
    const off_t size = lseek(file, 0, SEEK_END);
    mappingBytes = sizeof(WeightsFileHeader) + description.weightBytes;
    if (size >= 0 && size_t(size) == mappingBytes)
      mapping = mmap(nullptr, mappingBytes, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (size < 0 || size_t(size) != mappingBytes)
      return fail("the weights '" + name + "' have " + std::to_string(size) + " bytes, this model's have " +
                  std::to_string(mappingBytes) + "; use the file that was written with the library");
    if (mapping == MAP_FAILED) {
      mapping = nullptr;
      return fail("cannot map the weights '" + name + "': " + strerror(errno));
    }
    const auto *header = static_cast<const WeightsFileHeader *>(mapping);
    if (memcmp(header->magic, weightsMagic, sizeof header->magic) != 0 ||
        memcmp(header->id, description.weightsId, sizeof header->id) != 0 || header->bytes != description.weightBytes)
      return fail("'" + name +
                  "' contains the weights of another model; use the file that was written with the library");
    weights = static_cast<const uint8_t *>(mapping) + sizeof(WeightsFileHeader);
    if (verify && plan::hashBytes(weights, description.weightBytes) != header->hash)
      return fail("the weights '" + name + "' are damaged; copy the file that was written with the library again");
  }
  for (size_t i = 0; i < variant->numWeights; ++i)
    inputPointers[size_t(variant->weights[i].number)] = weights + variant->weights[i].offset;
  return true;
}

/// Returns the number of threads, in the same way as the JIT: `requested` if it is positive, otherwise OMP_NUM_THREADS,
/// otherwise the number of CPUs of the process. The result never exceeds the number of CPUs of the process.
static int threadsFor(int requested) {
  const size_t allowed = runtime::allowedCpus().size();
  const int most = allowed ? int(std::min<size_t>(allowed, runtime::ThreadTeam::maxThreads)) : 1;
  if (requested <= 0) {
    const char *omp = getenv("OMP_NUM_THREADS");
    requested = omp ? int(strtol(omp, nullptr, 10)) : 0;
  }
  return requested > 0 ? std::min(requested, most) : most;
}

bool tilewright_model::create(const CallerOptions &options) {
  if (!chooseVariant(options.cpu) || !readPlan() || !findWeights(options.weightsFile, options.verifyWeights != 0))
    return false;
  threads = threadsFor(options.threads);
  return runtime::runOnceSteps(plan, kernels.data(), inputPointers.data(), team, threads, packed, error);
}

static void copyText(const std::string &text, char *buffer, size_t bytes) {
  if (!buffer || bytes == 0)
    return;
  const size_t length = std::min(text.size(), bytes - 1);
  memcpy(buffer, text.data(), length);
  buffer[length] = 0;
}

tilewright_model *tilewright_library_create(const Description *description, const CallerOptions *options, char *error,
                                            size_t errorBytes) {
  std::unique_ptr<tilewright_model> model(new (std::nothrow) tilewright_model(*description));
  if (!model) {
    copyText("out of memory", error, errorBytes);
    return nullptr;
  }
  if (!model->create(options ? *options : CallerOptions{})) {
    copyText(model->error, error, errorBytes);
    return nullptr;
  }
  copyText("", error, errorBytes);
  return model.release();
}

const char *tilewright_library_error(const tilewright_model *model) {
  return model ? model->error.c_str() : "the model is a null pointer: it was not created; see the error text of create";
}

const char *tilewright_library_cpu(const tilewright_model *model) { return model ? model->cpu() : nullptr; }

void tilewright_library_destroy(tilewright_model *model) { delete model; }

int32_t tilewright_library_num_inputs(const Description *description) { return int32_t(description->numInputs); }
int32_t tilewright_library_num_outputs(const Description *description) { return int32_t(description->numOutputs); }

const Tensor *tilewright_library_input(const Description *description, int32_t number) {
  return number >= 0 && uint64_t(number) < description->numInputs ? &description->inputs[number] : nullptr;
}

const Tensor *tilewright_library_output(const Description *description, int32_t number) {
  return number >= 0 && uint64_t(number) < description->numOutputs ? &description->outputs[number] : nullptr;
}

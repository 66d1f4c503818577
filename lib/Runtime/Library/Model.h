//===- Model.h - an instance of an ahead-of-time library's model ------------===//
//
// The library uses the JIT's code for plans, frames and the execution of steps (lib/Runtime/Plan, lib/Runtime/Host).
// Objects that the JIT shares between the programs of a process (thread team, pools, packs) are separate for each
// instance. A library therefore has no global state: all state belongs to instances and is released with them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_LIBRARY_MODEL_H
#define TILEWRIGHT_LIB_RUNTIME_LIBRARY_MODEL_H

#include "lib/Interfaces/ForkMutex.h"
#include "lib/Runtime/Host/Frame.h"
#include "lib/Runtime/Host/Kernel.h"
#include "lib/Runtime/Host/OnceSteps.h"
#include "lib/Runtime/Host/ThreadTeam.h"
#include "lib/Runtime/Library/Description.h"
#include "lib/Runtime/Library/ProcessGeneration.h"

#include <atomic>
#include <memory>

struct tilewright_model {
  explicit tilewright_model(const tilewright::library::Description &description) : description(description) {}
  ~tilewright_model();

  /// Reads the plan, and maps and packs the weights. Returns false with a reason in `error` on failure.
  bool create(const tilewright::library::CallerOptions &options);

  /// Computes dtype, rank and sizes of `outputs` from those of `inputs`. Returns false with a reason in `error`.
  bool shape(const tilewright::library::CallerTensor *inputs, tilewright::library::CallerTensor *outputs);

  /// Computes `outputs` from `inputs`. Returns false with a reason in `error`; the contents of the outputs are then
  /// undefined.
  bool run(const tilewright::library::CallerTensor *inputs, const tilewright::library::CallerTensor *outputs);

  /// Starts (true) or stops timing the steps of runs. Earlier times are discarded.
  void profile(bool on);

  /// Writes the first `capacity` timed steps to `steps`. Returns the number of steps, or 0 if they are not timed.
  int32_t timesOfSteps(tilewright::library::CallerStep *steps, int32_t capacity) const;

  /// Returns the machine whose code this instance runs.
  const char *cpu() const { return variant->cpu; }

  /// Holds the instance's lock during one call: calls of one instance run one after the other. In a process that was
  /// forked during another thread's call, the instance is reset to its state between two calls.
  class Turn {
  public:
    explicit Turn(tilewright_model &model) : model(model) {
      if (model.mutex.lock(model.generation.get()))
        model.forgetTornCall();
    }
    ~Turn() { model.mutex.unlock(); }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

  private:
    tilewright_model &model;
  };

  std::string error; ///< the error of the last failed call

private:
  using Sizes = std::vector<tilewright::plan::Expr>; ///< the sizes of one tensor

  // Create.cpp
  bool fail(std::string text);
  bool chooseVariant(const char *cpu);
  bool readPlan();
  bool findWeights(const char *path, bool verify);

  // Arguments.cpp
  bool checkSizes(const tilewright::library::CallerTensor *inputs);
  bool checkInput(size_t i, const tilewright::library::CallerTensor &tensor);
  bool findSymbol(size_t symbol, const tilewright::plan::Expr &expr, size_t i, size_t dim, int64_t size);
  bool findSymbols(const tilewright::library::CallerTensor *inputs);
  bool expectedSizes(size_t i, bool output, int64_t *sizes);
  bool checkOutput(size_t i, const tilewright::library::CallerTensor &tensor);
  bool checkMemory(size_t i, bool output, const tilewright::library::CallerTensor &tensor);
  bool checkOverlap(const tilewright::library::CallerTensor *inputs, const tilewright::library::CallerTensor *outputs);

  // Run.cpp
  void forgetTornCall();
  const tilewright::runtime::Frame *frameOf();
  bool walk(const tilewright::runtime::Frame &frame, const void *const *inputs, void *const *outputs);

  const tilewright::library::Description &description;
  const tilewright::library::Variant *variant = nullptr; ///< the selected variant of the description; set by create()
  tilewright::plan::Plan plan;
  std::vector<tilewright::runtime::Kernel> kernels;
  std::vector<Sizes> inputSizes, outputSizes;
  const uint8_t *weights = nullptr;
  void *mapping = nullptr; ///< address at which the file of weights is mapped
  size_t mappingBytes = 0;
  /// One pointer per input of the plan; only those of weights stay the same between calls.
  std::vector<const void *> inputPointers;
  std::vector<void *> outputPointers;
  tilewright::runtime::PackedBuffers packed;    ///< empty if the weights are stored packed
  tilewright::runtime::Memory memory;           ///< the memory of the current call, reused by the next one
  std::unique_ptr<std::atomic<int64_t>[]> busy; ///< nanoseconds per step of the plan; null: runs are not timed
  int threads = 1;
  tilewright::runtime::ThreadTeam team;
  tilewright::runtime::ForkMutex mutex; ///< held during a call
  tilewright::library::ProcessGeneration generation;

  static constexpr size_t maxFrames = 8;
  std::vector<std::unique_ptr<tilewright::runtime::Frame>> frames; ///< the most recently used frame first
  std::vector<int64_t> symbols;                                    ///< values of the symbols in the current call
};

#endif

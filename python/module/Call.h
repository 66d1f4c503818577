//===- Call.h - a compiled graph that Python calls ---------------------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_CALL_H
#define TILEWRIGHT_PYTHON_MODULE_CALL_H

#include "lib/Interfaces/ForkMutex.h"
#include "python/module/Sizes.h"
#include "python/module/Tensors.h"
#include "tilewright/Compiler.h"
#include <atomic>

namespace tilewright::python {

struct NvtxLibrary;

/// A tensor argument or result of the program. In strided tensors, the physical order of dimensions may differ from the
/// logical order, which is that of the torch tensor.
struct TensorSpec {
  std::string name;
  ScalarType dtype;
  std::vector<SizeProgram> sizes; ///< in logical order
  std::vector<unsigned> order;    ///< order[i]: the logical dimension at physical position i
  bool isStatic = false;
  int into = -1; ///< for a result: the input into whose memory it is written; -1: it has separate memory
};

/// Stored in the attribute `_tilewright_released` of a parameter whose memory was released. It owns the parameter's
/// packs.
struct Released {
  std::string name;
  uint64_t number = 0;
  std::vector<std::shared_ptr<const void>> packs;
};

/// The source of a symbol's value. The symbol is (value - offset) / factor, where the value is an integer argument or
/// the size of a tensor argument's dimension.
struct SymbolSource {
  unsigned argument = 0;
  int dim = -1; ///< dimension of a tensor argument; -1: the argument is an integer
  int64_t factor = 1, offset = 0;
};

/// Describes how the call obtains one result of the graph.
struct OutputRecipe {
  enum Kind { Tensor, Argument, None, Symbol, Compute } kind = None;
  unsigned index = 0;
  pybind11::object compute; ///< Compute: called with (arguments, symbol values, tensors of the program)
};

class GraphCall {
public:
  std::shared_ptr<Program> program;
  std::vector<TensorSpec> inputs, outputs; ///< tensors of the program; the seed is the last input
  std::vector<int> inputArguments;         ///< argument of each program input; -1: the next of constants; -2: the seed
  std::vector<pybind11::object> constants;
  std::vector<SymbolSource> symbols;
  std::vector<OutputRecipe> recipes;
  std::vector<bool> packedInputs; ///< Program::packedInputs(); may be empty
  unsigned argumentCount = 0;
  std::string name = "tilewright";   ///< name of its spans in profiles
  const NvtxLibrary *nvtx = nullptr; ///< if not null, calls and kernels are ranges of NVIDIA's profilers
  std::string record;                ///< Graph::explain() of the graph, if it was requested
  pybind11::object seedSource, threadSource, makeDense;
  pybind11::object written; ///< called with the written arguments and their copies, if any was copied
  int64_t calls = 0, copies = 0;
  int64_t timedFrom = -1;        ///< number of calls when the timing of steps was enabled; -1: it is off
  int32_t gpu = -1;              ///< the CUDA device on which the graph's tensors are; -1: they are on the CPU
  pybind11::object makeOnDevice; ///< for `gpu`: called with (dtype, sizes, strides), creates a tensor there
  bool lettingGo = false;        ///< calls release arguments after reading, and allocate results before writing them
  std::vector<bool> neededAtEnd; ///< for `lettingGo`: true for arguments that calls must not release

  /// Calls `release` once for each input for which `wanted` is true, after the first call has packed the input. The
  /// arguments of `release` are the number of the input, the address of its data and a Released. `release` returns the
  /// number of released bytes.
  void freeze(const std::vector<bool> &wanted, pybind11::object release);

  /// Sets `lettingGo`, so that later calls release arguments while they run. Arguments that the program writes, and the
  /// arguments `returned`, which are results of the graph or have views among the results, are not released. This
  /// function must be called once, after all other fields are set.
  void letGo(const std::vector<unsigned> &returned);

  /// Starts to pack the parameters among `arguments` and `constants` before the first call. Fake parameters, and
  /// parameters that differ from those for which the graph was compiled, are packed later by the call.
  void packAhead(pybind11::list arguments);

  ~GraphCall();

  /// Executes a call. Clears `arguments` and returns the list of results.
  pybind11::list run(pybind11::list arguments);

  /// Returns the values of the symbols in the last call, or an empty vector before the first call.
  const std::vector<int64_t> &lastSymbols() const { return shapesFor; }

private:
  friend class LettingGo;
  friend class OnDevice;
  struct Shapes {
    std::vector<int64_t> sizes, strides; ///< sizes and strides of all inputs, then of all outputs, concatenated
    std::vector<int64_t> bytes;          ///< sizes of the outputs in bytes
    std::vector<size_t> outputAt;        ///< start of each output's sizes and strides
  };
  pybind11::list runSettled(std::vector<pybind11::object> &held);
  pybind11::object makeResult(const Shapes &shapes, size_t output, void *&data) const;
  void tellWritten(const std::vector<pybind11::object> &held,
                   const std::vector<std::pair<size_t, pybind11::object>> &copied);
  size_t firstSizeOf(size_t input) const;
  [[noreturn]] void raise(const RunError &error, const std::vector<pybind11::object> &held, const Shapes &shapes) const;
  using ShapesPointer = std::shared_ptr<const Shapes>;
  /// Returns the shapes for the symbols' `values`. The caller must store the returned pointer: `shapes` may be replaced
  /// by a call in another thread that has other sizes.
  ShapesPointer evaluate(const std::vector<int64_t> &values);
  ShapesPointer shapes;           ///< the shapes of the last call
  std::vector<int64_t> shapesFor; ///< the symbols from which `shapes` was computed
  /// False while parameters can still be released. In this state calls are exclusive, so that no call frees memory
  /// whose address another call has read.
  std::atomic<bool> settled{true};
  runtime::ForkMutex settling;
  std::vector<pybind11::object> packedAhead; ///< parameters that packAhead() reads, until the first call
  size_t releasedBytes = 0;                  ///< bytes that were released since memory was last returned to the system
};

} // namespace tilewright::python

#endif

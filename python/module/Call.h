//===- Call.h - a compiled graph that Python calls ---------------------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_CALL_H
#define TILEWRIGHT_PYTHON_MODULE_CALL_H

#include "python/module/Sizes.h"
#include "python/module/Tensors.h"
#include "tilewright/Compiler.h"
#include "tilewright/ForkMutex.h"
#include <atomic>

namespace tilewright::python {

/// A tensor argument or result of the program. Sizes and strides are in logical order.
struct TensorSpec {
  std::string name;
  ScalarType dtype;
  std::vector<SizeProgram> sizes; ///< in logical order
  std::vector<unsigned> order;    ///< order[i]: the logical dimension at physical position i
  bool isStatic = false;
  int into = -1; ///< for a result: the input in whose memory it is stored; -1: none
};

/// The remaining data of a parameter whose memory was released. It is the parameter's attribute `_tilewright_released`,
/// which keeps the packs alive.
struct Released {
  std::string name;
  uint64_t number = 0;
  std::vector<std::shared_ptr<const void>> packs;
};

/// The source of a symbol's value: (value - offset) / factor of an integer argument, or of a tensor's dimension.
struct SymbolSource {
  unsigned argument = 0;
  int dim = -1; ///< -1: the value of the argument itself
  int64_t factor = 1, offset = 0;
};

/// How one result of the graph is obtained.
struct OutputRecipe {
  enum Kind { Tensor, Argument, None, Symbol, Compute } kind = None;
  unsigned index = 0;
  pybind11::object compute; ///< Compute: called with (arguments, symbol values)
};

class GraphCall {
public:
  std::shared_ptr<Program> program;
  std::vector<TensorSpec> inputs, outputs; ///< tensors of the program; hidden inputs are last
  std::vector<int> inputArguments;         ///< argument of each program input; -1: the next of constants; -2: the seed
  std::vector<pybind11::object> constants;
  std::vector<SymbolSource> symbols;
  std::vector<OutputRecipe> recipes;
  std::vector<bool> packedInputs; ///< Program::packedInputs(); may be empty
  unsigned argumentCount = 0;
  std::string name = "tilewright"; ///< name of its spans in profiles
  std::string record;              ///< Graph::explain() of the graph, if it was requested
  pybind11::object seedSource, threadSource, makeDense;
  pybind11::object written; ///< called with the written arguments, and with their dense copies or None
  int64_t calls = 0, copies = 0;
  int32_t gpu = -1;              ///< the CUDA device on which the graph's tensors are; -1: they are on the CPU
  pybind11::object makeOnDevice; ///< for `gpu`: called with (dtype, sizes, strides), creates a tensor there
  bool lettingGo = false;        ///< calls release arguments after reading, and allocate results before writing them
  std::vector<bool> neededAtEnd; ///< for `lettingGo`: the arguments that are results' sources or are written

  /// Calls `release` once for each input for which `wanted` is true, as soon as it is packed in the first call. The
  /// arguments of `release` are the number of the input, the address of its data and a Released. It returns true if it
  /// released the memory.
  void freeze(const std::vector<bool> &wanted, pybind11::object release);

  /// Allows later calls to release arguments while they run, except arguments that are written or from which results
  /// are made (`returned`). Call this function once, after all other properties are set.
  void letGo(const std::vector<unsigned> &returned);

  /// Starts to pack parameters. `arguments` are those of a call, but only parameters are read. A fake parameter, or a
  /// parameter that differs from the one that the graph was compiled for, is packed by the call.
  void packAhead(pybind11::list arguments);

  ~GraphCall();

  /// Clears `arguments` and returns the list of results.
  pybind11::list run(pybind11::list arguments);

  /// Returns the values of the symbols at the last call; empty before the first.
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
  /// A call must store the result: a call in another thread, with other sizes, may replace it meanwhile.
  ShapesPointer evaluate(const std::vector<int64_t> &values);
  ShapesPointer shapes;           ///< the shapes of the last call
  std::vector<int64_t> shapesFor; ///< the symbols from which `shapes` was computed
  /// True after parameters are released. Until then, calls are exclusive: no call may free a pointer that another has
  /// read.
  std::atomic<bool> settled{true};
  runtime::ForkMutex settling;
  std::vector<pybind11::object> packedAhead; ///< parameters that packAhead() reads, until the first call
  size_t releasedBytes = 0;                  ///< bytes that were released since memory was last returned to the system
};

} // namespace tilewright::python

#endif

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
  std::vector<SizeProgram> sizes; ///< logical order
  std::vector<unsigned> order;    ///< order[i]: the logical dimension at physical position i
  bool isStatic = false;
  int into = -1; ///< of a result: the input into whose memory it is written
};

/// The rest of a parameter whose memory was released. The parameter has it as its attribute `_tilewright_released`,
/// which keeps the packs alive.
struct Released {
  std::string name;
  uint64_t number = 0;
  std::vector<std::shared_ptr<const void>> packs;
};

/// The source of a symbol's value: (value - offset) / factor of an integer argument, or of a tensor's dimension.
struct SymbolSource {
  unsigned argument = 0;
  int dim = -1; ///< -1: the argument itself
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
  std::vector<TensorSpec> inputs, outputs; ///< of the program; hidden inputs are last
  std::vector<int> inputArguments;         ///< per program input: its argument; -1: the next of constants; -2: the seed
  std::vector<pybind11::object> constants;
  std::vector<SymbolSource> symbols;
  std::vector<OutputRecipe> recipes;
  std::vector<bool> packedInputs; ///< Program::packedInputs(); may be empty
  unsigned argumentCount = 0;
  std::string name = "tilewright"; ///< name of its spans in profiles
  std::string record;              ///< Graph::explain() of it, if it was requested
  pybind11::object seedSource, threadSource, makeDense;
  pybind11::object written; ///< called with the written arguments, and with their dense copies or None
  int64_t calls = 0, copies = 0;
  int32_t gpu = -1;              ///< the CUDA device on which the graph's tensors are; -1: they are on the CPU
  pybind11::object makeOnDevice; ///< for `gpu`: called with (dtype, sizes, strides), creates a tensor there
  bool lettingGo = false;        ///< arguments are released as they are read, and results allocated as they are written
  std::vector<bool> neededAtEnd; ///< for `lettingGo`, by argument: it is a result's source or is written

  /// Calls `release` once per input for which `wanted` is true, as soon as it is packed in the first call. It gets the
  /// number of the input, the address of its data and a Released, and returns whether it released the memory.
  void freeze(const std::vector<bool> &wanted, pybind11::object release);

  /// Lets later calls release arguments while they run, except those that are written or that results are made of
  /// (`returned`). Call this once, after everything else is set.
  void letGo(const std::vector<unsigned> &returned);

  /// Begins to pack parameters. `arguments` are those of a call, but only parameters are read. A fake parameter, or one
  /// that differs from what the graph was compiled for, is left to the call.
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
    std::vector<int64_t> sizes, strides; ///< of all inputs, then of all outputs, concatenated
    std::vector<int64_t> bytes;          ///< of the outputs
    std::vector<size_t> outputAt;        ///< start of each output's sizes and strides
  };
  pybind11::list runSettled(std::vector<pybind11::object> &held);
  pybind11::object makeResult(const Shapes &shapes, size_t output, void *&data) const;
  void tellWritten(const std::vector<pybind11::object> &held,
                   const std::vector<std::pair<size_t, pybind11::object>> &copied);
  size_t firstSizeOf(size_t input) const;
  [[noreturn]] void raise(const RunError &error, const std::vector<pybind11::object> &held, const Shapes &shapes) const;
  using ShapesPointer = std::shared_ptr<const Shapes>;
  /// A call keeps the result: another thread's call, with other sizes, may replace it meanwhile.
  ShapesPointer evaluate(const std::vector<int64_t> &values);
  ShapesPointer shapes;           ///< of the last call
  std::vector<int64_t> shapesFor; ///< the symbols from which `shapes` was computed
  /// Calls are exclusive until parameters are released: a pointer that one call read must not be freed by another.
  std::atomic<bool> settled{true};
  runtime::ForkMutex settling;
  std::vector<pybind11::object> packedAhead; ///< parameters that packAhead() reads, until the first call
  size_t releasedBytes = 0;                  ///< since memory was last returned to the system
};

} // namespace tilewright::python

#endif

//===- Call.h - a compiled graph as Python calls it --------------------------------===//
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
  int into = -1; ///< of a result: the input whose memory it is written into
};

/// What is left of a parameter whose memory was released. The parameter holds it as its attribute
/// `_tilewright_released`, and with it the packs.
struct Released {
  std::string name;
  uint64_t number = 0;
  std::vector<std::shared_ptr<const void>> packs;
};

/// Where a symbol's value comes from: (value - offset) / factor of an integer argument, or of a tensor's dimension.
struct SymbolSource {
  unsigned argument = 0;
  int dim = -1; ///< -1: the argument itself
  int64_t factor = 1, offset = 0;
};

/// What one result of the graph is.
struct OutputRecipe {
  enum Kind { Tensor, Argument, None, Symbol, Compute } kind = None;
  unsigned index = 0;
  pybind11::object compute; ///< Compute: called with (arguments, symbol values)
};

class GraphCall {
public:
  std::shared_ptr<Program> program;
  std::vector<TensorSpec> inputs, outputs; ///< of the program; hidden inputs last
  std::vector<int> inputArguments; ///< per program input: the argument it is, -1: constants[...] in turn, -2: the seed
  std::vector<pybind11::object> constants;
  std::vector<SymbolSource> symbols;
  std::vector<OutputRecipe> recipes;
  std::vector<bool> packedInputs; ///< Program::packedInputs(); may be empty
  unsigned argumentCount = 0;
  std::string name = "tilewright"; ///< of its spans in profiles
  std::string record;              ///< Graph::explain() of it, if it was asked for
  pybind11::object seedSource, threadSource, makeDense;
  pybind11::object written; ///< called with the arguments that were written, and with their dense copies or None
  int64_t calls = 0, copies = 0;
  int32_t gpu = -1;              ///< the CUDA device on which the graph's tensors are; -1: they are on the CPU
  pybind11::object makeOnDevice; ///< then: called with (dtype, sizes, strides), makes a tensor there
  bool lettingGo = false;        ///< arguments are let go of as they are read, and results made as they are written
  std::vector<bool> neededAtEnd; ///< then: by argument, results are made of it, or it is written

  /// `release` is called once per input of which `wanted` is true, as soon as it is packed in the first call, with the
  /// number of the input, the address of its data and a Released, and returns whether it released the memory.
  void freeze(const std::vector<bool> &wanted, pybind11::object release);

  /// From now on calls let go of arguments while they run, of those that no results are made of (`returned`) and that
  /// are not written. Once, after everything else is set.
  void letGo(const std::vector<unsigned> &returned);

  /// Begins to pack parameters: `arguments` as a call would have them, of which parameters count alone. One that is not
  /// as the graph was compiled for, or is fake, is left to the call.
  void packAhead(pybind11::list arguments);

  ~GraphCall();

  /// Clears `arguments` and returns the list of results.
  pybind11::list run(pybind11::list arguments);

  /// Values of the symbols at the last call; empty before the first.
  const std::vector<int64_t> &lastSymbols() const { return shapesFor; }

private:
  friend class LettingGo;
  friend class OnDevice;
  struct Shapes {
    std::vector<int64_t> sizes, strides; ///< of all inputs, then all outputs, one after the other
    std::vector<int64_t> bytes;          ///< of the outputs
    std::vector<size_t> outputAt;        ///< where the outputs' sizes and strides start
  };
  pybind11::list runSettled(std::vector<pybind11::object> &held);
  pybind11::object makeResult(const Shapes &shapes, size_t output, void *&data) const;
  void tellWritten(const std::vector<pybind11::object> &held,
                   const std::vector<std::pair<size_t, pybind11::object>> &copied);
  size_t firstSizeOf(size_t input) const;
  [[noreturn]] void raise(std::string error, const std::vector<pybind11::object> &held, const Shapes &shapes) const;
  using ShapesPointer = std::shared_ptr<const Shapes>;
  /// A call holds what it got: another thread's, for other sizes, may come in between.
  ShapesPointer evaluate(const std::vector<int64_t> &values);
  ShapesPointer shapes;           ///< of the last call
  std::vector<int64_t> shapesFor; ///< the symbols that `shapes` follows from
  /// Until parameters are released calls take turns: a pointer read by one must not be freed by another.
  std::atomic<bool> settled{true};
  runtime::ForkMutex settling;
  std::vector<pybind11::object> packedAhead; ///< what packAhead() reads, until a call has come
  size_t releasedBytes = 0;                  ///< since memory was last given back to the system
};

} // namespace tilewright::python

#endif

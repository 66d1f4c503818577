//===- Call.cpp - a compiled graph that Python calls ----------------------------------===//
//
// A call computes the symbols from integer arguments and from sizes of tensors. It reads the addresses of the inputs
// and checks their dtypes and sizes. It allocates the results, runs the program without the GIL, and returns the
// graph's results.
//
//===----------------------------------------------------------------------===//
#include "python/module/Call.h"
#include "python/module/NvtxRanges.h"
#include "python/module/ProfilerSpan.h"
#include "llvm/ADT/ScopeExit.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <optional>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright::python {

static const char *const releasedAttribute = "_tilewright_released";

GraphCall::ShapesPointer GraphCall::evaluate(const std::vector<int64_t> &values) {
  if (shapes && shapesFor == values)
    return shapes;
  auto fresh = std::make_shared<Shapes>();
  auto add = [&](const TensorSpec &spec) {
    size_t first = fresh->sizes.size(), rank = spec.sizes.size();
    for (const SizeProgram &size : spec.sizes)
      fresh->sizes.push_back(size.run(values.data()));
    fresh->strides.resize(first + rank);
    int64_t stride = 1, elements = 1;
    for (size_t i = rank; i-- > 0;) {
      unsigned dim = spec.order[i];
      int64_t size = fresh->sizes[first + dim];
      if (size < 0)
        throw py::value_error("tilewright: " + spec.name + ": dimension " + std::to_string(dim) +
                              " would have the size " + std::to_string(size));
      fresh->strides[first + dim] = stride;
      stride *= std::max<int64_t>(size, 1); // torch also computes strides of empty dimensions as if the size were 1
      elements *= size;
    }
    return (elements * int64_t(scalarTypeBits(spec.dtype)) + 7) / 8;
  };
  for (const TensorSpec &spec : inputs)
    add(spec);
  for (const TensorSpec &spec : outputs) {
    fresh->outputAt.push_back(fresh->sizes.size());
    fresh->bytes.push_back(add(spec));
  }
  shapesFor = values;
  return shapes = fresh;
}

static void *addressOf(py::handle object) {
  DLTensor tensor;
  if (exchange().tensorFromObject(object.ptr(), &tensor) != 0)
    throw py::error_already_set();
  return static_cast<char *>(tensor.data) + tensor.byteOffset;
}

static std::string listOf(const int64_t *values, int64_t count) {
  std::string text = "[";
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

namespace {
/// Reads tensor arguments and checks their dtype, device and sizes against their specifications.
class InputReader {
public:
  explicit InputReader(GraphCall &call) : call(call) {}

  /// Returns the address of a tensor argument's elements. For a parameter, sets `version` to torch's version counter.
  /// If the parameter's memory was released, sets `version` to Released::number and returns null. If the argument has
  /// other strides than `strides`, or is a zero tensor of autograd without memory, sets `copied` to the dense copy that
  /// replaces the argument.
  const void *read(const TensorSpec &spec, py::handle object, const int64_t *sizes, const int64_t *strides,
                   uint64_t &version, py::object &copied) {
    DLTensor tensor;
    if (exchange().tensorFromObject(object.ptr(), &tensor) != 0) {
      PyErr_Clear();
      throw py::type_error("tilewright: argument " + spec.name + " is " + std::string(py::str(py::type::of(object))) +
                           ", which has no memory on the CPU");
    }
    check(spec, tensor, sizes);
    int64_t rank = spec.sizes.size();
    bool same = true, empty = false;
    for (int64_t i = 0; i < rank; ++i) {
      same &= tensor.shape[i] == 1 || tensor.strides[i] == strides[i];
      empty |= tensor.shape[i] == 0;
    }
    if (empty)
      return tensor.data;
    if (!tensor.data) {
      static PyObject *attribute = PyUnicode_InternFromString(releasedAttribute);
      auto released = py::reinterpret_steal<py::object>(PyObject_GetAttr(object.ptr(), attribute));
      if (released && spec.isStatic) {
        version = released.cast<const Released &>().number;
        return nullptr;
      }
      PyErr_Clear();
      if (!object.attr("_is_zerotensor")().cast<bool>()) // autograd's zero tensors have no memory; a copy allocates it
        throw py::value_error("tilewright: argument " + spec.name +
                              " has elements but no memory (a fake or wrapper tensor?)");
      same = false;
    }
    if (spec.isStatic)
      version = versionOf(object);
    if (same)
      return static_cast<const char *>(tensor.data) + tensor.byteOffset;
    // The tensor has no memory, or other strides than those for which the program was compiled.
    ++call.copies;
    copied = call.makeDense(object, py::cast(std::vector<int64_t>(sizes, sizes + rank)),
                            py::cast(std::vector<int64_t>(strides, strides + rank)));
    if (exchange().tensorFromObject(copied.ptr(), &tensor) != 0)
      throw py::error_already_set();
    return static_cast<const char *>(tensor.data) + tensor.byteOffset;
  }

private:
  void check(const TensorSpec &spec, const DLTensor &tensor, const int64_t *sizes) {
    if (!hasType(tensor, spec.dtype))
      throw py::type_error("tilewright: argument " + spec.name + " is " + dlpackTypeName(tensor.dtype) +
                           "; the graph was compiled for " + scalarTypeName(spec.dtype).str() +
                           "; convert it, or compile for this dtype: a saved function takes what it was saved with");
    constexpr int32_t cpu = 1, cuda = 2; // device types of DLPack
    const bool isNumber = tensor.ndim == 0 && tensor.device.type == cpu;
    if (call.gpu < 0 && tensor.device.type != cpu)
      throw py::value_error("tilewright: argument " + spec.name + " is not on the CPU (DLPack device " +
                            std::to_string(tensor.device.type) + "); move it with .cpu()");
    if (call.gpu >= 0 && !isNumber && (tensor.device.type != cuda || tensor.device.id != call.gpu))
      throw py::value_error("tilewright: argument " + spec.name + " is on " +
                            (tensor.device.type == cpu    ? "the CPU"
                             : tensor.device.type == cuda ? "cuda:" + std::to_string(tensor.device.id)
                                                          : "DLPack device " + std::to_string(tensor.device.type)) +
                            "; the graph was compiled for cuda:" + std::to_string(call.gpu) + "; move it there");
    int64_t rank = spec.sizes.size();
    if (tensor.ndim != rank || !std::equal(sizes, sizes + rank, tensor.shape))
      throw py::value_error("tilewright: argument " + spec.name + " has the sizes " +
                            listOf(tensor.shape, tensor.ndim) + "; the graph was compiled for " + listOf(sizes, rank) +
                            "; compile for these sizes: a saved function takes what it was saved with");
  }
  GraphCall &call;
};

int64_t sizeAt(py::handle object, int dim, const std::string &what) {
  DLTensor tensor;
  if (exchange().tensorFromObject(object.ptr(), &tensor) != 0) {
    PyErr_Clear();
    throw py::type_error("tilewright: " + what + " is not a tensor");
  }
  if (dim >= tensor.ndim)
    throw py::value_error("tilewright: " + what + " has rank " + std::to_string(tensor.ndim) + "; more is needed");
  return tensor.shape[dim];
}

int64_t integerFrom(py::handle object, const std::string &what) {
  int64_t value = PyLong_Check(object.ptr()) ? PyLong_AsLongLong(object.ptr()) : -1;
  if (!PyLong_Check(object.ptr()) || (value == -1 && PyErr_Occurred())) {
    PyErr_Clear();
    throw py::type_error("tilewright: " + what + " is a symbolic size, an integer of 64 bits; it is " +
                         std::string(py::str(py::type::of(object))));
  }
  return value;
}
} // namespace

static std::string released(const TensorSpec &spec, const int64_t *sizes, py::handle object) {
  return "tilewright: the parameter " + object.attr(releasedAttribute).cast<const Released &>().name + " (" +
         scalarTypeName(spec.dtype).str() + listOf(sizes, int64_t(spec.sizes.size())) +
         ") was released by options={'freeze': True}, and ";
}
static const char *const releasedRemedy =
    "; make the first call of every graph that uses it before the frozen ones, give "
    "it memory again (p.data = ...), or leave freeze out";

/// Throws the Python exception that corresponds to `error.kind`.
void GraphCall::raise(const RunError &error, const std::vector<py::object> &held, const Shapes &shapes) const {
  PyObject *kind = PyExc_RuntimeError;
  switch (error.kind) {
  case RunError::Kind::ReleasedParameter:
    if (size_t input = error.input.value_or(inputs.size()); input < inputs.size() && inputArguments[input] >= 0 &&
                                                            py::hasattr(held[inputArguments[input]], releasedAttribute))
      throw std::runtime_error(
          released(inputs[input], shapes.sizes.data() + firstSizeOf(input), held[inputArguments[input]]) +
          "no pack of it that this graph could use is left" + releasedRemedy);
    break;
  case RunError::Kind::OutOfMemory:
    kind = PyExc_MemoryError;
    break;
  case RunError::Kind::IndexOutOfRange:
    kind = py::module_::import("tilewright._tilewright").attr("IndexOutOfRange").ptr();
    break;
  case RunError::Kind::DivisionByZero: // a RuntimeError, as in eager; both texts begin with "ZeroDivisionError"
  case RunError::Kind::ConditionFailed:
  case RunError::Kind::SizesDoNotFit:
  case RunError::Kind::Other:
    break;
  }
  PyErr_SetString(kind, ("tilewright: " + error.text).c_str());
  throw py::error_already_set();
}

size_t GraphCall::firstSizeOf(size_t input) const {
  size_t first = 0;
  for (size_t i = 0; i < input; ++i)
    first += inputs[i].sizes.size();
  return first;
}

void GraphCall::freeze(const std::vector<bool> &wanted, py::object release) {
  if (!program)
    return;
  settled = false;
  // The callback may store a raw pointer to this object, because this object owns the program that calls it.
  program->onPacked([this, wanted, release](size_t input, const void *data, uint64_t number,
                                            std::vector<std::shared_ptr<const void>> packs) {
    // Parameters are released only in the first call, which is exclusive. Later calls may run in parallel and may have
    // read a parameter's address, so its memory must not be freed.
    if (settled.load(std::memory_order_acquire) || input >= wanted.size() || !wanted[input])
      return false;
    py::gil_scoped_acquire gil;
    Released released{inputs[input].name, number, std::move(packs)};
    try {
      int64_t bytes = release(input, reinterpret_cast<uintptr_t>(data), std::move(released)).cast<int64_t>();
      releasedBytes += size_t(std::max<int64_t>(bytes, 0));
#ifdef __GLIBC__
      // glibc's heap may keep freed memory. malloc_trim() returns it to the system.
      if (releasedBytes > size_t(32) << 20) {
        releasedBytes = 0;
        malloc_trim(0);
      }
#endif
      return bytes > 0;
    } catch (py::error_already_set &error) {
      error.discard_as_unraisable("tilewright: releasing a parameter");
      return false;
    }
  });
}

py::list GraphCall::run(py::list arguments) {
  ProfilerSpan span(name);
  NvtxRange range(nvtx, name);
  if (arguments.size() != argumentCount)
    throw py::type_error("tilewright: the graph takes " + std::to_string(argumentCount) + " arguments, " +
                         std::to_string(arguments.size()) + " were given");
  std::vector<py::object> held;
  held.reserve(argumentCount);
  for (py::handle argument : arguments)
    held.push_back(py::reinterpret_borrow<py::object>(argument));
  if (PyList_SetSlice(arguments.ptr(), 0, PyList_GET_SIZE(arguments.ptr()), nullptr) != 0)
    throw py::error_already_set();
  if (settled.load(std::memory_order_acquire))
    return runSettled(held);
  bool torn;
  {
    py::gil_scoped_release release; // the thread that holds the lock `settling` may be waiting for the GIL
    torn = settling.lock();
  }
  auto unlock = llvm::make_scope_exit([&] { settling.unlock(); });
  if (torn)
    throw std::runtime_error("tilewright: this process was forked while another thread made the first call of a frozen "
                             "graph, which releases parameters as it packs them; make the first call before the fork, "
                             "or compile in the child");
  py::list results = runSettled(held);
  settled.store(true, std::memory_order_release);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return results;
}

void GraphCall::tellWritten(const std::vector<py::object> &held,
                            const std::vector<std::pair<size_t, py::object>> &copied) {
  if (copied.empty())
    return; // the program wrote into the memory of the arguments, whose version counters AOTAutograd increments
  py::list arguments, copies;
  for (const TensorSpec &output : outputs)
    if (output.into >= 0) {
      arguments.append(held[inputArguments[output.into]]);
      auto copy = std::find_if(copied.begin(), copied.end(),
                               [&](const auto &entry) { return entry.first == size_t(output.into); });
      copies.append(copy == copied.end() ? py::none() : copy->second);
    }
  written(arguments, copies);
}

void GraphCall::letGo(const std::vector<unsigned> &returned) {
  lettingGo = true;
  neededAtEnd.assign(argumentCount, false);
  for (unsigned argument : returned)
    neededAtEnd.at(argument) = true;
  for (const TensorSpec &output : outputs)
    if (output.into >= 0 && inputArguments[output.into] >= 0)
      neededAtEnd[inputArguments[output.into]] = true;
}

py::object GraphCall::makeResult(const Shapes &shapes, size_t output, void *&data) const {
  const TensorSpec &spec = outputs[output];
  size_t at = shapes.outputAt[output];
  if (gpu >= 0) {
    const size_t rank = spec.sizes.size();
    auto list = [&](const std::vector<int64_t> &all) {
      return std::vector<int64_t>(all.begin() + at, all.begin() + at + rank);
    };
    py::object tensor = makeOnDevice(std::string(scalarTypeName(spec.dtype)), list(shapes.sizes), list(shapes.strides));
    data = addressOf(tensor);
    return tensor;
  }
  return makeTensor(spec.dtype, shapes.sizes.data() + at, shapes.strides.data() + at, int64_t(spec.sizes.size()),
                    shapes.bytes[output], data);
}

/// The stream and the scratch memory of one call on a GPU. The stream is torch's current stream. The memory is
/// allocated with torch's caching allocator, which reuses memory in stream order. The methods acquire the
/// GIL before they use Python objects.
class OnDevice final : public CallersMemory {
public:
  explicit OnDevice(const GraphCall &call) : call(call) {}

  bool take(const std::vector<int32_t> &, RunError &) override { return true; } // runSettled() allocates results
  void release(const std::vector<int32_t> &) override {}

  uint64_t stream() override {
    void *current = nullptr;
    constexpr int32_t cuda = 2;
    if (exchange().currentStream(cuda, call.gpu, &current) == 0)
      return reinterpret_cast<uintptr_t>(current);
    py::gil_scoped_acquire gil;
    PyErr_Clear();
    return 0;
  }

  void *scratch(int64_t bytes) override {
    py::gil_scoped_acquire gil;
    try {
      slab = call.makeOnDevice("uint8", std::vector<int64_t>{bytes}, std::vector<int64_t>{1});
      return addressOf(slab);
    } catch (py::error_already_set &) {
      return nullptr; // the program then allocates from the NVIDIA driver, and reports an error if that also fails
    }
  }

private:
  const GraphCall &call;
  py::object slab;
};

/// One call that drops its references to arguments after reading them, and that allocates each result just before it is
/// written. The methods acquire the GIL.
class LettingGo final : public CallersMemory {
public:
  /// `copies` contains pairs of an input's number and the dense copy that replaces the input.
  LettingGo(const GraphCall &call, GraphCall::ShapesPointer shapes, std::vector<py::object> &held,
            std::vector<std::pair<size_t, py::object>> &copies, std::vector<py::object> &tensors,
            std::vector<void *> &results)
      : call(call), shapes(std::move(shapes)), held(held), copies(copies), tensors(tensors), results(results),
        readers(held.size(), 0) {
    for (int argument : call.inputArguments)
      if (argument >= 0)
        ++readers[argument];
  }

  bool take(const std::vector<int32_t> &outputs, RunError &error) override {
    py::gil_scoped_acquire gil;
    try {
      for (int32_t output : outputs)
        if (call.outputs[output].into < 0)
          tensors[output] = call.makeResult(*shapes, output, results[output]);
    } catch (py::error_already_set &) {
      failure = std::current_exception();
      error = {RunError::Kind::OutOfMemory, "out of memory"};
    }
    return !failure;
  }

  void release(const std::vector<int32_t> &inputs) override {
    py::gil_scoped_acquire gil;
    for (int32_t input : inputs) {
      int argument = call.inputArguments[input];
      if (argument < 0 || call.neededAtEnd[argument])
        continue;
      for (auto &[copied, copy] : copies)
        if (copied == size_t(input))
          copy = py::none();
      if (--readers[argument] == 0)
        held[argument] = py::none();
    }
  }

  /// Rethrows an exception from the allocation of a result.
  void rethrow() const {
    if (failure)
      std::rethrow_exception(failure);
  }

private:
  const GraphCall &call;
  GraphCall::ShapesPointer shapes;
  std::vector<py::object> &held;
  std::vector<std::pair<size_t, py::object>> &copies;
  std::vector<py::object> &tensors;
  std::vector<void *> &results;
  std::vector<int> readers; ///< for each argument, the number of program inputs that have not yet been read
  std::exception_ptr failure;
};

py::list GraphCall::runSettled(std::vector<py::object> &held) {
  std::vector<int64_t> values(symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i) {
    const SymbolSource &source = symbols[i];
    std::string what = "argument " + std::to_string(source.argument);
    int64_t value =
        source.dim < 0 ? integerFrom(held[source.argument], what) : sizeAt(held[source.argument], source.dim, what);
    if ((value - source.offset) % source.factor != 0)
      throw py::value_error("tilewright: the size " + std::to_string(value) + " is not " +
                            std::to_string(source.factor) + " times a whole number plus " +
                            std::to_string(source.offset));
    values[i] = (value - source.offset) / source.factor;
  }
  const ShapesPointer shapes = evaluate(values);

  InputReader reader(*this);
  std::vector<const void *> pointers(inputs.size());
  std::vector<uint64_t> versions(inputs.size(), 0);
  std::vector<std::pair<size_t, py::object>> copied; // the index of an input, and its dense copy
  int64_t seed = 0;
  const int64_t *sizes = shapes->sizes.data(), *strides = shapes->strides.data();
  size_t nextConstant = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    int argument = inputArguments[i];
    if (argument == -2) {
      seed = py::cast<int64_t>(seedSource());
      pointers[i] = &seed;
    } else {
      py::handle object = argument >= 0 ? held[argument] : constants[nextConstant++];
      py::object copy;
      pointers[i] = reader.read(inputs[i], object, sizes, strides, versions[i], copy);
      if (copy)
        copied.push_back({i, std::move(copy)});
      // If a tensor has elements but no memory, it is a released parameter, of which only the packs exist.
      if (!pointers[i] && versions[i] != 0 && inputs[i].isStatic && !(i < packedInputs.size() && packedInputs[i]) &&
          py::hasattr(object, releasedAttribute))
        throw std::runtime_error(released(inputs[i], sizes, object) + "this graph reads it unpacked" + releasedRemedy);
    }
    sizes += inputs[i].sizes.size();
    strides += inputs[i].sizes.size();
  }

  std::vector<void *> results(outputs.size());
  std::vector<py::object> tensors;
  for (const TensorSpec &output : outputs)
    if (output.into < 0) // outputs with `into`, which are stored in an input, follow all other outputs
      tensors.emplace_back();
  std::optional<LettingGo> memory;
  std::optional<OnDevice> onDevice;
  if (program && gpu >= 0)
    onDevice.emplace(*this);
  if (program && lettingGo && gpu < 0)
    memory.emplace(*this, shapes, held, copied, tensors, results);
  else
    for (size_t i = 0; i < tensors.size(); ++i)
      tensors[i] = makeResult(*shapes, i, results[i]);

  if (program) {
    // Releasing the GIL and reading the number of threads would take longer than the steps of a brief program.
    const bool brief = program->isBrief();
    int threads = brief ? 1 : py::cast<int>(threadSource());
    RunError error;
    bool ok;
    StepSpans spans;
    NvtxSteps ranges(nvtx);
    std::optional<StepObserver::Scope> observing;
    if (nvtx)
      observing.emplace(&ranges);
    else if (StepObserver *observer = spans.get())
      observing.emplace(observer);
    {
      std::optional<py::gil_scoped_release> release;
      if (!brief)
        release.emplace();
      ok = program->run(pointers.data(), results.data(), values.data(), versions.data(), threads, error,
                        memory     ? static_cast<CallersMemory *>(&*memory)
                        : onDevice ? &*onDevice
                                   : nullptr);
    }
    packedAhead.clear();
    if (memory)
      memory->rethrow();
    if (!ok)
      raise(error, held, *shapes);
  }
  ++calls;
  if (!outputs.empty() && outputs.back().into >= 0)
    tellWritten(held, copied);

  py::list list(recipes.size());
  for (size_t i = 0; i < recipes.size(); ++i) {
    const OutputRecipe &recipe = recipes[i];
    switch (recipe.kind) {
    case OutputRecipe::Tensor:
      list[i] = tensors[recipe.index];
      break;
    case OutputRecipe::Argument:
      list[i] = held[recipe.index];
      break;
    case OutputRecipe::None:
      list[i] = py::none();
      break;
    case OutputRecipe::Symbol:
      list[i] = py::int_(values[recipe.index]);
      break;
    case OutputRecipe::Compute:
      list[i] = recipe.compute(py::cast(held), py::cast(values), py::cast(tensors));
      break;
    }
  }
  return list;
}

} // namespace tilewright::python

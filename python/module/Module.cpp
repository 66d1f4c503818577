//===- Module.cpp - the private Python module _tilewright ----------------------------===//
#include "dialects/Graph/Graph.h"
#include "lib/Interfaces/NumberText.h"
#include "lib/Interfaces/OutputMemory.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "python/module/Call.h"
#include "python/module/Library.h"
#include "python/module/NvtxRanges.h"
#include "tilewright/Explain.h"
#include "tilewright/ExportedModel.h"
#include "tilewright/HostCode.h"
#include "tilewright/Target.h"
#include "tilewright/Tuner.h"
#include "llvm/Support/raw_ostream.h"
#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright::python {
namespace {

struct DtypeName {
  std::string name;
};

/// Raised in Python as _tilewright.Refused, for example if the importer does not support the graph. During a
/// compilation, a crash of the compiler is raised as Crashed, and any other error as RuntimeError.
class Refused : public std::runtime_error {
  using runtime_error::runtime_error;
};
class Crashed : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// Throws the error of a compilation. If the compiler crashed, `module` is leaked, because destroying it is not safe.
[[noreturn]] void throwFailure(llvm::Error error, mlir::OwningOpRef<mlir::ModuleOp> &module) {
  const bool crashed = error.isA<CompilerCrash>();
  std::string text = llvm::toString(std::move(error));
  if (!crashed)
    throw std::runtime_error(text);
  (void)module.release();
  throw Crashed(text);
}

template <typename T> T valueOf(llvm::Expected<T> value) {
  if (!value)
    throw Refused(llvm::toString(value.takeError()));
  return std::move(*value);
}

ScalarType dtypeNamed(const std::string &name) {
  if (auto type = scalarTypeFromName(name))
    return *type;
  throw Refused("the dtype " + name + " is not supported");
}

Size sizeFrom(py::handle value) {
  if (py::isinstance<py::str>(value))
    return Size(py::cast<std::string>(value));
  return Size(py::cast<int64_t>(value));
}
std::vector<Size> sizesFrom(py::handle values) {
  std::vector<Size> sizes;
  for (py::handle value : values)
    sizes.push_back(sizeFrom(value));
  return sizes;
}

Arg argFrom(py::handle value) {
  if (value.is_none())
    return Arg();
  if (py::isinstance<py::bool_>(value))
    return Arg(py::cast<bool>(value));
  if (PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    return overflow ? Arg(PyLong_AsDouble(value.ptr())) : Arg(int64_t(number));
  }
  if (PyFloat_Check(value.ptr()))
    return Arg(py::cast<double>(value));
  if (py::isinstance<py::str>(value))
    return Arg(py::cast<std::string>(value));
  if (py::isinstance<ValueRef>(value))
    return Arg(py::cast<ValueRef>(value));
  if (py::isinstance<SymbolicInt>(value))
    return Arg(py::cast<SymbolicInt>(value));
  if (py::isinstance<DtypeName>(value))
    return Arg(dtypeNamed(py::cast<DtypeName &>(value).name));
  if (py::isinstance<py::sequence>(value)) {
    ArgList list;
    for (py::handle item : value)
      list.push_back(argFrom(item));
    return Arg(std::move(list));
  }
  throw Refused("an argument of type " + std::string(py::str(py::type::of(value))) + " is not supported");
}

/// Returns the compiler session of this thread. The session is never destroyed, because the interpreter may exit while
/// other threads are running. A forked child process creates a new session: the parent's session, and even its
/// destructor, would wait for threads that do not exist in the child.
Session &session() {
  thread_local Session *instance = nullptr;
  thread_local bool renewed = false; // a session that crashed is locked; a new one can still read and write IR
  const bool crashed = compilerHasCrashed() && !renewed;
  if (!instance || !instance->isOfThisProcess() || crashed) {
    instance = new Session;
    renewed = compilerHasCrashed();
  }
  return *instance;
}

/// Raised in Python as _tilewright.NoTuneWorker.
class NoWorker : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The Python interface of GraphBuilder. It also collects the data from which a GraphCall is created.
class Graph {
public:
  Graph() : builder(session().context()) {}

  void symbol(const std::string &name, int64_t min, int64_t max) {
    if (llvm::Error error = builder.addSymbol(name, min, max))
      throw Refused(llvm::toString(std::move(error)));
  }

  std::pair<ValueRef, bool> input(const std::string &name, const std::string &dtype, py::handle sizes,
                                  py::handle strides, bool isStatic) {
    TensorMeta meta{dtypeNamed(dtype), sizesFrom(sizes)};
    BuiltInput built = valueOf(builder.addInput(name, meta, sizesFrom(strides), isStatic));
    inputs.push_back({name, meta.dtype, {}, built.layout.order, isStatic});
    return {built.value, built.layout.dense};
  }

  int64_t node(const std::string &target, py::handle args, py::dict kwargs, py::handle results, py::handle frames) {
    ArgList list = std::get<ArgList>(argFrom(args));
    std::vector<std::pair<std::string, Arg>> named;
    for (auto [key, value] : kwargs)
      named.push_back({py::cast<std::string>(key), argFrom(value)});
    std::vector<std::optional<TensorMeta>> metas;
    for (py::handle result : results) {
      if (result.is_none()) {
        metas.push_back(std::nullopt);
        continue;
      }
      auto pair = py::cast<py::tuple>(result);
      metas.push_back(TensorMeta{dtypeNamed(py::cast<std::string>(pair[0])), sizesFrom(pair[1])});
    }
    std::vector<Frame> stack;
    for (py::handle frame : frames) {
      auto [file, line, function] = py::cast<std::tuple<std::string, int, std::string>>(frame);
      stack.push_back({file, line, function});
    }
    return valueOf(builder.addNode(target, list, named, metas, stack));
  }

  /// Sets the results. Each element of `list` is (reference, dtype, strides, number of the input into which the result
  /// is written, or -1). Results that are written into inputs follow all other results. Returns for each result
  /// whether its memory is dense.
  std::vector<bool> setOutputs(py::handle list) {
    std::vector<OutputSpec> specs;
    for (py::handle item : list) {
      auto fields = py::cast<py::tuple>(item);
      int into = py::cast<int>(fields[3]);
      specs.push_back({py::cast<ValueRef>(fields[0]), sizesFrom(fields[2]), into});
      outputs.push_back({"result " + std::to_string(outputs.size()),
                         dtypeNamed(py::cast<std::string>(fields[1])),
                         {},
                         {},
                         false,
                         into});
    }
    std::vector<bool> dense;
    for (auto [spec, layout] : llvm::zip_equal(outputs, valueOf(builder.setOutputs(specs)))) {
      spec.order = layout.order;
      dense.push_back(layout.dense);
    }
    return dense;
  }

  std::string text() {
    finish();
    std::string result;
    llvm::raw_string_ostream stream(result);
    mlir::OpPrintingFlags flags;
    flags.elideLargeElementsAttrs();
    module->print(stream, flags);
    return result;
  }

  /// Compiles a copy of the graph and returns the record of this compilation (tilewright/Explain.h).
  std::string explain(const Options &options, const std::string &name) {
    finish();
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    ExplainOptions explain;
    explain.model = name;
    auto record = explainCompile(session(), *copy, options, explain);
    if (!record)
      throwFailure(record.takeError(), copy);
    return std::move(*record);
  }

  /// Tunes a copy of the graph at `tier` ("quick" or "full"). The command `worker` starts the processes that measure.
  /// Returns the lines of the report.
  std::vector<std::string> tune(const Options &options, const std::string &tier, std::vector<std::string> worker,
                                std::vector<int64_t> sizes) {
    finish();
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    TuneOptions how;
    how.tier = tier == "full" ? TuneTier::Full : TuneTier::Quick;
    how.deterministic = options.deterministic;
    how.worker = std::move(worker);
    how.sizes = std::move(sizes);
    std::vector<std::string> lines;
    how.progress = [&](const std::string &line, size_t, size_t, double) { lines.push_back(line); };
    // Ctrl-C ends the search. Completed measurements are stored, and KeyboardInterrupt is raised after the search
    // returns.
    how.interrupted = [] {
      py::gil_scoped_acquire held;
      return PyErr_CheckSignals() != 0;
    };
    llvm::Expected<TuneReport> report = [&] {
      py::gil_scoped_release released;
      return tuneModel(session(), *copy, options, how);
    }();
    if (PyErr_Occurred())
      throw py::error_already_set();
    if (!report) {
      llvm::Error failed = report.takeError();
      if (failed.isA<NoTuneWorker>())
        throw NoWorker(llvm::toString(std::move(failed)));
      throwFailure(std::move(failed), copy);
    }
    for (const TuneReport *part : report->each()) {
      std::string text;
      if (part->untunedNanoseconds > 0)
        text = numberText("%.3f of the untuned time [%.3f, %.3f]; ", part->ratio, part->low, part->high);
      lines.push_back(part->sizesText() + "the whole graph: " + text + part->verdict);
      for (const std::string &problem : part->problems)
        lines.push_back("no record is kept: " + problem);
    }
    return lines;
  }

  std::shared_ptr<GraphCall> compile(const Options &options) {
    finish();
    auto call = std::make_shared<GraphCall>();
    auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
    auto types = function.getFunctionType();
    unsigned symbols = types.getNumInputs() - inputs.size() - builderNeededSeed;
    auto fill = [](TensorSpec &spec, mlir::Type type) {
      // The types of @main are in physical order: dimension i of the type is the logical dimension order[i].
      auto sizes = graph::sizesOf(mlir::cast<mlir::RankedTensorType>(type));
      std::vector<mlir::AffineExpr> logical(sizes.size());
      for (size_t i = 0; i < sizes.size(); ++i)
        logical[spec.order[i]] = sizes[i];
      for (mlir::AffineExpr size : logical)
        spec.sizes.push_back(SizeProgram(size));
    };
    for (auto [i, spec] : llvm::enumerate(inputs))
      fill(spec, types.getInput(symbols + i));
    for (auto [i, spec] : llvm::enumerate(outputs))
      fill(spec, types.getResult(i));
    if (builderNeededSeed) {
      TensorSpec seed{"seed", ScalarType::I64, {}, {0}};
      fill(seed, types.getInputs().back());
      inputs.push_back(seed);
    }
    call->inputs = inputs;
    call->outputs = outputs;
    if (!outputs.empty()) {
      auto program = session().compile(*module, options);
      if (!program)
        throwFailure(program.takeError(), module);
      call->program = *program;
    }
    module = {};
    releaseCompilerMemory();
    return call;
  }

  std::string typeOf(ValueRef value) { return valueOf(builder.typeText(value)); }
  std::string typeFor(const std::string &dtype, py::handle sizes) {
    return valueOf(builder.typeText(TensorMeta{dtypeNamed(dtype), sizesFrom(sizes)}));
  }
  std::string normalize(const std::string &text) { return valueOf(builder.normalize(text)); }
  bool needsSeed() const { return module ? builderNeededSeed : builder.needsSeed(); }

private:
  void finish() {
    if (module)
      return;
    builderNeededSeed = builder.needsSeed();
    module = valueOf(builder.finish());
  }

  GraphBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  bool builderNeededSeed = false;
  std::vector<TensorSpec> inputs, outputs;
};

py::dict reportOf(const GraphCall &call) {
  py::dict report;
  if (!call.program)
    return report;
  const CompileReport &r = call.program->report;
  report["operations"] = r.operations;
  report["kernels"] = r.kernels;
  report["distinct_kernels"] = r.distinctKernels;
  report["cached_kernels"] = r.cachedKernels;
  report["stage_milliseconds"] = r.stageMilliseconds;
  py::list decisions;
  for (const Decision &d : r.decisions) {
    py::dict entry;
    entry["kind"] = d.kind;
    entry["done"] = d.done;
    entry["subject"] = d.subject;
    entry["reason"] = d.reason;
    entry["where"] = d.where;
    decisions.append(entry);
  }
  report["decisions"] = decisions;
  report["cache"] = r.cache;
  report["warnings"] = r.warnings;
  return report;
}

/// Returns a dictionary for each step, with its times since profile(True) and the user's line. The flops and bytes are
/// those of one call with the sizes of the last call.
py::list timesOf(const GraphCall &call) {
  py::list list;
  if (!call.program)
    return list;
  const std::vector<std::string> &lines = call.program->report.stepLines;
  for (const auto &[step, time] : llvm::enumerate(call.program->times(call.lastSymbols().data()))) {
    py::dict entry;
    entry["line"] = step < lines.size() ? lines[step] : "";
    entry["kernel"] = time.kernel;
    entry["operations"] = time.operations;
    entry["schedule"] = time.schedule;
    entry["nanoseconds"] = time.nanoseconds;
    entry["flops"] = time.flops;
    entry["bytes"] = time.bytes;
    entry["kept"] = time.kept;
    list.append(entry);
  }
  return list;
}

} // namespace

PYBIND11_MODULE(_tilewright, m) {
  py::register_exception<NoWorker>(m, "NoTuneWorker", PyExc_RuntimeError);
  m.doc() = "The compiler of the package tilewright; private.";
  // For an index that is out of range, some operators of eager raise IndexError, but gather and scatter raise
  // RuntimeError. IndexOutOfRange is a subclass of both.
  m.attr("IndexOutOfRange") = py::reinterpret_steal<py::object>(
      PyErr_NewException("tilewright.IndexOutOfRange",
                         py::make_tuple(py::handle(PyExc_IndexError), py::handle(PyExc_RuntimeError)).ptr(), nullptr));
  py::register_exception<Refused>(m, "Refused", PyExc_RuntimeError);
  py::register_exception<Crashed>(m, "Crashed", PyExc_RuntimeError);
  m.def("compiler_has_crashed", &compilerHasCrashed);

  py::class_<ValueRef>(m, "Ref", "A result of an input or a node.")
      .def(py::init([](int64_t id, unsigned result) { return ValueRef{id, result}; }), py::arg("id"),
           py::arg("result") = 0)
      .def_readonly("id", &ValueRef::id)
      .def_readonly("result", &ValueRef::result)
      .def(py::pickle(
          [](const ValueRef &ref) { return py::make_tuple(ref.id, ref.result); },
          [](const py::tuple &state) { return ValueRef{state[0].cast<int64_t>(), state[1].cast<unsigned>()}; }));
  py::class_<SymbolicInt>(m, "Sym", "A symbolic integer, as sympy prints it.")
      .def(py::init([](std::string text) { return SymbolicInt{std::move(text)}; }))
      .def(py::pickle([](const SymbolicInt &symbol) { return py::make_tuple(symbol.expression); },
                      [](const py::tuple &state) { return SymbolicInt{state[0].cast<std::string>()}; }));
  py::class_<DtypeName>(m, "Dtype", "A torch dtype by name.")
      .def(py::init([](std::string name) { return DtypeName{std::move(name)}; }))
      .def(py::pickle([](const DtypeName &dtype) { return py::make_tuple(dtype.name); },
                      [](const py::tuple &state) { return DtypeName{state[0].cast<std::string>()}; }));

  py::class_<Options>(m, "Options")
      .def(py::init([] {
        Options options;
        options.sizesHold = true; // torch's guards check the sizes at every call, so the program need not check them
        return options;
      }))
      .def_readwrite("target", &Options::target)
      .def_readwrite("cpu", &Options::cpu)
      .def("set_own",
           [](Options &options, const std::string &name, const std::string &value) { options.own.set(name, value); })
      .def_readwrite("rounding", &Options::rounding)
      .def_readwrite("dump", &Options::dumpDirectory)
      .def_readwrite("schedule_file", &Options::scheduleFile)
      .def_readwrite("cache", &Options::cache)
      .def_readwrite("check", &Options::check)
      .def_readwrite("tune", &Options::tune)
      .def_readwrite("records", &Options::records)
      .def_readwrite("deterministic", &Options::deterministic)
      .def_readwrite("threads", &Options::threads);

  m.def("records_digest",
        [](const std::string &folder) { return recordsDigest(folder.empty() ? defaultRecordsFolder() : folder); });
  m.def("tune_worker", [] {
    py::gil_scoped_release released;
    return runTuneWorker();
  });

  m.def("explain_page", [](const std::vector<std::string> &records, const std::string &against,
                           const std::string &program) { return valueOf(explainPage(records, against, program)); });

  py::class_<Graph>(m, "Graph", "Takes the nodes of a graph one by one.")
      .def(py::init<>())
      .def("symbol", &Graph::symbol)
      .def("input", &Graph::input)
      .def("node", &Graph::node)
      .def("outputs", &Graph::setOutputs)
      .def("text", &Graph::text)
      .def("compile", &Graph::compile)
      .def("explain", &Graph::explain)
      .def("tune", &Graph::tune)
      .def("type_of", &Graph::typeOf)
      .def("type_for", &Graph::typeFor)
      .def("normalize", &Graph::normalize)
      .def("needs_seed", &Graph::needsSeed);

  py::class_<Released>(m, "Released", "Describes a parameter whose memory was released.")
      .def_readwrite("name", &Released::name);

  py::class_<GraphCall, std::shared_ptr<GraphCall>>(m, "GraphCall", "A compiled graph.")
      .def("__call__", &GraphCall::run)
      .def("configure",
           [](GraphCall &call, unsigned argumentCount, std::vector<int> inputArguments,
              std::vector<py::object> constants,
              const std::vector<std::tuple<unsigned, int, int64_t, int64_t>> &symbols,
              const std::vector<std::tuple<std::string, unsigned, py::object>> &recipes, py::object seed,
              py::object threads, py::object makeDense, py::object written) {
             call.packedInputs = call.program ? call.program->packedInputs() : std::vector<bool>();
             call.argumentCount = argumentCount;
             call.inputArguments = std::move(inputArguments);
             if (call.inputArguments.size() != call.inputs.size())
               throw py::value_error("one argument per input is needed");
             call.constants = std::move(constants);
             for (auto [argument, dim, factor, offset] : symbols)
               call.symbols.push_back({argument, dim, factor, offset});
             for (const auto &[kind, index, compute] : recipes) {
               OutputRecipe::Kind k = kind == "tensor"     ? OutputRecipe::Tensor
                                      : kind == "argument" ? OutputRecipe::Argument
                                      : kind == "symbol"   ? OutputRecipe::Symbol
                                      : kind == "compute"  ? OutputRecipe::Compute
                                                           : OutputRecipe::None;
               call.recipes.push_back({k, index, compute});
             }
             call.seedSource = seed;
             call.threadSource = threads;
             call.makeDense = makeDense;
             call.written = written;
           })
      .def("let_go", &GraphCall::letGo)
      .def("on_device",
           [](GraphCall &call, int32_t gpu, py::object make) {
             call.gpu = gpu;
             call.makeOnDevice = std::move(make);
           })
      .def("pack_ahead", &GraphCall::packAhead)
      .def("repack",
           [](GraphCall &call) {
             if (call.program)
               call.program->repack();
           })
      .def("profile",
           [](GraphCall &call, bool on) {
             if (call.program)
               call.program->profile(on);
             call.timedFrom = on ? call.calls : -1;
           })
      .def_property_readonly("timed_calls",
                             [](const GraphCall &call) { return call.timedFrom < 0 ? 0 : call.calls - call.timedFrom; })
      .def("times", &timesOf)
      .def("freeze", &GraphCall::freeze)
      .def_readonly("packed_inputs", &GraphCall::packedInputs)
      .def("packed_bytes", [](const GraphCall &call) { return call.program ? call.program->packedBytes() : 0; })
      .def("report", &reportOf)
      .def("mark_ranges", [](GraphCall &call, const std::string &library) { call.nvtx = NvtxLibrary::open(library); })
      .def_readwrite("name", &GraphCall::name)
      .def_readwrite("record", &GraphCall::record)
      .def_readonly("calls", &GraphCall::calls)
      .def_readonly("copies", &GraphCall::copies);

  // Loading has read many pages of the code and the relocation tables of LLVM and MLIR. They are not needed until a
  // compilation.
  releaseCompilerMemory();

  m.def(
      "import_exported",
      [](const std::string &path) { (void)valueOf(valueOf(ExportedModel::open(path))->import(session().context())); },
      "Reads and imports a .pt2 file. Raises Refused with all reasons if an op is not supported.");
  m.def("knows", [](const std::string &target) { return GraphBuilder::knows(target); });
  m.def(
      "dtype_names",
      [] {
        std::vector<std::string> names;
        for (const ScalarTypeInfo &info : scalarTypes())
          if (info.bits >=
              8) // torch.int4 and similar dtypes have one byte per element, and graphs have packed elements
            names.push_back(info.name.str());
        return names;
      },
      "Returns torch's names of the dtypes that graphs imported from torch may have.");
  m.def("target_names", &targetNames);
  m.def(
      "target_options",
      [] {
        std::vector<std::tuple<std::string, std::string, bool, std::string>> rows;
        for (const auto &[target, option] : targetOptions())
          if (option.uses & InPython)
            rows.emplace_back(option.name.str(), target, option.kind == TargetOption::Flag, option.help.str());
        return rows;
      },
      "Returns the options that targets declare: name, target, whether the value is a bool and not a text, meaning.");
  m.def("has_amx", [] {
    auto host = describeHost("native");
    return host && host->shape.amx;
  });
  m.def("bring_pages", [](int64_t bytes) { runtime::bringPages(bytes); }, py::arg("bytes"));
  m.def("free_idle_memory", &runtime::freeIdleMemory, py::arg("bytes"), py::call_guard<py::gil_scoped_release>());
  m.def("trim_heap", &runtime::trimHeap, py::arg("bytes"), py::call_guard<py::gil_scoped_release>());
  m.def("calibrate", [] {
    std::string path;
    llvm::Expected<MachineRates> rates = calibrateHost(path);
    if (!rates)
      throw std::runtime_error(llvm::toString(rates.takeError()));
    return printRates(*rates);
  });
  m.def(
      "machine_peaks",
      [](int threads) {
        HostPeaks peaks = measureHostPeaks(threads);
        py::dict result;
        for (auto [name, value] :
             std::initializer_list<std::pair<const char *, double>>{{"f32", peaks.f32},
                                                                    {"bf16", peaks.bf16},
                                                                    {"int8", peaks.int8},
                                                                    {"l1", peaks.l1},
                                                                    {"l2", peaks.l2},
                                                                    {"l3", peaks.l3},
                                                                    {"dram", peaks.dram},
                                                                    {"l2_bytes", double(peaks.l2Bytes)},
                                                                    {"l3_bytes", double(peaks.l3Bytes)}})
          result[name] = value;
        return result;
      },
      py::arg("threads"));
  m.def("build_identity", [] { return buildIdentity(reinterpret_cast<const void *>(&buildIdentity)); });
  addLibrary(m);
  m.def("operators", [] {
    py::dict result;
    for (const OperatorRow &row : GraphBuilder::operators())
      result[py::str(row.target)] = py::make_tuple(row.kind.str(), row.aliasing.str(), row.family.str());
    return result;
  });
}

} // namespace tilewright::python

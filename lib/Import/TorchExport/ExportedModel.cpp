//===- ExportedModel.cpp - import the nodes of a .pt2 file through GraphBuilder ---===//
//
// This file imports the nodes of a torch.export program in order. The importer uses the same operator table and reports
// the same reasons as python/tilewright/fx/walker.py, which imports fx graphs. Nodes that compute sizes are skipped:
// the file stores the expression of every symbolic int.
//
// Test: test/Python/test_exported.py, test/Tools/exported.test
//
//===----------------------------------------------------------------------===//
#include "tilewright/ExportedModel.h"
#include "dialects/Graph/Graph.h"
#include "lib/Import/Builder/Complaints.h"
#include "lib/Import/Builder/Importer.h"
#include "lib/Import/TorchExport/ExportedGuards.h"
#include "lib/Import/TorchExport/ExportedMemory.h"
#include "lib/Import/TorchExport/Reader/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/GraphBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tilewright {

struct ExportedModel::State {
  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> file;
  exported::Program program;
  std::vector<const void *> weights;
  std::vector<std::vector<uint8_t>> copies; ///< dense copies of weights that are not dense
};

namespace {

using exported::Argument;
using exported::Input;

/// Returns the reason why a tensor cannot be an input or the result of a node, or "" if it can.
std::string unsupportedTensor(const exported::TensorMeta &meta) {
  if (!meta.strided)
    return "its layout is sparse; only strided tensors are supported";
  if (meta.device != "cpu")
    return "it is on " + meta.device + "; Tilewright compiles for cpu: move the model there before it is exported";
  if (!scalarTypeFromName(meta.dtype))
    return "its dtype " + meta.dtype + " is not supported";
  return "";
}

TensorMeta metaOf(const exported::TensorMeta &meta, ScalarType dtype) { return {dtype, meta.sizes}; }

/// Copies the elements of a weight to row-major order.
std::vector<uint8_t> rowMajor(const exported::Weight &weight) {
  unsigned width = exported::elementBytes(weight.meta.dtype), rank = weight.meta.sizes.size();
  std::vector<int64_t> sizes, strides, indices(rank, 0);
  size_t count = 1;
  for (unsigned dim = 0; dim < rank; ++dim) {
    sizes.push_back(std::get<int64_t>(weight.meta.sizes[dim]));
    strides.push_back(std::get<int64_t>(weight.meta.strides[dim]));
    count *= sizes.back();
  }
  std::vector<uint8_t> bytes(count * width);
  int64_t from = std::get<int64_t>(weight.meta.offset);
  for (size_t i = 0; i < count; ++i) {
    memcpy(&bytes[i * width], weight.storage.view.data() + from * width, width);
    for (int dim = int(rank) - 1; dim >= 0; --dim) {
      from += strides[dim];
      if (++indices[dim] < sizes[dim])
        break;
      from -= strides[dim] * sizes[dim];
      indices[dim] = 0;
    }
  }
  return bytes;
}

/// Imports one program: passes the nodes to a GraphBuilder and collects the reasons for which it rejects nodes.
class ProgramWalker {
public:
  ProgramWalker(const exported::Program &program, mlir::MLIRContext &context, std::vector<const void *> &weights,
                std::vector<std::vector<uint8_t>> &copies)
      : program(program), context(&context), builder(context), weights(weights), copies(copies), memory(program) {}

  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> run() {
    findUsed();
    for (const exported::Output &output : program.outputs)
      if (output.kind == exported::Output::Kind::Mutation)
        complaints.add("the model writes '" + output.name +
                       "', and a compiled model keeps no state between calls: call model.eval() before it is "
                       "exported, or return the new value instead");
    addSymbols();
    checkGuards();
    for (const Input &input : program.inputs)
      addInput(input);
    for (const exported::Node &node : program.graph.nodes)
      addNode(node);
    if (complaints.empty())
      addOutputs();
    if (!complaints.empty())
      return complaints.error();
    auto module = builder.finish();
    if (!module)
      return module.takeError();
    auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
    for (auto [i, name] : llvm::enumerate(outputNames))
      main.setResultAttr(i, graph::nameAttrName, mlir::StringAttr::get(main.getContext(), name));
    nameSymbols(main);
    weights.resize(weights.size() + builderSeed, nullptr); // null: the caller passes the seed at each call
    return module;
  }

private:
  /// Renames the symbols of sizes to the user's names. A name is skipped if another size already uses it as its symbol.
  void nameSymbols(mlir::func::FuncOp main) {
    for (auto [number, symbol] : llvm::enumerate(graph::symbolicSizesOf(main)))
      if (auto name = program.names.find(symbol.name); name != program.names.end() && !sizeSymbols.count(name->second))
        main.setArgAttr(number, graph::symbolAttrName, mlir::StringAttr::get(main.getContext(), name->second));
  }

  void findUsed() {
    auto use = [&](const std::string &name) { used.insert(name); };
    for (const exported::Node &node : program.graph.nodes) {
      for (const Argument &argument : node.positional)
        exported::visitTensors(argument, use);
      for (const auto &[name, argument] : node.named)
        exported::visitTensors(argument, use);
    }
    for (const exported::Output &output : program.outputs)
      exported::visitTensors(output.value, use);
  }

  /// Adds the symbols of the user's inputs. Each call derives the symbols' values from the sizes of its input tensors.
  void addSymbols() {
    llvm::SetVector<llvm::StringRef> symbols;
    for (const Input &input : program.inputs) {
      const auto *tensor = std::get_if<exported::TensorName>(&input.value);
      if (input.kind != Input::Kind::User || !tensor)
        continue;
      for (const exported::Size &size : program.graph.tensors.at(tensor->name).sizes)
        if (const auto *text = std::get_if<std::string>(&size))
          for (llvm::StringRef rest = *text; rest.contains("Symbol('");) {
            rest = rest.split("Symbol('").second;
            symbols.insert(rest.take_until([](char c) { return c == '\''; }));
          }
    }
    for (llvm::StringRef symbol : symbols) {
      auto range = program.ranges.find(symbol.str());
      int64_t low = 0, high = INT64_MAX;
      if (range != program.ranges.end()) {
        low = std::max<int64_t>(0, range->second.low.value_or(0));
        high = range->second.high.value_or(INT64_MAX);
      }
      if (low > high)
        complaints.add("the range of the size " + symbol.str() + " is empty");
      else if (llvm::Error error = builder.addSymbol(symbol, low, high))
        complaints.add(llvm::toString(std::move(error)));
      sizeSymbols[symbol] = {mlir::getAffineSymbolExpr(sizeSymbols.size(), context), low, high};
    }
  }

  /// Adds a run-time check for each comparison in the guards that the symbols' ranges do not imply. Comparisons that
  /// exclude only the sizes 0 and 1, and comparisons of other values than sizes, are ignored (readGuard()). Rejects the
  /// program if a run-time check cannot express a comparison.
  void checkGuards() {
    llvm::StringSet<> names;
    for (const Input &input : program.inputs)
      names.insert(input.name);
    auto sizeOf = [&](llvm::StringRef name, unsigned dim) -> std::optional<std::string> {
      auto tensor = program.graph.tensors.find(name.str());
      if (!names.contains(name) || tensor == program.graph.tensors.end() || dim >= tensor->second.sizes.size())
        return std::nullopt;
      const exported::Size &size = tensor->second.sizes[dim];
      const auto *number = std::get_if<int64_t>(&size);
      return number ? std::to_string(*number) : std::get<std::string>(size);
    };
    std::vector<std::pair<graph::SizeRule, std::string>> rules;
    for (const std::string &guard : program.guards)
      if (std::string part = readGuard(guard, sizeSymbols, sizeOf, context, rules); !part.empty())
        complaints.add("it is valid only if " + part +
                       ", which a compiled model does not check; declare the sizes with torch.export.Dim, as multiples "
                       "(2 * n) or with ranges");
    for (const auto &[rule, text] : rules)
      builder.importer().guards.push_back(
          graph::guardAttr(rule, sizeSymbols.size(), "torch.export's guard: " + text + " must hold"));
  }

  void addInput(const Input &input) {
    if (input.kind == Input::Kind::Fixed)
      return;
    auto refuse = [&](const std::string &why) {
      complaints.add("the input '" + (input.weight.empty() ? input.name : input.weight) + "': " + why);
      refused.insert(input.name);
    };
    if (const auto *foreign = std::get_if<exported::Foreign>(&input.value))
      return refuse("it is " + foreign->what + ", not a tensor");
    if (!std::holds_alternative<exported::TensorName>(input.value))
      return refuse("it is a number whose value is not constant; make it a tensor, or pass a constant to torch.export");
    bool isUsers = input.kind == Input::Kind::User;
    if (!isUsers && !used.contains(input.name))
      return;
    const exported::TensorMeta &meta = program.graph.tensors.at(input.name);
    if (std::string why = unsupportedTensor(meta); !why.empty())
      return refuse(why);
    ScalarType dtype = *scalarTypeFromName(meta.dtype);
    const exported::Weight *weight = isUsers ? nullptr : &program.weights.at(input.weight);
    std::string name = isUsers ? input.name : input.weight;
    auto built = builder.addInput(name, metaOf(meta, dtype), weight ? weight->meta.strides : std::vector<Size>(),
                                  /*isStatic=*/!isUsers);
    if (!built)
      return refuse(llvm::toString(built.takeError()));
    values[input.name] = built->value;
    if (weight && !built->layout.dense)
      copies.push_back(rowMajor(*weight));
    const uint8_t *elements = nullptr;
    if (weight)
      elements = built->layout.dense ? reinterpret_cast<const uint8_t *>(weight->storage.view.data()) +
                                           std::get<int64_t>(weight->meta.offset) * scalarTypeBits(dtype) / 8
                                     : copies.back().data();
    static const char nothing = 0; // the pointer of an empty weight must not be null
    weights.push_back(weight && !elements ? static_cast<const void *>(&nothing) : elements);
  }

  /// Converts an argument for GraphBuilder. Returns nullopt if that is impossible. The reason is in `why`, unless no
  /// earlier node computes the argument.
  std::optional<Arg> argOf(const Argument &argument, std::string &why) {
    if (const auto *tensor = std::get_if<exported::TensorName>(&argument)) {
      auto found = values.find(tensor->name);
      if (found == values.end())
        return std::nullopt;
      return Arg(found->second);
    }
    if (const auto *list = std::get_if<exported::ArgumentList>(&argument)) {
      ArgList items;
      for (const Argument &item : *list) {
        std::optional<Arg> converted = argOf(item, why);
        if (!converted)
          return std::nullopt;
        items.push_back(std::move(*converted));
      }
      return Arg(std::move(items));
    }
    if (const auto *dtype = std::get_if<exported::DtypeName>(&argument)) {
      if (auto type = scalarTypeFromName(dtype->name))
        return Arg(*type);
      why = "the dtype " + dtype->name + " is not supported";
      return std::nullopt;
    }
    if (const auto *foreign = std::get_if<exported::Foreign>(&argument)) {
      why = "an argument is " + foreign->what;
      return std::nullopt;
    }
    if (const auto *size = std::get_if<exported::SizeValue>(&argument)) {
      if (const auto *number = std::get_if<int64_t>(&size->size))
        return Arg(*number);
      return Arg(SymbolicInt{std::get<std::string>(size->size)});
    }
    if (const auto *flag = std::get_if<bool>(&argument))
      return Arg(*flag);
    if (const auto *integer = std::get_if<int64_t>(&argument))
      return Arg(*integer);
    if (const auto *number = std::get_if<double>(&argument))
      return Arg(*number);
    if (const auto *text = std::get_if<std::string>(&argument))
      return Arg(*text);
    return Arg();
  }

  static bool isNumber(const Argument &result) {
    return std::holds_alternative<exported::SizeValue>(result) || std::holds_alternative<int64_t>(result) ||
           std::holds_alternative<exported::Foreign>(result);
  }

  /// Converts the types of a node's results for GraphBuilder. Returns a reason if that is impossible, otherwise "".
  std::string metasOf(const exported::Node &node, std::vector<std::optional<TensorMeta>> &metas) {
    for (const Argument &result : node.results) {
      const auto *tensor = std::get_if<exported::TensorName>(&result);
      if (!tensor) {
        metas.push_back(std::nullopt);
        continue;
      }
      const exported::TensorMeta &meta = program.graph.tensors.at(tensor->name);
      if (std::string why = unsupportedTensor(meta); !why.empty())
        return "its result: " + why;
      metas.push_back(metaOf(meta, *scalarTypeFromName(meta.dtype)));
    }
    return "";
  }

  /// Returns true for operators whose results depend on the strides of their first argument: as_strided indexes the
  /// tensor's memory, and the determinants return the factors of the matrix or of its transpose
  /// (lib/Import/ATen/LinearSystems.cpp).
  static bool readsStrides(llvm::StringRef target) {
    return target == "aten.as_strided.default" || target == "aten._linalg_det.default" ||
           target == "aten._linalg_slogdet.default";
  }

  /// Adds the strides of the first argument to the arguments of a node. For as_strided, makes the offset relative to
  /// the tensor's first element (lib/Import/ATen/Strided.cpp). Returns a reason if that is impossible, otherwise "".
  /// The importer of as_strided rejects a tensor that has gaps between its elements, and results that would contain
  /// other elements of the storage than those of the tensor.
  std::string addMemory(const exported::Node &node, ArgList &args, std::vector<std::pair<std::string, Arg>> &kwargs) {
    const auto *self = node.positional.empty() ? nullptr : std::get_if<exported::TensorName>(&node.positional[0]);
    if (!self)
      return "its tensor is not its first argument";
    const exported::TensorMeta &meta = program.graph.tensors.at(self->name);
    ArgList strides;
    for (const Size &stride : meta.strides)
      if (const auto *number = std::get_if<int64_t>(&stride))
        strides.push_back(*number);
      else
        strides.push_back(SymbolicInt{std::get<std::string>(stride)});
    kwargs.push_back({"memory", std::move(strides)});
    if (node.target != "aten.as_strided.default")
      return "";
    constexpr size_t offsetIndex = 3;
    Arg *offset = args.size() > offsetIndex ? &args[offsetIndex] : nullptr;
    for (auto &[name, arg] : kwargs)
      if (name == "storage_offset")
        offset = &arg;
    if (!offset || std::holds_alternative<std::monostate>(*offset))
      return "";
    auto *number = std::get_if<int64_t>(offset);
    const auto *first = std::get_if<int64_t>(&meta.offset);
    if (!number || !first)
      return "its offset is symbolic";
    *offset = Arg(int64_t(uint64_t(*number) - uint64_t(*first)));
    return "";
  }

  /// Imports a node of the program. A node that writes in place is replaced by several nodes that do not.
  void addNode(const exported::Node &node) {
    for (const Argument &argument : node.positional)
      refresh(argument);
    for (const auto &[name, argument] : node.named)
      refresh(argument);
    if (ExportedMemory::functional(node.target).empty()) {
      memory.see(node);
      return emit(node);
    }
    std::string why;
    ExportedMemory::Nodes nodes = memory.write(node, why);
    if (!why.empty())
      return refuse(node, why, isAfterRefused(node));
    for (const exported::Node *plain : nodes)
      emit(*plain);
  }

  /// Recomputes the views in `argument` whose memory was written after they were computed.
  void refresh(const Argument &argument) {
    for (const exported::Node *view : memory.stale(argument))
      emit(*view);
  }

  bool isAfterRefused(const exported::Node &node) const {
    bool follows = false;
    auto see = [&](const std::string &name) { follows |= refused.contains(name); };
    for (const Argument &argument : node.positional)
      exported::visitTensors(argument, see);
    for (const auto &[name, argument] : node.named)
      exported::visitTensors(argument, see);
    return follows;
  }

  static std::string reasonAt(const exported::Node &node, const std::string &why) {
    return node.target +
           (node.location ? " at " + node.location->file + ":" + std::to_string(node.location->line) : "") + ": " + why;
  }

  /// Records that `node` is rejected. If `follows` is true, the node uses a result of a rejected node, and its reason
  /// is not reported.
  void refuse(const exported::Node &node, const std::string &why, bool follows) {
    if (!follows)
      complaints.add(reasonAt(node, why));
    for (const Argument &result : node.results)
      exported::visitTensors(result, [&](const std::string &name) { refused.insert(name); });
  }

  /// Imports a node that has no side effects.
  void emit(const exported::Node &node) {
    // Symbolic numbers need no op; their expressions are used directly.
    if (!node.results.empty() && llvm::all_of(node.results, isNumber))
      return;
    std::vector<Frame> frames;
    if (node.location)
      frames.push_back({node.location->file, node.location->line, node.location->function});
    ArgList args;
    std::vector<std::pair<std::string, Arg>> kwargs;
    std::string why;
    auto convert = [&](const Argument &argument) {
      std::optional<Arg> converted = argOf(argument, why);
      if (!converted && why.empty())
        why = "an argument is not the result of an earlier node";
      return converted ? std::move(*converted) : Arg();
    };
    for (const Argument &argument : node.positional)
      args.push_back(convert(argument));
    for (const auto &[name, argument] : node.named)
      kwargs.push_back({name, convert(argument)});
    if (why.empty() && readsStrides(node.target))
      why = addMemory(node, args, kwargs);
    std::vector<std::optional<TensorMeta>> metas;
    if (why.empty())
      why = metasOf(node, metas);
    const bool follows = isAfterRefused(node);
    if (!why.empty())
      return refuse(node, why, follows);
    auto id = builder.addNode(node.target, args, kwargs, metas, frames);
    if (!id) {
      std::string reason = llvm::toString(id.takeError());
      if (!follows)
        complaints.add(reason);
      return refuse(node, "", /*follows=*/true);
    }
    for (auto [i, result] : llvm::enumerate(node.results))
      if (const auto *tensor = std::get_if<exported::TensorName>(&result))
        values[tensor->name] = {*id, unsigned(i)};
  }

  void addOutputs() {
    std::vector<OutputSpec> specs;
    for (const exported::Output &output : program.outputs) {
      if (std::holds_alternative<std::monostate>(output.value)) // the output is None or an effect token
        continue;
      const auto *tensor = std::get_if<exported::TensorName>(&output.value);
      if (!tensor) {
        complaints.add("the result '" + output.name +
                       "' is a number, not a tensor; remove it from the returned values");
        continue;
      }
      refresh(output.value);
      auto value = values.find(tensor->name);
      if (value == values.end()) {
        complaints.add("no node computes the result '" + output.name + "'");
        continue;
      }
      specs.push_back({value->second, {}});
      outputNames.push_back(output.name);
    }
    if (complaints.empty() && specs.empty())
      complaints.add("the model returns no tensor");
    if (!complaints.empty())
      return;
    builderSeed = builder.needsSeed();
    auto layouts = builder.setOutputs(specs);
    if (!layouts)
      complaints.add(llvm::toString(layouts.takeError()));
  }

  const exported::Program &program;
  mlir::MLIRContext *context;
  GraphBuilder builder;
  std::vector<const void *> &weights;
  std::vector<std::vector<uint8_t>> &copies;
  llvm::StringMap<ValueRef> values;
  llvm::StringMap<SizeSymbol> sizeSymbols;
  llvm::StringSet<> used, refused;
  ExportedMemory memory;
  Complaints complaints;
  std::vector<std::string> outputNames;
  bool builderSeed = false;
};

} // namespace

ExportedModel::ExportedModel(std::unique_ptr<State> state) : state(std::move(state)) {}
ExportedModel::~ExportedModel() = default;

bool ExportedModel::looksExported(llvm::StringRef bytes) { return bytes.starts_with("PK\3\4"); }

llvm::Expected<std::unique_ptr<ExportedModel>> ExportedModel::open(llvm::StringRef path) {
  auto state = std::make_unique<State>();
  state->path = path.str();
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError("cannot open '" + path + "': " + file.getError().message());
  state->file = std::move(*file);
  std::string error;
  llvm::StringRef bytes = state->file->getBuffer();
  std::optional<exported::Program> program = exported::readProgram({bytes.data(), bytes.size()}, error);
  if (!program)
    return llvm::createStringError("cannot read '" + path + "': " + error);
  state->program = std::move(*program);
  return std::unique_ptr<ExportedModel>(new ExportedModel(std::move(state)));
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> ExportedModel::import(mlir::MLIRContext &context) {
  state->weights.clear();
  state->copies.clear();
  auto module = ProgramWalker(state->program, context, state->weights, state->copies).run();
  if (!module)
    return llvm::createStringError("'" + state->path + "': " + llvm::toString(module.takeError()));
  return module;
}

llvm::ArrayRef<const void *> ExportedModel::weights() const { return state->weights; }

} // namespace tilewright

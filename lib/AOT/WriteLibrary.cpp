//===- WriteLibrary.cpp - write a module as a library, a header and a manifest --------===//
//
//   @main --readInterface--> Interface --------------------------------+--> model.h, model.json
//   for each CPU:                                                      |
//     module --stages, target->emit--> plan, objects                   |
//     constants, LibraryOptions::weights --takeWeights--> weights      |
//   plans, weights, Interface --describeLibrary--> one more object <---+
//   objects + runtime --linkLibrary--> model.so
//
// Tests: test/Unit/Driver/LibraryTest.cpp, test/Python/test_library.py
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Header.h"
#include "lib/AOT/Link.h"
#include "lib/AOT/Manifest.h"
#include "lib/AOT/Weights.h"
#include "lib/Driver/CompileCache.h"
#include "lib/Driver/HostArtifact.h"
#include "lib/Driver/TemporaryFolder.h"
#include "lib/Plan/PlanFromIR.h"
#include "lib/Runtime/Host/Machine.h"
#include "lib/Runtime/Jit/Codegen.h"
#include "lib/Runtime/Plan/Hash.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Library.h"
#include "tilewright/LoadedLibrary.h"
#include "tilewright/Target.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tilewright {
namespace {

using namespace library;

/// Limit on the size of the weights in a library. The code addresses weights with 32-bit relative addresses, which
/// reach at most 2 GiB.
constexpr uint64_t mostEmbeddedBytes = uint64_t(1500) << 20;

class LibraryWriter {
public:
  LibraryWriter(Session &session, ModuleOp module, const Options &given, const LibraryOptions &library)
      : session(session), module(module), options(given), library(library) {
    options.portable = true;
    options.check.clear();
  }

  llvm::Error run() {
    if (llvm::Error failed = prepare())
      return failed;
    llvm::Expected<std::vector<runtime::MachineDescription>> machines = machinesFor(options.cpu);
    if (!machines)
      return machines.takeError();
    for (const runtime::MachineDescription &machine : *machines) {
      OwningOpRef<ModuleOp> copy = module.clone(); // compile a copy, because schedules and layouts depend on the CPU
      if (machines->size() > 1)
        options.cpu = machine.name;
      if (llvm::Error failed = compile(*copy, machine))
        return failed;
    }
    contents.weightData = store.take();
    contents.weightsId = hashOf(contents.weightData);
    if (!library.externalWeights && contents.weightData.size() > mostEmbeddedBytes)
      return llvm::createStringError("the weights have %zu bytes, more than a library can contain; use "
                                     "--weights=external",
                                     contents.weightData.size());
    return writeFiles();
  }

private:
  llvm::Error prepare() {
    // Reject IR of a later stage: it already specifies which arguments are packed once, but does not contain the
    // weights that are bound here.
    if (!options.startAt.empty() && options.startAt != "graph" && options.startAt != "structured")
      return llvm::createStringError("a library is compiled from IR of the stages graph or structured; IR of the stage "
                                     "'%s' does not contain which inputs may change between calls; use --emit=asm",
                                     options.startAt.c_str());
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main)
      return llvm::createStringError("the module has no function @main: expected a model's graph of tw ops");
    graphHash = llvm::toHex(hashOfGraph(module), /*LowerCase=*/true);
    if (llvm::Error failed = bindWeights(main))
      return failed;
    llvm::Expected<Interface> read = readInterface(main, library.weights);
    if (!read)
      return read.takeError();
    interface = std::move(*read);
    interface.model = identifierFrom(library.model.empty() ? llvm::sys::path::filename(library.path) : library.model);
    // Arguments without data in `library.weights` lose tw.static. They may change with every call, so packing them once
    // would be wrong.
    size_t number = 0;
    for (BlockArgument argument : main.getArguments())
      if (isa<RankedTensorType>(argument.getType()) && !weightOf(library.weights, number++))
        main.removeArgAttr(argument.getArgNumber(), staticAttrName);
    return llvm::Error::success();
  }

  llvm::Error bindWeights(func::FuncOp main) {
    size_t number = 0;
    for (Type type : main.getArgumentTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      const size_t input = number;
      number += tensor != nullptr;
      const void *elements = tensor ? weightOf(library.weights, input) : nullptr;
      if (!elements)
        continue;
      if (!tensor.hasStaticShape())
        return llvm::createStringError("tensor argument %zu has elements, but no fixed sizes", input);
      const size_t bytes = size_t(tensor.getNumElements()) * std::max(1u, tensor.getElementTypeBitWidth() / 8);
      bound.push_back({input, {static_cast<const char *>(elements), bytes}});
    }
    if (library.weights.size() > number)
      return llvm::createStringError("there are elements for %zu tensor arguments, but @main has %zu",
                                     library.weights.size(), number);
    return llvm::Error::success();
  }

  /// Returns the descriptions of the CPUs that the comma-separated list `cpus` names. If `cpus` is empty or "native",
  /// the value of TILEWRIGHT_CPU is used, by default the CPU of this machine. A CPU with more instruction sets
  /// precedes the CPUs with fewer sets, because an instance of the library uses the first variant that the host
  /// supports.
  static llvm::Expected<std::vector<runtime::MachineDescription>> machinesFor(StringRef cpus) {
    std::vector<runtime::MachineDescription> machines;
    llvm::SmallVector<StringRef> names;
    cpus.split(names, ',');
    for (StringRef name : names) {
      runtime::MachineDescription machine;
      std::string problem;
      name = name.trim();
      const bool native = names.size() == 1 && (name.empty() || name == "native");
      if (!(native ? runtime::describeMachineFromEnvironment(machine, problem)
                   : runtime::describeMachine(name.str().c_str(), machine, problem)))
        return llvm::createStringError("%s", problem.c_str());
      if (name.empty() && !native)
        return llvm::createStringError("--cpu=%s has an empty name", cpus.str().c_str());
      if (llvm::any_of(machines, [&](const auto &other) { return other.name == machine.name; }))
        return llvm::createStringError("--cpu=%s names %s twice", cpus.str().c_str(), machine.name.c_str());
      machines.push_back(std::move(machine));
    }
    llvm::stable_sort(machines, [](const auto &a, const auto &b) {
      return llvm::popcount(runtime::maskOf(a.sets)) > llvm::popcount(runtime::maskOf(b.sets));
    });
    return machines;
  }

  llvm::Error compile(ModuleOp copy, const runtime::MachineDescription &machine) {
    if (llvm::Error failed =
            session.lowerTo(copy, "target", options, [&](StringRef stage) { reportProgress(stage, machine); }))
      return failed;
    std::string problem;
    Target *target = findTarget(options.target, problem); // not null, because lowerTo() has found the target
    if (target->hasDevices())
      return llvm::createStringError("target '%s' generates code for a device, which ahead-of-time libraries do not "
                                     "support yet; use --target=cpu, or --emit=ptx",
                                     options.target.c_str());
    if (llvm::Error failed = target->configure(options)) // lowerTo() has configured only a copy of `options`
      return failed;
    llvm::Expected<std::string> emitted = target->emit(copy, options);
    if (!emitted)
      return emitted.takeError();
    llvm::Expected<HostArtifact> parts = readHostArtifact(*emitted);
    plan::Plan plan;
    if (!parts || !plan::deserialize(parts->plan.bytes_begin(), parts->plan.size(), plan, problem)) {
      llvm::consumeError(parts.takeError());
      return llvm::createStringError("target '%s' does not generate host code, which an ahead-of-time library "
                                     "requires; use --target=cpu",
                                     options.target.c_str());
    }
    VariantContents &variant = contents.variants.emplace_back();
    variant.cpu = machine.name;
    variant.instructionSets = runtime::maskOf(machine.sets);
    if (llvm::Error failed = takePlan(std::move(plan), copy, *parts, machine, variant))
      return failed;
    return takeObjects(parts->objects, variant);
  }

  /// Converts `plan` to the plan of the library, in which constants and weights are inputs, and adds it to `variant`.
  llvm::Error takePlan(plan::Plan plan, ModuleOp copy, const HostArtifact &parts,
                       const runtime::MachineDescription &machine, VariantContents &variant) {
    if (!plan.hostFunctions.empty())
      return llvm::createStringError("the model calls '%s', a function of the process in which it was traced; a "
                                     "library cannot contain this call, remove it from the model",
                                     plan.hostFunctions.front().c_str());
    const bool packHere =
        library.packed && machine.runsHere && (!machine.sets.amxTile || runtime::requestAmxPermission());
    reportProgress("code", machine);
    if (llvm::Error failed = takeWeights(plan, bound, parts, packHere, variant, store))
      return failed;
    reportProgress("weights", machine);
    // Add the source line to the labels of steps that may fail, because the error of a call ends with that label.
    for (auto [step, line] : llvm::zip(plan.steps, stepLines(copy, /*onlyChecked=*/true)))
      if (!line.empty())
        step.label += " (" + line + ")";
    if (std::string problem = plan::verify(plan); !problem.empty())
      return llvm::createStringError("the plan of the library is invalid: %s", problem.c_str());
    for (const std::string &kernel : plan.kernels)
      variant.kernels.push_back({kernel, "", "", 0});
    for (const plan::Step &step : plan.steps)
      if (step.kind == plan::Step::Kind::Launch) {
        LibraryManifest::Kernel &kernel = variant.kernels[step.callee];
        kernel.operations = step.label;
        kernel.schedule = step.schedule;
        ++kernel.calls;
      }
    variant.plan = plan::serialize(plan);
    return llvm::Error::success();
  }

  /// Adds the objects of `variant`. The kernels of different variants can have the same names, so the symbols of each
  /// variant except the first get a prefix.
  llvm::Error takeObjects(llvm::ArrayRef<StringRef> emitted, VariantContents &variant) {
    if (size_t number = contents.variants.size(); number > 1) {
      variant.prefix = "variant_" + std::to_string(number) + "_";
      auto prefixed = withPrefix(emitted, variant.prefix);
      if (!prefixed)
        return prefixed.takeError();
      llvm::move(*prefixed, std::back_inserter(objects));
    } else {
      llvm::append_range(objects, llvm::map_range(emitted, [](StringRef object) { return object.str(); }));
    }
    return llvm::Error::success();
  }

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> describe() {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> described = describeLibrary(context, interface, contents);
    runtime::MachineDescription machine;
    machine.llvmCpu = "x86-64"; // create() runs before the CPU is checked
    runtime::CodegenOptions codegen;
    codegen.passes.clear();
    auto target = runtime::createTargetMachine(machine, codegen);
    if (!target)
      return target.takeError();
    return runtime::compileToObject(std::move(described), **target, codegen);
  }

  std::string weightsImage() const {
    WeightsFileHeader header{};
    memcpy(header.magic, weightsMagic, sizeof header.magic);
    memcpy(header.id, contents.weightsId.data(), sizeof header.id);
    header.bytes = contents.weightData.size();
    header.hash = plan::hashBytes(contents.weightData.data(), contents.weightData.size());
    std::string image(reinterpret_cast<const char *>(&header), sizeof header);
    image.append(reinterpret_cast<const char *>(contents.weightData.data()), contents.weightData.size());
    return image;
  }

  llvm::Error writeFiles() {
    StringRef folder = llvm::sys::path::parent_path(library.path);
    if (!folder.empty()) {
      std::error_code code = llvm::sys::fs::create_directories(folder);
      if (!code && !llvm::sys::fs::is_directory(folder))
        code = std::make_error_code(std::errc::not_a_directory);
      if (code)
        return llvm::createStringError(code, "cannot create the folder '%s': %s", folder.str().c_str(),
                                       code.message().c_str());
    }
    // Write all files to a temporary folder next to the output, and rename them when all are complete. Older files stay
    // until then.
    const StringRef parent = folder.empty() ? StringRef(".") : folder;
    auto made = TemporaryFolder::make("." + llvm::sys::path::filename(library.path).str() + ".making", parent.str());
    if (!made)
      return made.takeError();
    making = std::move(*made);
    if (library.externalWeights) {
      contents.weightsFile = llvm::sys::path::filename(library.path).str() + ".weights";
      if (llvm::Error failed = writePart("weights", ".weights", weightsImage()))
        return failed;
    }
    auto described = describe();
    if (!described)
      return described.takeError();
    llvm::SmallVector<StringRef> linked(objects.begin(), objects.end());
    linked.push_back((*described)->getBuffer());
    const std::string file = llvm::sys::path::filename(library.path).str() + suffixOf(library.kind).str();
    const std::string path = making->file(file);
    if (llvm::Error failed = linkLibrary(library.kind, linked, exportedNames(interface), path))
      return failed;
    if (library.progress)
      library.progress("linked");
    auto image = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!image)
      return llvm::createStringError(image.getError(), "cannot read '%s'", path.c_str());
    note("library", path, (*image)->getBuffer());
    if (llvm::Error failed = writePart("header", ".h", writeHeader(interface, contents)))
      return failed;
    const std::string usual = library.path + ".json", own = library.path + suffixOf(library.kind).str() + ".json";
    llvm::Expected<bool> taken = isOfAnotherLibrary(usual, file);
    if (!taken)
      return taken.takeError();
    const std::string manifest = *taken ? own : usual;
    if (llvm::Error failed =
            writeFile(making->file(llvm::sys::path::filename(manifest)),
                      writeManifest(interface, contents, files, options.target, graphHash, options.threads)))
      return failed;
    if (llvm::Error failed = publish(manifest))
      return failed;
    if (!*taken)
      (void)llvm::sys::fs::remove(own); // a manifest of an earlier build, when another library had `usual`
    return llvm::Error::success();
  }

  /// Returns true if `manifest` belongs to a library other than `file`, and this other library still exists. A header
  /// or weights file that both libraries share must then have the same contents; otherwise returns an error.
  llvm::Expected<bool> isOfAnotherLibrary(StringRef manifest, StringRef file) const {
    llvm::Expected<LibraryManifest> read = readManifest(manifest);
    if (!read) {
      llvm::consumeError(read.takeError()); // there is no manifest, or it is invalid
      return false;
    }
    SmallString<128> other(llvm::sys::path::parent_path(library.path));
    for (const LibraryManifest::File &one : read->files)
      if (one.role == "library")
        llvm::sys::path::append(other, one.name);
    if (llvm::sys::path::filename(other) == file || !llvm::sys::fs::exists(other))
      return false;
    for (const LibraryManifest::File &there : read->files)
      for (const ManifestFile &here : files)
        if (there.role != "library" && there.name == here.name && there.blake3 != here.blake3)
          return llvm::createStringError("'%s' is also the %s of the existing library '%s' and has other contents; "
                                         "choose another name with -o, or remove this library first",
                                         here.name.c_str(), here.role.c_str(),
                                         llvm::sys::path::filename(other).str().c_str());
    return true;
  }

  /// Moves the files to the output folder. The manifest, whose path is `manifest`, is moved last, because it contains
  /// the hashes of the other files.
  llvm::Error publish(StringRef manifest) {
    std::vector<std::string> names;
    for (const ManifestFile &file : files)
      names.push_back(file.name);
    names.push_back(llvm::sys::path::filename(manifest).str());
    for (const std::string &name : names) {
      SmallString<128> to(llvm::sys::path::parent_path(library.path));
      llvm::sys::path::append(to, name);
      if (std::error_code code = llvm::sys::fs::rename(making->file(name), to))
        return llvm::createStringError(code, "cannot write '%s': %s", to.c_str(), code.message().c_str());
    }
    return llvm::Error::success();
  }

  void reportProgress(StringRef step, const runtime::MachineDescription &machine) const {
    if (library.progress)
      library.progress((step + " (" + machine.name + ")").str());
  }

  void note(StringRef role, StringRef path, StringRef bytes) {
    files.push_back({role.str(), llvm::sys::path::filename(path).str(), bytes.size(),
                     llvm::toHex(hashOf(llvm::arrayRefFromStringRef(bytes)), true)});
  }

  llvm::Error writePart(StringRef role, StringRef suffix, const std::string &bytes) {
    const std::string path = making->file(llvm::sys::path::filename(library.path) + suffix);
    note(role, path, bytes);
    return writeFile(path, bytes);
  }

  Session &session;
  ModuleOp module;
  Options options;
  const LibraryOptions &library;
  Interface interface;
  std::vector<BoundInput> bound;
  WeightStore store;
  Contents contents;
  std::vector<std::string> objects; ///< the object files of all variants
  std::string graphHash;
  std::vector<ManifestFile> files;
  std::unique_ptr<TemporaryFolder> making; ///< contains the files until all are complete
};

} // namespace

llvm::StringRef suffixOf(LibraryOptions::Kind kind) {
  switch (kind) {
  case LibraryOptions::Kind::Shared:
    return ".so";
  case LibraryOptions::Kind::Static:
    return ".a";
  case LibraryOptions::Kind::Object:
    return ".o";
  }
  llvm_unreachable("a kind of library");
}

llvm::Error writeLibrary(Session &session, ModuleOp module, const Options &options, const LibraryOptions &library) {
  return LibraryWriter(session, module, options, library).run();
}

} // namespace tilewright

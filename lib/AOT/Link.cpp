//===- Link.cpp - link object code to a library within the process -----------------===//
//
// A shared library must contain the names of the libraries that it needs, and the linker must read these libraries.
// However, the machine may have no C library to link with, and the result must not depend on the version of the
// machine's C library. Therefore stubs replace libc, libm and libpthread at link time. A stub is a shared library with
// the same name, which is generated here and defines an empty function for each function that a model may use. The
// functions of a stub have no symbol version, so that the dynamic linker binds each reference to the oldest version of
// the function. A reference to a function that is not in the lists below is a link error.
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Link.h"
#include "lib/Driver/TemporaryFolder.h"
#include "lib/Interfaces/ForkMutex.h"
#include "lib/Runtime/Host/Machine.h"
#include "lib/Runtime/Jit/Codegen.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

LLD_HAS_DRIVER(elf)

namespace tilewright::library {
namespace {

struct Stub {
  llvm::StringLiteral name;
  llvm::StringLiteral functions;
};

constexpr Stub stubs[] = {
    {"libc.so.6", "__errno_location abort aligned_alloc bcmp clock_gettime close free getenv getpid lseek madvise "
                  "malloc memchr memcmp "
                  "memcpy memmove memset mmap mprotect mremap munmap open pthread_mutex_lock pthread_mutex_unlock "
                  "sched_getaffinity sigfillset "
                  "strcmp strerror strlen strtol syscall"},
    {"libpthread.so.0", "pthread_create pthread_join pthread_setname_np pthread_sigmask"},
    {"libm.so.6", "exp10 exp10f fma fmaf frexp frexpf ldexp ldexpf sincos sincosf"
#define TW_LIBM_UNARY(NAME) " " #NAME " " #NAME "f"
#define TW_LIBM_BINARY(NAME) TW_LIBM_UNARY(NAME)
#include "dialects/Graph/ScalarFunctions.def"
    },
};

/// Writes an input file of the linker and returns its path.
llvm::Expected<std::string> writeInput(const TemporaryFolder &scratch, llvm::StringRef name, llvm::StringRef bytes) {
  std::string file = scratch.file(name);
  std::error_code code;
  llvm::raw_fd_ostream out(file, code);
  out << bytes;
  out.close();
  if (!code && out.has_error())
    code = out.error();
  out.clear_error();
  if (code)
    return llvm::createStringError(code, "cannot write '%s': %s", file.c_str(), code.message().c_str());
  return file;
}

/// Runs lld under a lock, because lld has global state.
llvm::Error runLinker(const std::vector<std::string> &arguments) {
  static auto *mutex = new runtime::ForkMutex;
  static bool usable = true;
  if (mutex->lock())
    usable = false; // another thread was linking when this process was forked
  auto unlock = llvm::make_scope_exit([] { mutex->unlock(); });
  if (!usable)
    return llvm::createStringError(
        "the linker failed earlier in this process, or was running when the process was forked; compile the library "
        "in a new process");
  // Use one thread, because a forked child process would not have the threads of lld's pool.
  std::vector<const char *> pointers{"ld.lld", "--threads=1"};
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string said;
  llvm::raw_string_ostream stream(said);
  lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode == 0)
    return llvm::Error::success();
  return llvm::createStringError("linking failed: %s", llvm::StringRef(said).trim().str().c_str());
}

/// Returns an object file that defines an empty function for each of `names`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> emptyFunctions(llvm::StringRef names) {
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("stub", context);
  llvm::IRBuilder<> builder(context);
  llvm::SmallVector<llvm::StringRef> list;
  names.split(list, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : list) {
    auto *function = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), false),
                                            llvm::GlobalValue::ExternalLinkage, name, *module);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
    builder.CreateRetVoid();
  }
  runtime::MachineDescription machine;
  machine.llvmCpu = "x86-64";
  runtime::CodegenOptions codegen;
  codegen.passes.clear();
  auto target = runtime::createTargetMachine(machine, codegen);
  if (!target)
    return target.takeError();
  return runtime::compileToObject(std::move(module), **target, codegen);
}

llvm::Expected<std::string> makeStub(const TemporaryFolder &scratch, const Stub &stub) {
  auto object = emptyFunctions(stub.functions);
  if (!object)
    return object.takeError();
  auto file = writeInput(scratch, (stub.name + ".o").str(), (*object)->getBuffer());
  if (!file)
    return file.takeError();
  std::string library = scratch.file(stub.name);
  if (llvm::Error failed = runLinker({"-shared", "-soname", stub.name.str(), *file, "-o", library}))
    return std::move(failed);
  return library;
}

struct CopyConfig final : llvm::objcopy::ConfigManager {};

/// Returns a copy of the object at `path` in which all global symbols that the object defines are local, except those
/// in `exported`. Several models can then be linked into one program.
llvm::Expected<std::string> withLocalNames(llvm::StringRef path, llvm::ArrayRef<std::string> exported) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(file.getError(), "cannot read '%s'", path.str().c_str());
  auto object = llvm::object::ObjectFile::createObjectFile((*file)->getMemBufferRef());
  if (!object)
    return object.takeError();
  CopyConfig config;
  for (const std::string &name : exported) {
    auto matcher = llvm::objcopy::NameOrPattern::create(name, llvm::objcopy::MatchStyle::Literal,
                                                        [](llvm::Error error) { return error; });
    if (!matcher)
      return matcher.takeError();
    if (llvm::Error failed = config.Common.SymbolsToKeepGlobal.addMatcher(std::move(matcher)))
      return std::move(failed);
  }
  std::string image;
  llvm::raw_string_ostream stream(image);
  if (llvm::Error failed = llvm::objcopy::executeObjcopyOnBinary(config, **object, stream))
    return std::move(failed);
  return image;
}

llvm::Error linkShared(const TemporaryFolder &scratch, std::vector<std::string> arguments,
                       llvm::ArrayRef<std::string> exported, llvm::StringRef path) {
  llvm::Expected<std::string> script =
      writeInput(scratch, "exports", "{ global: " + llvm::join(exported, "; ") + "; local: *; };\n");
  if (!script)
    return script.takeError();
  arguments.push_back("--as-needed");
  for (const Stub &stub : stubs) {
    llvm::Expected<std::string> library = makeStub(scratch, stub);
    if (!library)
      return library.takeError();
    arguments.push_back(*library);
  }
  for (std::string argument :
       {"-shared", "-z", "defs", "-z", "relro", "-z", "now", "-z", "noexecstack", "--gc-sections", "--build-id=sha1",
        "--hash-style=gnu", "--strip-debug", "--version-script"})
    arguments.push_back(argument);
  arguments.push_back(*script);
  for (const std::string &argument :
       {std::string("-soname"), llvm::sys::path::filename(path).str(), std::string("-o"), path.str()})
    arguments.push_back(argument);
  return runLinker(arguments);
}

llvm::Error linkObject(LibraryOptions::Kind kind, const TemporaryFolder &scratch, std::vector<std::string> arguments,
                       llvm::ArrayRef<std::string> exported, llvm::StringRef path) {
  std::string whole = scratch.file("whole.o");
  for (std::string argument : {"-r", "--gc-sections", "--strip-debug", "-o"})
    arguments.push_back(argument);
  arguments.push_back(whole);
  for (const std::string &name : exported)
    arguments.insert(arguments.end(), {"-u", name});
  if (llvm::Error failed = runLinker(arguments))
    return failed;
  llvm::Expected<std::string> image = withLocalNames(whole, exported);
  if (!image)
    return image.takeError();
  if (kind == LibraryOptions::Kind::Object)
    return writeFile(path, *image);
  std::string member = llvm::sys::path::stem(path).str() + ".o";
  std::vector<llvm::NewArchiveMember> members;
  members.emplace_back(llvm::MemoryBufferRef(*image, member));
  return llvm::writeArchive(path, members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                            /*Deterministic=*/true, /*Thin=*/false);
}

} // namespace

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &out) {
    out << bytes;
    return llvm::Error::success();
  });
}

llvm::Expected<std::vector<std::string>> withPrefix(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef prefix) {
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers; // aligned, as LLVM's ELF reader requires
  std::vector<std::unique_ptr<llvm::object::ObjectFile>> files;
  llvm::StringMap<std::string> names;
  for (llvm::StringRef image : objects) {
    buffers.push_back(llvm::MemoryBuffer::getMemBufferCopy(image, "kernels"));
    auto object = llvm::object::ObjectFile::createObjectFile(*buffers.back());
    if (!object)
      return object.takeError();
    for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
      llvm::Expected<uint32_t> flags = symbol.getFlags();
      llvm::Expected<llvm::StringRef> name = symbol.getName();
      if (!flags || !name)
        return llvm::joinErrors(flags.takeError(), name.takeError());
      if ((*flags & llvm::object::SymbolRef::SF_Global) && !(*flags & llvm::object::SymbolRef::SF_Undefined))
        names[*name] = (prefix + *name).str();
    }
    files.push_back(std::move(*object));
  }
  CopyConfig config;
  for (const auto &[name, prefixed] : names)
    config.Common.SymbolsToRename.insert({name, prefixed});
  std::vector<std::string> images;
  for (const auto &file : files) {
    llvm::raw_string_ostream stream(images.emplace_back());
    if (llvm::Error failed = llvm::objcopy::executeObjcopyOnBinary(config, *file, stream))
      return std::move(failed);
  }
  return images;
}

llvm::Error linkLibrary(LibraryOptions::Kind kind, llvm::ArrayRef<llvm::StringRef> objects,
                        llvm::ArrayRef<std::string> exported, llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<TemporaryFolder>> made = TemporaryFolder::make("tilewright-link");
  if (!made)
    return made.takeError();
  const TemporaryFolder &scratch = **made;
  std::vector<std::string> inputs;
  for (auto [number, object] : llvm::enumerate(objects)) {
    llvm::Expected<std::string> file = writeInput(scratch, "part" + std::to_string(number) + ".o", object);
    if (!file)
      return file.takeError();
    inputs.push_back(*file);
  }
  llvm::Expected<std::string> archive = writeInput(scratch, "runtime.a", runtimeArchive());
  if (!archive)
    return archive.takeError();
  inputs.push_back(*archive);
  return kind == LibraryOptions::Kind::Shared ? linkShared(scratch, inputs, exported, path)
                                              : linkObject(kind, scratch, inputs, exported, path);
}

} // namespace tilewright::library

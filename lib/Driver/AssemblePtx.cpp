//===- AssemblePtx.cpp - machine code of a GPU from PTX, by ptxas if available ----------===//
//
// A cache entry consists of five lines and the cubin. The lines are "TWCB 1", the digest of the PTX, the chip, the
// version of ptxas, and the number of kernels.
//
// Test: test/Python/test_cuda_driver.py
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/AssemblePtx.h"
#include "lib/Driver/CompileCache.h"
#include "lib/Driver/ObjectCache.h"
#include "lib/Interfaces/ForkMutex.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <dlfcn.h>

namespace tilewright {
namespace {

constexpr llvm::StringLiteral cubinMagic = "TWCB 1";
constexpr unsigned secondsToAnswer = 20, secondsToAssemble = 600;

/// Runs a program for at most `seconds` and returns its output on stdout and stderr. On failure, returns nullopt with
/// the reason in `problem`.
std::optional<std::string> outputOf(llvm::ArrayRef<std::string> command, unsigned seconds, std::string &problem) {
  llvm::SmallString<128> file;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("tilewright-ptxas", "log", file)) {
    problem = "a temporary file cannot be created: " + code.message();
    return std::nullopt;
  }
  llvm::scope_exit cleanup([&] { (void)llvm::sys::fs::remove(file); });
  std::vector<llvm::StringRef> words(command.begin(), command.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), file.str(), file.str()};
  std::string why;
  const int code = llvm::sys::ExecuteAndWait(command.front(), words, std::nullopt, redirects, seconds, 0, &why);
  auto said = llvm::MemoryBuffer::getFile(file);
  std::string text = said ? (*said)->getBuffer().str() : "";
  if (code == 0)
    return text;
  problem = command.front() + " " + (code == -2 ? "was killed or took too long" : "failed");
  for (const std::string &more : {why, llvm::StringRef(text).trim().take_front(2000).str()})
    if (!more.empty())
      problem += ": " + more;
  return std::nullopt;
}

struct Assembler {
  std::string path;    ///< empty if there is no ptxas
  std::string version; ///< the complete output of --version
  bool splits = false; ///< it can assemble the kernels of a module on several cores
  std::string problem; ///< why an existing ptxas cannot be used
};

/// Returns the path of the ptxas that a wheel of triton or NVIDIA contains, if it is installed in the same
/// site-packages folder as Tilewright; otherwise an empty string.
std::string inSitePackages() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void *>(&inSitePackages), &info) || !info.dli_fname)
    return "";
  llvm::SmallString<256> folder(info.dli_fname);
  while (llvm::sys::path::has_parent_path(folder)) {
    llvm::sys::path::remove_filename(folder);
    if (llvm::StringRef name = llvm::sys::path::filename(folder); name != "site-packages" && name != "dist-packages")
      continue;
    for (llvm::StringRef file :
         {"triton/backends/nvidia/bin/ptxas", "nvidia/cu13/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas"})
      if (std::string path = (folder + "/" + file).str(); llvm::sys::fs::can_execute(path))
        return path;
    return "";
  }
  return "";
}

std::string findAssembler() {
  if (std::optional<std::string> named = llvm::sys::Process::GetEnv("TILEWRIGHT_PTXAS"))
    return *named == "off" || *named == "0" ? "" : *named;
  std::vector<std::string> candidates;
  for (const char *root : {"CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> folder = llvm::sys::Process::GetEnv(root))
      candidates.push_back(*folder + "/bin/ptxas");
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    candidates.push_back(*found);
  candidates.push_back("/usr/local/cuda/bin/ptxas");
  candidates.push_back(inSitePackages());
  for (const std::string &candidate : candidates)
    if (!candidate.empty() && llvm::sys::fs::can_execute(candidate))
      return candidate;
  return "";
}

/// Returns the assembler that findAssembler() selects. The version and options of each path are queried only once.
const Assembler &assembler() {
  // This object is leaked on purpose, because threads may compile while static objects are destroyed.
  static auto *assemblers = new runtime::ForkSafe<std::map<std::string, Assembler>>;
  const std::string path = findAssembler();
  auto known = assemblers->lock();
  auto [found, isNew] = known->try_emplace(path);
  Assembler &made = found->second;
  if (!isNew || path.empty())
    return made;
  made.path = path;
  if (std::optional<std::string> version = outputOf({path, "--version"}, secondsToAnswer, made.problem))
    made.version = *version;
  else
    return made;
  std::string unimportant;
  if (std::optional<std::string> help = outputOf({path, "--help"}, secondsToAnswer, unimportant))
    made.splits = llvm::StringRef(*help).contains("--split-compile");
  return made;
}

/// Returns the architecture for ptxas, such as `sm_90` for the capability 90. If the target of the PTX is this
/// architecture with a suffix, such as `sm_90a`, returns the target.
std::string chipOf(llvm::StringRef ptx, int capability) {
  const std::string plain = "sm_" + std::to_string(capability);
  llvm::StringRef target = ptx.split(".target ").second.take_until([](char c) { return c == ',' || llvm::isSpace(c); });
  return target.starts_with(plain) && target.size() == plain.size() + 1 ? target.str() : plain;
}

std::string onOneLine(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.trim().split(lines, '\n', -1, false);
  return llvm::join(lines, "; ");
}

/// Runs ptxas. Returns the cubin, or an empty string with the reason in `problem`.
std::string assemble(const Assembler &ptxas, llvm::StringRef ptx, const std::string &chip, size_t kernels,
                     std::string &problem) {
  llvm::SmallString<128> in, out;
  int file = 0;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("tilewright", "ptx", file, in)) {
    problem = "a temporary file cannot be created: " + code.message();
    return "";
  }
  llvm::scope_exit cleanup([&] {
    (void)llvm::sys::fs::remove(in);
    (void)llvm::sys::fs::remove(out);
  });
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
  stream << ptx;
  stream.close();
  if (stream.has_error()) {
    problem = "the PTX cannot be written to a temporary file: " + stream.error().message();
    stream.clear_error();
    return "";
  }
  out = in;
  llvm::sys::path::replace_extension(out, "cubin");
  std::vector<std::string> command{ptxas.path, "-arch=" + chip, in.str().str(), "-o", out.str().str()};
  if (ptxas.splits && kernels > 1)
    command.push_back("--split-compile=0");
  if (!outputOf(command, secondsToAssemble, problem))
    return "";
  auto made = llvm::MemoryBuffer::getFile(out);
  if (!made || (*made)->getBufferSize() == 0) {
    problem = ptxas.path + " wrote no file";
    return "";
  }
  return (*made)->getBuffer().str();
}
} // namespace

PtxAssembly assemblePtx(llvm::StringRef ptx, int capability, bool useCache) {
  PtxAssembly made;
  const size_t kernels = ptx.count(".entry ");
  const Assembler &ptxas = assembler();
  if (ptxas.path.empty() || kernels == 0)
    return made;
  auto start = std::chrono::steady_clock::now();
  auto spent = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  auto warn = [&](const std::string &problem) {
    made.warning = "the NVIDIA driver compiles the kernels, because ptxas failed: " + problem +
                   "; set TILEWRIGHT_PTXAS to another ptxas, or to \"off\"";
  };
  if (!ptxas.problem.empty()) {
    warn(ptxas.problem);
    return made;
  }
  const std::string chip = chipOf(ptx, capability);
  const std::string digest = llvm::toHex(llvm::BLAKE3::hash<32>(llvm::arrayRefFromStringRef(ptx)), /*LowerCase=*/true);
  const std::string head =
      (cubinMagic + "\n" + digest + "\n" + chip + "\n" + onOneLine(ptxas.version) + "\n" + llvm::Twine(kernels) + "\n")
          .str();
  ObjectCache *cache = useCache ? processCache() : nullptr;
  const std::string key = CacheKey().add("cubin", head).hex();
  if (cache)
    if (std::unique_ptr<llvm::MemoryBuffer> entry = cache->load(key)) {
      if (llvm::StringRef bytes = entry->getBuffer(); bytes.consume_front(head) && !bytes.empty()) {
        made = {bytes.str(), "cached cubin", spent(), ""};
        return made;
      }
      cache->discard(key, "in another format");
    }
  std::string problem;
  made.cubin = assemble(ptxas, ptx, chip, kernels, problem);
  if (made.cubin.empty()) {
    warn(problem);
    return made;
  }
  if (cache)
    cache->store(key, head + made.cubin);
  made.stage = "ptxas";
  made.milliseconds = spent();
  return made;
}

bool describeCubin(llvm::StringRef bytes, CacheEntry &entry) {
  llvm::SmallVector<llvm::StringRef> lines;
  bytes.split(lines, '\n', /*MaxSplit=*/5);
  if (lines.size() != 6 || lines[0] != cubinMagic || lines[4].getAsInteger(10, entry.kernels))
    return false;
  entry.parts = {
      {"module", "PTX with the digest " + lines[1].str()}, {"chip", lines[2].str()}, {"ptxas", lines[3].str()}};
  return true;
}

} // namespace tilewright

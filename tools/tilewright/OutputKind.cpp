//===- OutputKind.cpp - the output kind by suffix or --emit ---------------===//
//
// Test: test/Tools/output-suffix.test
//
//===----------------------------------------------------------------------===//
#include "OutputKind.h"
#include "tilewright/Pipelines.h"
#include "tilewright/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <vector>

namespace tilewright::driver {
namespace {

struct LibraryName {
  LibraryOptions::Kind kind;
  llvm::StringLiteral name;
};
constexpr LibraryName libraries[] = {{LibraryOptions::Kind::Object, "obj"},
                                     {LibraryOptions::Kind::Static, "static"},
                                     {LibraryOptions::Kind::Shared, "shared"}};

/// A suffix of -o, and the equivalent value of --emit. `target` is the only target that supports the suffix. If
/// `target` is empty, several targets support the suffix.
struct Suffix {
  llvm::StringLiteral suffix, emit, target;
};
constexpr Suffix suffixes[] = {{".so", "shared", ""}, {".a", "static", ""},    {".o", "obj", ""},
                               {".s", "asm", ""},     {".ptx", "asm", "cuda"}, {".cpp", "asm", "hls"},
                               {".ll", "ll", ""},     {".mlir", "target", ""}};

llvm::Error failed(const llvm::Twine &text) { return llvm::createStringError(text); }

/// Replaces the aliases "ptx" (target cuda) and "cpp" (target hls) of --emit by "asm". Returns an error if an alias is
/// used for another target.
llvm::Expected<llvm::StringRef> plainName(llvm::StringRef emit, llvm::StringRef target) {
  for (const Suffix &row : suffixes)
    if (!row.target.empty() && emit == row.suffix.drop_front()) {
      if (target != row.target)
        return failed("--emit=" + emit + " requires --target=" + row.target + "; use --emit=asm for target '" + target +
                      "'");
      return row.emit;
    }
  return emit;
}

/// Returns the row of a suffix; null if the suffix is not known.
const Suffix *rowOf(llvm::StringRef suffix) {
  const Suffix *row = llvm::find_if(suffixes, [&](const Suffix &each) { return each.suffix == suffix; });
  return row == std::end(suffixes) ? nullptr : row;
}

/// Returns all values that --emit accepts.
std::vector<std::string> emitNames() {
  std::vector<std::string> all(stageNames().begin(), stageNames().end());
  all.push_back("asm");
  for (const LibraryName &library : libraries)
    all.push_back(library.name.str());
  for (llvm::StringRef name : {"ptx", "cpp", "ll"})
    all.push_back(name.str());
  return all;
}

} // namespace

bool isFolder(llvm::StringRef output) { return output.ends_with("/") || llvm::sys::fs::is_directory(output); }

llvm::Expected<OutputKind> chooseOutput(llvm::StringRef emit, llvm::StringRef output, llvm::StringRef target,
                                        bool writesFolders) {
  // The suffix of a file's name; empty for a folder and for the standard output.
  const llvm::StringRef suffix = output == "-" || isFolder(output) ? "" : llvm::sys::path::extension(output);
  const Suffix *row = rowOf(suffix);
  OutputKind kind;
  if (emit.empty() && writesFolders) {
    if (row && row->target != target && row->suffix != ".mlir")
      return failed("-o " + output + ": target '" + target + "' writes a folder, a .cpp or a .mlir file, not " +
                    suffix);
    kind.isFolder = !row;
    kind.emit = row ? row->emit.str() : "target";
  } else if (emit.empty()) {
    if (!row && !suffix.empty()) {
      auto known = llvm::map_to_vector(suffixes, [](const Suffix &each) { return each.suffix.str(); });
      return failed("-o " + output + ": unknown suffix " + suffix + "; use one of " + llvm::join(known, ", ") +
                    ", or select the kind of output with --emit");
    }
    kind.emit = row ? row->emit.str() : "target";
  } else {
    llvm::Expected<llvm::StringRef> name = plainName(emit, target);
    if (!name)
      return name.takeError();
    kind.emit = name->str();
  }
  for (const LibraryName &library : libraries)
    if (kind.emit == library.name)
      kind.library = library.kind;
  kind.isStage = llvm::is_contained(stageNames(), llvm::StringRef(kind.emit));
  if (!kind.isStage && !kind.library && !kind.isAssembly() && !kind.isLLVM())
    return failed("unknown stage '" + emit + "'" + suggestName(emit, emitNames()) + "; --emit accepts " +
                  llvm::join(emitNames(), ", "));
  if (!row)
    return kind;
  const bool agrees = row->suffix == ".mlir" ? kind.isStage : row->emit == kind.emit;
  if (!agrees)
    return failed("-o " + output + " has the suffix of --emit=" + row->emit + ", not of --emit=" + emit +
                  "; change -o or --emit");
  if (!row->target.empty() && target != row->target)
    return failed("-o " + output + ": " + suffix + " is written by --target=" + row->target + ", not by target '" +
                  target + "'");
  if (row->suffix == ".s" && target == "cuda")
    return failed("-o " + output + ": target 'cuda' writes .ptx, not .s");
  return kind;
}

} // namespace tilewright::driver

//===- Sources.cpp - the user's lines from which operations come ---------------------===//
//
// A model file contains the paths of its source files and may be untrusted. Therefore only text of Python files and of
// the model file itself is shown, only near the lines to which the model file refers, and only up to a maximum length.
//
// Test: test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#include "lib/Report/Record.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <set>

namespace tilewright::explain {
namespace {

constexpr int64_t contextLines = 4;
constexpr uint64_t mostBytes = 4 << 20;
constexpr size_t mostColumns = 400;

/// Stores the lines of `file` that are near the lines `wanted`. If the text cannot be shown, stores the reason and
/// empty lines. `isModel` is true for the model file, which need not be a Python file.
void read(SourceFile &file, const std::set<int64_t> &wanted, bool isModel) {
  llvm::StringRef name = file.name;
  std::set<int64_t> shown;
  for (int64_t line : wanted)
    for (int64_t near = std::max<int64_t>(1, line - contextLines); near <= line + contextLines; ++near)
      shown.insert(near);
  llvm::sys::fs::file_status status;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  if (!isModel && !name.ends_with(".py")) {
    file.problem = "not a Python file: its text is not shown";
  } else if (llvm::sys::fs::status(name, status) || status.type() != llvm::sys::fs::file_type::regular_file) {
    file.problem = "not found on this machine";
  } else if (status.getSize() > mostBytes) {
    file.problem = "too long to be shown";
  } else if (auto opened = llvm::MemoryBuffer::getFile(name); !opened) {
    file.problem = opened.getError().message();
  } else {
    buffer = std::move(*opened);
  }
  if (!buffer) {
    for (int64_t line : wanted)
      file.lines.push_back({line, ""});
    return;
  }
  int64_t number = 0;
  for (llvm::StringRef line : llvm::split(buffer->getBuffer(), '\n'))
    if (shown.contains(++number))
      file.lines.push_back({number, line.rtrim().take_front(mostColumns).str()});
  if (*wanted.rbegin() > number)
    file.problem = "shorter than when the model was compiled";
}

} // namespace

std::vector<SourceFile> readSources(const Origins &origins, llvm::StringRef modelFile) {
  std::vector<SourceFile> files;
  std::vector<std::set<int64_t>> wanted;
  for (const Origin &origin : origins.all()) {
    if (origin.file.empty())
      continue;
    auto found = llvm::find_if(files, [&](const SourceFile &file) { return file.name == origin.file; });
    const size_t number = found - files.begin();
    if (found == files.end()) {
      files.push_back({origin.file, {}, ""});
      wanted.emplace_back();
    }
    wanted[number].insert(origin.line);
  }
  for (auto [file, lines] : llvm::zip_equal(files, wanted))
    read(file, lines, !modelFile.empty() && file.name == modelFile);
  return files;
}

} // namespace tilewright::explain

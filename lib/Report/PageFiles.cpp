//===- PageFiles.cpp - the page's files, unchanged from Page/ ------------------------===//
//
// The files are embedded in libTilewright, so that no other files are needed at run time. CMake defines their folder.
//
//===----------------------------------------------------------------------===//
#include "lib/Report/PageFiles.h"

#define TILEWRIGHT_PAGE_FILE(name, file)                                                                               \
  __asm__(".pushsection .rodata\n"                                                                                     \
          ".hidden tilewright_page_" #name "\n"                                                                        \
          ".hidden tilewright_page_" #name "_end\n"                                                                    \
          ".globl tilewright_page_" #name "\n"                                                                         \
          ".globl tilewright_page_" #name "_end\n"                                                                     \
          "tilewright_page_" #name ":\n"                                                                               \
          ".incbin \"" TILEWRIGHT_PAGE_FOLDER "/" file "\"\n"                                                          \
          "tilewright_page_" #name "_end:\n"                                                                           \
          ".byte 0\n"                                                                                                  \
          ".popsection\n");                                                                                            \
  extern "C" __attribute__((visibility("hidden"))) const char tilewright_page_##name[];                                \
  extern "C" __attribute__((visibility("hidden"))) const char tilewright_page_##name##_end[];                          \
  static llvm::StringRef name##File() {                                                                                \
    return {tilewright_page_##name, size_t(tilewright_page_##name##_end - tilewright_page_##name)};                    \
  }

TILEWRIGHT_PAGE_FILE(html, "page.html")
TILEWRIGHT_PAGE_FILE(css, "page.css")
TILEWRIGHT_PAGE_FILE(record, "record.js")
TILEWRIGHT_PAGE_FILE(list, "list.js")
TILEWRIGHT_PAGE_FILE(lines, "lines.js")
TILEWRIGHT_PAGE_FILE(tables, "tables.js")
TILEWRIGHT_PAGE_FILE(charts, "charts.js")
TILEWRIGHT_PAGE_FILE(compare, "compare.js")
TILEWRIGHT_PAGE_FILE(steps, "steps.js")
TILEWRIGHT_PAGE_FILE(program, "program.js")
TILEWRIGHT_PAGE_FILE(shell, "shell.js")

namespace tilewright::explain {

llvm::StringRef pageTemplate() { return htmlFile(); }
llvm::StringRef pageStyle() { return cssFile(); }

std::string pageScript() {
  std::string all;
  for (llvm::StringRef file : {recordFile(), listFile(), linesFile(), tablesFile(), chartsFile(), compareFile(),
                               stepsFile(), programFile(), shellFile()})
    all += file.str();
  return all;
}

} // namespace tilewright::explain

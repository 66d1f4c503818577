//===- StageText.cpp - a stage as text, each line with its origins -------------------===//
//
// Test: test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#include "lib/Report/StageText.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright::explain {
namespace {

std::string print(ModuleOp module, AsmState::LocationMap &locations) {
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(64).elideLargeResourceString(64);
  AsmState state(module, flags, &locations);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, state);
  return text;
}

std::vector<std::string> linesOf(StringRef text) {
  std::vector<std::string> lines;
  for (StringRef line : llvm::split(text, '\n'))
    lines.push_back(line.rtrim().str());
  while (!lines.empty() && lines.back().empty())
    lines.pop_back();
  return lines;
}

/// The kind of a line of assembly code.
enum class Line { Text, Location, Debug };

Line kindOf(StringRef trimmed) {
  if (trimmed.starts_with(".loc\t") || trimmed.starts_with(".loc "))
    return Line::Location;
  for (StringRef start : {".cfi_", ".file", ".Ltmp", ".Lfunc_begin", ".ident", ".addrsig", ".globl", ".type", ".size"})
    if (trimmed.starts_with(start))
      return Line::Debug;
  return Line::Text;
}

} // namespace

StageText printStage(StringRef name, ModuleOp module, Origins &origins) {
  AsmState::LocationMap locations;
  StageText stage;
  stage.name = name.str();
  stage.lines = linesOf(print(module, locations));
  stage.sets.assign(stage.lines.size(), -1);
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto location = locations.find(op);
    if (location == locations.end() || location->second.first == 0 || location->second.first > stage.lines.size())
      return;
    const size_t line = location->second.first - 1;
    if (stage.sets[line] < 0 && !isa<FunctionOpInterface>(op))
      stage.sets[line] = origins.setOf(op->getLoc());
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function || function.isExternal())
      return;
    // The closing brace is in the line after the last operation.
    size_t last = line;
    function->walk([&](Operation *inner) {
      if (auto at = locations.find(inner); at != locations.end())
        last = std::max(last, size_t(at->second.first));
    });
    stage.functions.push_back({function.getName().str(), line, std::min(last, stage.lines.size() - 1)});
  });
  return stage;
}

void locateInText(ModuleOp module) {
  AsmState::LocationMap locations;
  print(module, locations);
  auto file = StringAttr::get(module.getContext(), "lowered");
  module->walk([&](Operation *op) {
    auto location = locations.find(op);
    op->setLoc(FileLineColLoc::get(file, location == locations.end() ? 0 : location->second.first, 1));
  });
}

StageText readAssembly(StringRef assembly, const StageText &lowered) {
  StageText stage;
  stage.name = "assembly";
  int set = -1;
  bool debug = false;
  StringRef function; // the name in the last .type directive of a function
  for (StringRef line : llvm::split(assembly, '\n')) {
    line = line.rtrim();
    StringRef trimmed = line.ltrim();
    if (trimmed == ".text" || trimmed.starts_with(".section"))
      debug = trimmed.contains(".debug_") || trimmed.contains(".note.GNU-stack");
    const Line kind = kindOf(trimmed);
    if (kind == Line::Location) {
      auto [number, rest] = trimmed.drop_front(4).trim().split(' '); // number of the file
      size_t location = 0;
      rest.split(' ').first.getAsInteger(10, location);
      set = location > 0 && location <= lowered.sets.size() ? lowered.sets[location - 1] : -1;
    }
    // ".type kernel_0,@function" precedes the label of the function.
    if (auto [name, type] = trimmed.split(','); name.consume_front(".type") && type == "@function")
      function = name.trim();
    if (debug || kind != Line::Text || trimmed.empty())
      continue;
    if (!function.empty() && trimmed == (function + ":").str()) {
      stage.functions.push_back({function.str(), stage.lines.size(), stage.lines.size()});
      set = -1;
    }
    if (trimmed.starts_with(".Lfunc_end")) {
      if (!stage.functions.empty())
        stage.functions.back().last = stage.lines.empty() ? 0 : stage.lines.size() - 1;
      set = -1;
      continue;
    }
    stage.lines.push_back(line.str());
    stage.sets.push_back(trimmed.starts_with(".") ? -1 : set);
  }
  return stage;
}

} // namespace tilewright::explain

//===- Complaints.h - all reasons why a model file cannot be compiled --------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_BUILDER_COMPLAINTS_H
#define TILEWRIGHT_LIB_IMPORT_BUILDER_COMPLAINTS_H

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tilewright {

/// Collects the problems that an importer finds in a model, without duplicates, and reports them in one error.
class Complaints {
public:
  void add(std::string problem) {
    if (known.insert(problem).second)
      problems.push_back(std::move(problem));
  }
  bool empty() const { return problems.empty(); }
  size_t size() const { return problems.size(); }

  llvm::Error error() const {
    std::string text =
        std::to_string(size()) + (size() == 1 ? " item" : " items") + " in the model cannot be compiled:";
    for (const std::string &problem : problems)
      text += "\n  " + problem;
    return llvm::createStringError(text);
  }

private:
  llvm::StringSet<> known;
  std::vector<std::string> problems;
};

} // namespace tilewright

#endif

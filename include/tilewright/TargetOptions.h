//===- TargetOptions.h - options that a target declares --------------------------------------------===//
//
// A target declares each of its options once, next to the field of the target's struct that holds the value:
//
//   struct MyOptions { std::string chip; bool fast = false; };
//   const OptionField<MyOptions> table[] = {
//       {{"chip", TargetOption::Text, "name", "the chip (default: a1)", InCompile | InPython}, &MyOptions::chip}};
//
// Flags of the commands (--chip), keys of `options=` in torch.compile, and their documentation are generated from
// Target::options(). Values are passed by name in Options::own; the target reads them with readOptions().
//
//===----------------------------------------------------------------------------------------------===//
#ifndef TILEWRIGHT_TARGETOPTIONS_H
#define TILEWRIGHT_TARGETOPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <variant>

namespace tilewright {

/// The commands and interfaces that take an option, as a set of bits.
enum OptionUse : unsigned { InCompile = 1, InRun = 2, InTune = 4, InPython = 8 };

struct TargetOption {
  enum Kind {
    Text,
    Flag, ///< true or false
    List  ///< texts, separated by spaces; the flag may be repeated
  };
  llvm::StringLiteral name; ///< as in Python, "cuda_graph"; the flag is --cuda-graph
  Kind kind;
  llvm::StringLiteral value; ///< placeholder of the value in help texts; empty for a Flag
  llvm::StringLiteral help;  ///< a phrase that starts with a lower-case letter and ends without a period
  unsigned uses;             ///< bits of OptionUse
};

/// The values of a target's options, by name. An option without a value has its default.
class TargetValues {
public:
  /// Returns the text of an option, or "" if it has no value. The text of a Flag that is set is "1".
  llvm::StringRef get(llvm::StringRef name) const {
    auto found = values.find(name.str());
    return found == values.end() ? llvm::StringRef() : llvm::StringRef(found->second);
  }
  /// Sets a value. An empty value removes the option.
  void set(llvm::StringRef name, llvm::StringRef value) {
    if (value.empty())
      values.erase(name.str());
    else
      values[name.str()] = value.str();
  }
  void setFlag(llvm::StringRef name, bool value) { set(name, value ? "1" : ""); }

  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }

private:
  std::map<std::string, std::string> values;
};

/// An option, and the field of the struct T that holds its value.
template <typename T> struct OptionField {
  TargetOption option;
  std::variant<std::string T::*, bool T::*> field;
};

/// Returns the options of a table, for Target::options().
template <typename T> llvm::SmallVector<TargetOption> optionsOf(llvm::ArrayRef<OptionField<T>> table) {
  return llvm::map_to_vector(table, [](const OptionField<T> &row) { return row.option; });
}

template <typename T> T readOptions(llvm::ArrayRef<OptionField<T>> table, const TargetValues &values) {
  T read;
  for (const OptionField<T> &row : table) {
    llvm::StringRef value = values.get(row.option.name);
    if (auto *text = std::get_if<std::string T::*>(&row.field))
      read.*(*text) = value.str();
    else
      read.*std::get<bool T::*>(row.field) = !value.empty();
  }
  return read;
}

/// Stores the fields of `from` in `values` after a target has set the options without a value to their defaults.
template <typename T> void writeOptions(llvm::ArrayRef<OptionField<T>> table, const T &from, TargetValues &values) {
  for (const OptionField<T> &row : table)
    if (auto *text = std::get_if<std::string T::*>(&row.field))
      values.set(row.option.name, from.*(*text));
    else
      values.setFlag(row.option.name, from.*std::get<bool T::*>(row.field));
}

} // namespace tilewright

#endif

//===- OperationText.h - the ops of a kernel as text for users -----------------===//
//
// A kernel's list of ops has one entry for each structured op. For example, a layer norm is lowered to several ops, and
// each of them has an entry with the name of the layer norm. Data (records, JSON, schedule files) contains the whole
// list.
//
// Test: test/Python/test_tuning.py
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_INTERFACES_OPERATIONTEXT_H
#define TILEWRIGHT_LIB_INTERFACES_OPERATIONTEXT_H

#include <string>
#include <string_view>

namespace tilewright {

/// Replaces equal consecutive ops by one op and a count: returns "add+layer_norm x7" for
/// "add+layer_norm+layer_norm+...".
inline std::string shortOperations(std::string_view operations) {
  std::string text;
  while (!operations.empty()) {
    const std::string_view name = operations.substr(0, operations.find('+'));
    int count = 0;
    for (; !operations.empty() && operations.substr(0, operations.find('+')) == name; ++count)
      operations.remove_prefix(operations.size() == name.size() ? name.size() : name.size() + 1);
    text += (text.empty() ? "" : "+") + std::string(name);
    if (count > 1)
      text += " x" + std::to_string(count);
  }
  return text;
}

} // namespace tilewright

#endif

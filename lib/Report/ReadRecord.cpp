//===- ReadRecord.cpp - check that JSON is a record ----------------------------------===//
//
// Test: test/Tools/explain.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/JsonText.h"
#include "lib/Report/Record.h"
#include "llvm/ADT/Twine.h"

namespace tilewright::explain {
namespace {

llvm::Error noRecord(const llvm::Twine &reason) {
  return llvm::createStringError("this is not a record that `tilewright explain --json` wrote: " + reason);
}

} // namespace

llvm::Expected<llvm::json::Object> readRecord(llvm::StringRef json) {
  llvm::Expected<llvm::json::Value> value = parseJson(json);
  if (!value)
    return noRecord(llvm::toString(value.takeError()));
  llvm::json::Object *record = value->getAsObject();
  std::optional<int64_t> format = record ? record->getInteger("format") : std::nullopt;
  if (!format)
    return noRecord("it has no \"format\"");
  if (*format != recordFormat)
    return llvm::createStringError("the record has the format %lld, but this version of Tilewright reads format %d; "
                                   "create it again with tilewright explain --json",
                                   (long long)*format, recordFormat);
  for (llvm::StringRef part : {"origins", "sets", "sources", "stages", "kernels", "edges"})
    if (!record->getArray(part))
      return noRecord("it has no list \"" + part + "\"");
  if (!record->getObject("plan"))
    return noRecord("it has no \"plan\"");
  return std::move(*record);
}

} // namespace tilewright::explain

//===- JsonView.h - a JSON value and its position in the document ----------------===//
//
// A JsonView reads values that are required to exist. The first value that is missing or has another type sets the
// error, with its position in the document. Every later read returns zero or an empty list, so that it suffices to
// check for an error once, after all reads.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_JSONVIEW_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_READER_JSONVIEW_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::exported {

class JsonView {
public:
  /// Creates a view of `value` at position `path`. `error` is empty as long as there is no error. `value` and `error`
  /// must outlive the view.
  JsonView(const nlohmann::json &value, std::string path, std::string &error)
      : value(&value), path(std::move(path)), error(&error) {}

  bool ok() const { return error->empty(); }
  /// Sets the error to `what` and this position, unless an error is already set.
  void fail(const std::string &what) const;

  /// Returns the member `key`. It is an error if the member is missing.
  JsonView operator[](const char *key) const;
  /// Returns the member `key`, or nullopt if it is missing or null.
  std::optional<JsonView> find(const char *key) const;
  /// Returns the only member of an object; torch writes unions in this form: {"as_int": 3}.
  std::pair<std::string, JsonView> alternative() const;
  std::vector<JsonView> list() const;
  std::vector<std::pair<std::string, JsonView>> members() const;

  int64_t integer() const;
  bool flag() const;
  double number() const; ///< also accepts "Infinity", "-Infinity" and "NaN"
  std::string text() const;

private:
  JsonView nothing() const;

  const nlohmann::json *value;
  std::string path;
  std::string *error;
};

} // namespace tilewright::exported

#endif

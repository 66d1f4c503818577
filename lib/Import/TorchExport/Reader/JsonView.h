//===- JsonView.h - a JSON value and its position in the document ----------------===//
//
// Reads values that are required to exist. The first one that is missing or has another type sets the error, with its
// position in the document. From then on every read returns zeros and empty lists, so that a reader may check for
// errors once, at its end.
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
  /// `value` and `error` (empty as long as there is no error) must outlive the view.
  JsonView(const nlohmann::json &value, std::string path, std::string &error)
      : value(&value), path(std::move(path)), error(&error) {}

  bool ok() const { return error->empty(); }
  /// Reports that `what` is wrong at this position.
  void fail(const std::string &what) const;

  /// Returns a required member.
  JsonView operator[](const char *key) const;
  /// Returns a member, which may be missing or null.
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

//===- JsonView.h - a value of a JSON document, and where it stands --------------===//
//
// Reads what should be there. The first thing that is not sets the error, with its place in the document; from then on
// every read gives zeroes and empty lists, so that a reader may ask once at its end.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_JSONVIEW_H
#define TILEWRIGHT_LIB_FRONTEND_EXPORTEDPROGRAM_JSONVIEW_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::exported {

class JsonView {
public:
  /// `error`, empty as long as all is well, outlives the view, as `value` does.
  JsonView(const nlohmann::json &value, std::string place, std::string &error)
      : value(&value), place(std::move(place)), error(&error) {}

  bool ok() const { return error->empty(); }
  /// Says that `what` is wrong here.
  void fail(const std::string &what) const;

  /// A member that must be there.
  JsonView operator[](const char *key) const;
  /// A member that may be missing or null.
  std::optional<JsonView> find(const char *key) const;
  /// The only member of an object, as torch writes unions: {"as_int": 3}.
  std::pair<std::string, JsonView> alternative() const;
  std::vector<JsonView> list() const;
  std::vector<std::pair<std::string, JsonView>> members() const;

  int64_t integer() const;
  bool flag() const;
  double number() const; ///< "Infinity", "-Infinity" and "NaN" are numbers, too
  std::string text() const;

private:
  JsonView nothing() const;

  const nlohmann::json *value;
  std::string place;
  std::string *error;
};

} // namespace tilewright::exported

#endif

//===- JsonView.cpp - a JSON value and its position in the document ---------------===//
#include "lib/Import/TorchExport/Reader/JsonView.h"

#include <limits>

using nlohmann::json;

namespace tilewright::exported {

void JsonView::fail(const std::string &what) const {
  if (ok())
    *error = path + ": " + what;
}

JsonView JsonView::nothing() const {
  static const json null;
  return JsonView(null, path, *error);
}

JsonView JsonView::operator[](const char *key) const {
  if (!ok())
    return nothing();
  if (!value->is_object()) {
    fail(std::string("an object is expected, not ") + value->type_name());
    return nothing();
  }
  auto found = value->find(key);
  if (found == value->end()) {
    fail(std::string("'") + key + "' is missing");
    return nothing();
  }
  return JsonView(*found, path + "." + key, *error);
}

std::optional<JsonView> JsonView::find(const char *key) const {
  if (!ok() || !value->is_object())
    return std::nullopt;
  auto found = value->find(key);
  if (found == value->end() || found->is_null())
    return std::nullopt;
  return JsonView(*found, path + "." + key, *error);
}

std::pair<std::string, JsonView> JsonView::alternative() const {
  if (ok() && (!value->is_object() || value->size() != 1))
    fail("an object with one member is expected");
  if (!ok())
    return {"", nothing()};
  auto only = value->begin();
  return {only.key(), JsonView(only.value(), path + "." + only.key(), *error)};
}

std::vector<JsonView> JsonView::list() const {
  std::vector<JsonView> items;
  if (ok() && !value->is_array())
    fail(std::string("a list is expected, not ") + value->type_name());
  if (!ok())
    return items;
  items.reserve(value->size());
  for (const json &item : *value)
    items.push_back(JsonView(item, path + "[" + std::to_string(items.size()) + "]", *error));
  return items;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  std::vector<std::pair<std::string, JsonView>> items;
  if (ok() && !value->is_object())
    fail(std::string("an object is expected, not ") + value->type_name());
  if (!ok())
    return items;
  for (auto member = value->begin(); member != value->end(); ++member)
    items.push_back({member.key(), JsonView(member.value(), path + "." + member.key(), *error)});
  return items;
}

int64_t JsonView::integer() const {
  if (!ok())
    return 0;
  if (const auto *natural = value->get_ptr<const uint64_t *>())
    if (*natural <= uint64_t(INT64_MAX))
      return int64_t(*natural);
  const auto *number = value->get_ptr<const int64_t *>();
  if (!number || value->is_number_unsigned()) {
    fail("an integer of 64 bits is expected");
    return 0;
  }
  return *number;
}

bool JsonView::flag() const {
  const auto *truth = value->get_ptr<const bool *>();
  if (ok() && !truth)
    fail("true or false is expected");
  return ok() && *truth;
}

double JsonView::number() const {
  if (!ok())
    return 0;
  if (const auto *real = value->get_ptr<const double *>())
    return *real;
  if (value->is_number_integer())
    return value->is_number_unsigned() ? double(*value->get_ptr<const uint64_t *>())
                                       : double(*value->get_ptr<const int64_t *>());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (const auto *name = value->get_ptr<const std::string *>()) {
    if (*name == "Infinity")
      return infinity;
    if (*name == "-Infinity")
      return -infinity;
    if (*name == "NaN")
      return std::numeric_limits<double>::quiet_NaN();
  }
  fail("a number is expected");
  return 0;
}

std::string JsonView::text() const {
  const auto *characters = value->get_ptr<const std::string *>();
  if (ok() && !characters)
    fail("a text is expected");
  return ok() ? *characters : "";
}

} // namespace tilewright::exported

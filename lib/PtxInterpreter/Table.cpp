//===- Table.cpp - the supported instructions ---------------------------------------------===//
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {

void combine(const std::string &stem, std::initializer_list<std::initializer_list<Choice>> lists,
             const std::string &type, const std::function<void(const std::string &, uint32_t)> &take) {
  std::vector<std::pair<std::string, uint32_t>> made = {{stem, 0}};
  for (const auto &list : lists) {
    std::vector<std::pair<std::string, uint32_t>> longer;
    for (const auto &[text, mods] : made)
      for (const Choice &choice : list)
        longer.push_back({text + choice.text, mods | choice.mods});
    made = std::move(longer);
  }
  for (const auto &[text, mods] : made)
    take(text + type, mods);
}

const Table &table() {
  static const Table made = [] {
    Table table;
    addIntegerForms(table);
    addBitForms(table);
    addFloatForms(table);
    addHalfForms(table);
    addCompareForms(table);
    addConvertForms(table);
    addPackedConvertForms(table);
    addMoveForms(table);
    addMemoryForms(table);
    addAtomicForms(table);
    addControlForms(table);
    addBarrierForms(table);
    addWarpForms(table);
    addMatrixMoveForms(table);
    addMatrixForms(table);
    addCopyForms(table);
    addMbarrierForms(table);
    addClusterForms(table);
    addBulkForms(table);
    addMatrixJobForms(table);
    return table;
  }();
  return made;
}

} // namespace tilewright::ptx

//===- Table.h - the supported instructions ------------------------------------------===//
//
// The key of an entry is an opcode with all its modifiers in the order of the source text, such as "mul.wide.u32". An
// opcode without an entry is rejected with an error that names it. The signature has one letter per operand. A count
// may precede a letter, as in 4w. The results are before '=', and the sources are after it:
//
//   p predicate   h 16 bits   w 32 bits   d 64 bits   q 128 bits   f f32   g f64   x a register of any width
//   v at most 32 bits   n the low 32 bits of any register
//   W like w, but may be omitted in the middle of the list
//   m address in memory   2t address of an element of a tensor map with two coordinates   4w a vector of four
//   ? the following operands are optional   | (after a result) an optional predicate, written d|p in PTX
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_TABLE_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_TABLE_H

#include "lib/PtxInterpreter/Code.h"

#include <functional>
#include <initializer_list>
#include <string>

namespace tilewright::ptx {

struct Form {
  Handler run = nullptr;
  std::string signature;
  uint32_t mods = 0;
  uint8_t flags = 0;
  Space space = Space::Generic;
  uint8_t bytes = 0, count = 1;
  bool isSigned = false;
};

/// Suffix of the key of an opcode's second form. The second operand of this form is a vector.
inline constexpr const char *kRegistersForm = "/registers";

class Table {
public:
  void add(const std::string &opcode, Form form) { forms[opcode] = std::move(form); }
  void add(const std::string &opcode, const char *signature, Handler run, uint32_t mods = 0, uint8_t flags = 0) {
    Form form;
    form.run = run;
    form.signature = signature;
    form.mods = mods;
    form.flags = flags;
    add(opcode, form);
  }
  const Form *find(const std::string &opcode) const {
    auto found = forms.find(opcode);
    return found == forms.end() ? nullptr : &found->second;
  }

private:
  std::unordered_map<std::string, Form> forms;
};

/// One alternative for a part of an opcode, with the modifier bits that it sets.
struct Choice {
  const char *text;
  uint32_t mods;
};
/// Calls `take` for all combinations of one element of each list, in order: "add" x {"", ".rn"} x {"", ".ftz"} -> add,
/// add.ftz, add.rn, add.rn.ftz.
void combine(const std::string &stem, std::initializer_list<std::initializer_list<Choice>> lists,
             const std::string &type, const std::function<void(const std::string &opcode, uint32_t mods)> &take);

/// Returns the table of all instructions, which is built at the first call.
const Table &table();

void addIntegerForms(Table &table);
void addBitForms(Table &table);
void addFloatForms(Table &table);
void addHalfForms(Table &table);
void addCompareForms(Table &table);
void addConvertForms(Table &table);
void addPackedConvertForms(Table &table);
void addMoveForms(Table &table);
void addMemoryForms(Table &table);
void addAtomicForms(Table &table);
void addControlForms(Table &table);
void addBarrierForms(Table &table);
void addWarpForms(Table &table);
void addMatrixMoveForms(Table &table);
void addMatrixForms(Table &table);
void addCopyForms(Table &table);
void addMbarrierForms(Table &table);
void addClusterForms(Table &table);
void addBulkForms(Table &table);
void addMatrixJobForms(Table &table);

} // namespace tilewright::ptx

#endif

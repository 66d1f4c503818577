//===- Handlers.h - handlers that the decoder refers to ---------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_HANDLERS_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_HANDLERS_H

#include "lib/PtxInterpreter/Code.h"

namespace tilewright::ptx {

void invertPredicate(Exec &e, const Instr &in);
void lowWord(Exec &e, const Instr &in);
void frameAddress(Exec &e, const Instr &in); ///< address of a variable in local memory
void packVector(Exec &e, const Instr &in);
void unpackVector(Exec &e, const Instr &in);
void readSpecial(Exec &e, const Instr &in);
void branch(Exec &e, const Instr &in);
void leaveFunction(Exec &e, const Instr &in); ///< ret, and the end of a function

/// Returns the index of a special register such as %tid.x, or 0 if the name is unknown.
uint32_t specialRegister(const std::string &name);

} // namespace tilewright::ptx

#endif

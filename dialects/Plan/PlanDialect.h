//===- PlanDialect.h - the tw_plan dialect ----------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_PLAN_PLANDIALECT_H
#define TILEWRIGHT_DIALECTS_PLAN_PLANDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/PlanDialect.h.inc"
#include "dialects/Plan/PlanEnums.h.inc"
#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

#endif

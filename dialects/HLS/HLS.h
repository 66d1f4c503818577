//===- HLS.h - the tw_hls dialect -------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_HLS_HLS_H
#define TILEWRIGHT_DIALECTS_HLS_HLS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/AttributeNames.h"

#include "dialects/HLS/HLSDialect.h.inc"
#include "dialects/HLS/HLSEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/HLS/HLSAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/HLS/HLSTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/HLS/HLSOps.h.inc"

namespace tilewright::hls {

/// Attributes of affine.for, function arguments, linalg ops and scalar operators; see the dialect's description.
inline constexpr llvm::StringLiteral loopAttrName = "tw_hls.loop";
inline constexpr llvm::StringLiteral interfaceAttrName = "tw_hls.interface";
inline constexpr llvm::StringLiteral scheduleAttrName = "tw_hls.schedule";
inline constexpr llvm::StringLiteral fabricAttrName = "tw_hls.fabric";

/// The largest number of banks into which vendors' tools partition an array.
inline constexpr int64_t mostBanks = 4096;

/// Returns true if the name consists of letters, digits and '_', is not empty, and does not begin with a digit.
bool isIdentifier(llvm::StringRef name);

/// Returns `type` with the layout `banks` and the memory space `memory`.
mlir::MemRefType withMemory(mlir::MemRefType type, PartitionAttr banks, Memory memory);
/// Returns the partition that is the type's layout, or null.
PartitionAttr banksOf(mlir::MemRefType type);
/// Returns the memory of `type`. Arrays without a memory space are in bram.
Memory memoryOf(mlir::MemRefType type);
/// isUltra() returns true for the two layouts of an UltraRAM. hasWords() returns true for a memory whose words consist
/// of one element of each bank. The banks of such a memory are not separate memories.
inline bool isUltra(Memory memory) { return memory == Memory::Uram || memory == Memory::UramWords; }
inline bool hasWords(Memory memory) { return memory == Memory::BramWords || memory == Memory::UramWords; }

} // namespace tilewright::hls

#endif

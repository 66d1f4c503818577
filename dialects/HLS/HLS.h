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

#include "dialects/HLS/HLSDialect.h.inc"
#include "dialects/HLS/HLSEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/HLS/HLSAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/HLS/HLSTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/HLS/HLSOps.h.inc"

namespace tilewright::hls {

/// Of affine.for, function arguments and linalg ops; see the dialect's description.
inline constexpr llvm::StringLiteral loopAttrName = "tw_hls.loop";
inline constexpr llvm::StringLiteral interfaceAttrName = "tw_hls.interface";
inline constexpr llvm::StringLiteral scheduleAttrName = "tw_hls.schedule";
inline constexpr llvm::StringLiteral fabricAttrName = "tw_hls.fabric";

/// On an argument of @main: the elements that it has in every call, a weight's; and on the module, after
/// --tw-hls-embed-weights: which of the model's tensor arguments, by number, are constants of the design, and the
/// elements of the ports behind the model's own.
inline constexpr llvm::StringLiteral valueAttrName = "tw_hls.value", embeddedAttrName = "tw_hls.embedded",
                                     arrangedAttrName = "tw_hls.arranged";

/// Vendors' tools split an array into no more parts.
inline constexpr int64_t mostBanks = 4096;

/// A name that C++ takes: letters, digits and '_', no digit first.
bool isIdentifier(llvm::StringRef name);

/// `type` with these banks, in this memory.
mlir::MemRefType withMemory(mlir::MemRefType type, PartitionAttr banks, Memory memory);
/// Null: the type has no partition as its layout.
PartitionAttr banksOf(mlir::MemRefType type);
/// Arrays without a memory space lie in bram.
Memory memoryOf(mlir::MemRefType type);
/// UltraRAM, each bank in memories of its own, or elements of all banks side by side in a word.
inline bool isUltra(Memory memory) { return memory == Memory::Uram || memory == Memory::UramWords; }
inline bool hasWords(Memory memory) { return memory == Memory::BramWords || memory == Memory::UramWords; }

} // namespace tilewright::hls

#endif

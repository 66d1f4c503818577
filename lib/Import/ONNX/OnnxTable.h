//===- OnnxTable.h - the table from ONNX operators to import functions ---------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXTABLE_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXTABLE_H

#include "llvm/ADT/StringMap.h"

namespace tilewright {

class OnnxNode;
class Results;

/// Imports one node as its operator set's version defines it; returns n.refuse(...) if that is impossible.
using OnnxImporting = Results (*)(OnnxNode &);
/// Maps operators to functions. Operators of domains other than ai.onnx are "domain.operator".
using OnnxTable = llvm::StringMap<OnnxImporting>;

/// Returns the whole table, which is built once.
const OnnxTable &onnxTable();

/// Computes a node whose inputs are known at compile time (n.knownResults, or n.constantResult). Returns false if that
/// is impossible; the node is imported as tw ops then.
bool foldOnnx(OnnxNode &node);
/// Returns true for operators that are always folded and are not in the table: Shape and similar.
bool isFoldedOnly(llvm::StringRef op);

// One function per family, in a file of the same name.
void registerOnnxElementwise(OnnxTable &table);
void registerOnnxActivations(OnnxTable &table);
void registerOnnxShapes(OnnxTable &table);
void registerOnnxReductions(OnnxTable &table);
void registerOnnxContractions(OnnxTable &table);
void registerOnnxConvolutions(OnnxTable &table);
void registerOnnxPooling(OnnxTable &table);
void registerOnnxNorms(OnnxTable &table);
void registerOnnxIndexing(OnnxTable &table);
void registerOnnxQuantization(OnnxTable &table);
void registerOnnxLosses(OnnxTable &table);
void registerOnnxResize(OnnxTable &table);
void registerOnnxRecurrent(OnnxTable &table);
void registerOnnxAttention(OnnxTable &table);
/// Must be called last, because it uses functions of the other families.
void registerOnnxMicrosoft(OnnxTable &table);

} // namespace tilewright

#endif

//===- OnnxTable.h - one table: ONNX operator -> how to write it in tw ---------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXTABLE_H
#define TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXTABLE_H

#include "llvm/ADT/StringMap.h"

namespace tilewright {

class OnnxNode;
class Results;

/// Writes one node in tw, as its operator set's version means it; returns n.refuse(...) where it cannot.
using OnnxImporting = Results (*)(OnnxNode &);
/// By operator; those of other domains than ai.onnx as "domain.operator".
using OnnxTable = llvm::StringMap<OnnxImporting>;

/// The whole table, made once.
const OnnxTable &onnxTable();

/// Computes a node whose inputs are known when the model is compiled (n.knownResults, or n.constantResult); false where
/// it cannot, and the node is written in tw then.
bool foldOnnx(OnnxNode &node);
/// True for the operators that are always computed then, and are in no table: Shape and the like.
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
/// Behind the others: some of its operators are theirs.
void registerOnnxMicrosoft(OnnxTable &table);

} // namespace tilewright

#endif

//===- OnnxTable.h - the table from ONNX operators to import functions ---------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXTABLE_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXTABLE_H

#include "llvm/ADT/StringMap.h"

namespace tilewright {

class OnnxNode;
class Results;

/// Imports one node, as the version of its operator set defines it. Returns n.refuse(...) if that is impossible.
using OnnxImporting = Results (*)(OnnxNode &);
/// Maps names of operators to import functions. The name of an operator in a domain other than ai.onnx is
/// "domain.operator".
using OnnxTable = llvm::StringMap<OnnxImporting>;

/// Returns the table, which is built at the first call.
const OnnxTable &onnxTable();

/// Evaluates a node whose inputs are known at compile time, and sets its knownResults or its constantResult. Returns
/// false if that is impossible. The node is then imported as tw ops.
bool foldOnnx(OnnxNode &node);
/// Returns true for operators such as Shape that are always evaluated at compile time and are not in the table.
bool isFoldedOnly(llvm::StringRef op);

// Each function adds the import functions of one family, and is defined in the file with the family's name.
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
/// This function must be called last, because it uses import functions of other families.
void registerOnnxMicrosoft(OnnxTable &table);

} // namespace tilewright

#endif

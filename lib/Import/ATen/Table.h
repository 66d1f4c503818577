//===- Table.h - the table from ATen overloads to import functions -------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_TABLE_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_TABLE_H

#include "llvm/ADT/StringMap.h"

namespace tilewright {

class Node;
class Results;

/// Imports one node. Reads all arguments first; returns n.refuse(...) if the node cannot be imported.
using Importing = Results (*)(Node &);
using Table = llvm::StringMap<Importing>;

/// Imports GraphBuilder::loweringTarget.
Results importLowering(Node &node);

/// Returns the whole table, which is built once.
const Table &importTable();

/// Returns the ops that only plain files of torch.export have; other callers decompose them. Built once.
const Table &compositeTable();

// One function per family, in a file of the same name.
void registerElementwise(Table &table);
void registerActivations(Table &table);
void registerActivationGradients(Table &table);
void registerComparisons(Table &table);
void registerConversions(Table &table);
void registerViews(Table &table);
void registerSlices(Table &table);
void registerStrided(Table &table);
void registerReductions(Table &table);
void registerScansAndSorts(Table &table);
void registerContractions(Table &table);
void registerScaledProducts(Table &table);
void registerConvolutions(Table &table);
void registerAttention(Table &table);
void registerSoftmax(Table &table);
void registerLayerNorms(Table &table);
void registerBatchNorms(Table &table);
void registerPooling(Table &table);
void registerIndexing(Table &table);
void registerScatters(Table &table);
void registerCreation(Table &table);
void registerRandom(Table &table);
void registerQuantization(Table &table);
// Composite ops:
void registerCompositeNorms(Table &table);
void registerCompositeViews(Table &table);
void registerInterpolation(Table &table);
void registerCompositeActivations(Table &table);
void registerGridSampling(Table &table);
void registerRecurrent(Table &table);
void registerWindows(Table &table);
void registerExperts(Table &table);

} // namespace tilewright

#endif

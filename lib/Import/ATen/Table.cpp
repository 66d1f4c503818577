//===- Table.cpp - the table from ATen overloads to import functions -----------===//
#include "lib/Import/ATen/Table.h"

namespace tilewright {

const Table &importTable() {
  static const Table table = [] {
    Table t;
    registerElementwise(t);
    registerActivations(t);
    registerActivationGradients(t);
    registerComparisons(t);
    registerConversions(t);
    registerViews(t);
    registerSlices(t);
    registerStrided(t);
    registerReductions(t);
    registerScansAndSorts(t);
    registerContractions(t);
    registerScaledProducts(t);
    registerConvolutions(t);
    registerAttention(t);
    registerSoftmax(t);
    registerLayerNorms(t);
    registerBatchNorms(t);
    registerPooling(t);
    registerIndexing(t);
    registerScatters(t);
    registerCreation(t);
    registerRandom(t);
    registerQuantization(t);
    return t;
  }();
  return table;
}

} // namespace tilewright

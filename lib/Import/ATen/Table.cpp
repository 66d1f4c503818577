//===- Table.cpp - the table of ATen operators ------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

namespace tilewright {

llvm::StringLiteral nameOf(OperatorKind kind) {
  switch (kind) {
  case OperatorKind::Import:
    return "import";
  case OperatorKind::Composite:
    return "composite";
  case OperatorKind::Declared:
    return "declared";
  }
  llvm_unreachable("a kind of operators without a name");
}

llvm::StringLiteral nameOf(Aliasing aliasing) {
  switch (aliasing) {
  case Aliasing::Fresh:
    return "fresh";
  case Aliasing::View:
    return "view";
  case Aliasing::Views:
    return "views";
  case Aliasing::Alias:
    return "alias";
  case Aliasing::Reinterpret:
    return "reinterpret";
  case Aliasing::Reshape:
    return "reshape";
  case Aliasing::Conversion:
    return "conversion";
  case Aliasing::Inference:
    return "inference";
  case Aliasing::Unclear:
    return "unclear";
  }
  llvm_unreachable("an aliasing without a name");
}

Importing Table::add(llvm::StringRef target, Aliasing aliasing, Importing import) {
  Operator row{import ? kind : OperatorKind::Declared, aliasing, import, family, operators.size()};
  if (!operators.try_emplace(target, row).second)
    llvm::report_fatal_error("the operator " + target + " has two rows in the table");
  return import;
}

void Table::addSynonym(llvm::StringRef target, llvm::StringRef other) {
  const Operator *row = find(other);
  if (!row || !row->import)
    llvm::report_fatal_error("the operator " + target + " is a synonym of " + other + ", which is not imported");
  if (!find(target))
    add(target, row->aliasing, row->import);
}

void Table::beginFamily(llvm::StringRef title, OperatorKind kind) {
  family = title;
  this->kind = kind;
}

const Operator *Table::find(llvm::StringRef target) const {
  auto row = operators.find(target);
  return row == operators.end() ? nullptr : &row->second;
}

const Table &operatorTable() {
  using enum OperatorKind;
  struct Family {
    llvm::StringLiteral title;
    OperatorKind kind;
    void (*addTo)(Table &);
  };
  // The families are in the order of docs/reference/operators.md. Synonyms are last, because they copy rows of the
  // table.
  static constexpr Family families[] = {
      {"Elementwise functions", Import, registerElementwise},
      {"Activations", Import, registerActivations},
      {"Gradients of activations", Import, registerActivationGradients},
      {"Comparisons and selection", Import, registerComparisons},
      {"Conversions and copies", Import, registerConversions},
      {"Reshapes and reorderings", Import, registerViews},
      {"Slices and splits", Import, registerSlices},
      {"Windows of memory", Import, registerStrided},
      {"Reductions", Import, registerReductions},
      {"Scans and sorts", Import, registerScansAndSorts},
      {"Order statistics", Import, registerOrderStatistics},
      {"Searches and histograms", Import, registerSearches},
      {"Matrix products", Import, registerContractions},
      {"Scaled matrix products", Import, registerScaledProducts},
      {"Mixtures of experts", Import, registerExperts},
      {"Triangular systems", Import, registerTriangularSolves},
      {"Cholesky factors", Import, registerCholeskyFactors},
      {"LU factors", Import, registerLuFactors},
      {"Linear systems and determinants", Import, registerLinearSystems},
      {"Convolutions", Import, registerConvolutions},
      {"Attention", Import, registerAttention},
      {"Transformer layers", Import, registerEncoderLayers},
      {"Softmax", Import, registerSoftmax},
      {"Layer and group norms", Import, registerLayerNorms},
      {"Batch norms", Import, registerBatchNorms},
      {"Pooling", Import, registerPooling},
      {"Grid sampling", Import, registerGridSampling},
      {"Gradients of grid sampling", Import, registerGridSamplingGradients},
      {"Adaptive pooling", Import, registerAdaptivePooling},
      {"Fractional pooling", Import, registerFractionalPooling},
      {"Gradients of pooling", Import, registerPoolingGradients},
      {"Gradients of padding", Import, registerPaddingGradients},
      {"Indexing", Import, registerIndexing},
      {"Scatters", Import, registerScatters},
      {"Scatters at masks", Import, registerMaskedScatters},
      {"Reductions of segments", Import, registerSegmentReductions},
      {"Bags of rows", Import, registerEmbeddingBags},
      {"Gradients of bags of rows", Import, registerEmbeddingBagGradients},
      {"Creation", Import, registerCreation},
      {"Random numbers", Import, registerRandom},
      {"Random distributions", Import, registerDistributions},
      {"Quantization", Import, registerQuantization},
      {"Special functions", Import, registerSpecialFunctions},
      {"Gamma functions", Import, registerGammaFunctions},
      {"Bessel functions", Import, registerBesselFunctions},
      {"Chebyshev polynomials", Import, registerChebyshevPolynomials},
      {"Distances", Import, registerDistances},
      {"Losses that check their arguments", Import, registerCheckedLosses},
      {"Gradients of losses", Import, registerLossGradients},
      {"Copies of views", Import, registerViewCopies},
      {"Composite operators", Composite, registerComposites},
      {"Composite norms", Composite, registerCompositeNorms},
      {"Composite reshapes and reorderings", Composite, registerCompositeViews},
      {"Interpolation", Composite, registerInterpolation},
      {"Composite activations and other functions", Composite, registerCompositeActivations},
      {"Losses of elements", Composite, registerLosses},
      {"Classification losses", Composite, registerClassLosses},
      {"Recurrent layers", Composite, registerRecurrent},
      {"Columns of images", Composite, registerWindows},
      {"Synonyms", Composite, registerSynonyms},
  };
  static const Table table = [] {
    Table t;
    for (const Family &family : families) {
      t.beginFamily(family.title, family.kind);
      family.addTo(t);
    }
    return t;
  }();
  return table;
}

const Operator *findImported(llvm::StringRef target) {
  const Operator *row = operatorTable().find(target);
  return row && row->kind == OperatorKind::Import ? row : nullptr;
}

} // namespace tilewright

//===- Table.h - the table of ATen operators --------------------------------------===//
//
// The table has one row per overload of an operator. Each row is defined in the file of the operator's family:
//
//   t["aten.erf.default"] = unary<ErfOp>;                             // an operator that allocates its result
//   t.add("aten.permute.default", Aliasing::View, permuteDims);       // its result is a view
//   t.add("aten.view_as_real.default", Aliasing::Reinterpret);        // not imported, its aliasing is needed
//
// Other parts of the project derive lists of operators from the rows: python/tilewright/fx, ExportedMemory, and
// docs/reference/operators.md.
//
// Test: test/Python/test_operators.py
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_TABLE_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_TABLE_H

#include "llvm/ADT/StringMap.h"

namespace tilewright {

class Node;
class Results;

/// Imports one node. Reads all arguments first; returns n.refuse(...) if the node cannot be imported.
using Importing = Results (*)(Node &);

/// Specifies how nodes of an operator are imported.
enum class OperatorKind : uint8_t {
  Import,    ///< imported for every caller; torch's decompositions are not applied to it
  Composite, ///< occurs only in plain files of torch.export; other callers decompose it
  Declared,  ///< not imported: the row states only its aliasing
};

/// The memory in which eager torch stores the results of an operator whose operands are real. The lazy conjugate of a
/// real tensor is the tensor itself.
enum class Aliasing : uint8_t {
  Fresh,       ///< the result is in newly allocated memory
  View,        ///< the result is always in the memory of the first operand
  Views,       ///< a list of results, each of them in the memory of the first operand
  Alias,       ///< View, with the same sizes and strides
  Reinterpret, ///< View, whose bytes are read as other values: another dtype, lazy conjugates and negatives
  Reshape,     ///< View if the operand's strides permit the new shape, otherwise Fresh
  Conversion,  ///< the first operand if it already has the wanted dtype, device and strides, otherwise Fresh
  Inference,   ///< the first operand in inference; in training Fresh, or the operand if nothing is dropped
  Unclear,     ///< possibly in the memory of any operand
};

/// Return the name of an enumerator in Python and in the documentation.
llvm::StringLiteral nameOf(OperatorKind kind);
llvm::StringLiteral nameOf(Aliasing aliasing);

/// A row of the table, for one overload of an operator.
struct Operator {
  OperatorKind kind = OperatorKind::Declared;
  Aliasing aliasing = Aliasing::Fresh;
  Importing import = nullptr; ///< null for OperatorKind::Declared
  llvm::StringRef family;     ///< the title of its family in docs/reference/operators.md
  unsigned number = 0;        ///< index of the row: rows are counted in the order in which they are added
};

class Table {
public:
  /// The result of operator[]. An assignment to it adds a row with Aliasing::Fresh, and returns the import function, so
  /// that assignments can be chained.
  struct NewRow {
    Table &table;
    llvm::StringRef target;
    Importing operator=(Importing import) { return table.add(target, Aliasing::Fresh, import); }
  };
  NewRow operator[](llvm::StringRef target) { return {*this, target}; }

  /// Adds a row for `target` to the current family, and returns `import`. If `import` is null, the row has
  /// OperatorKind::Declared. It is a fatal error if the table already has a row for `target`.
  Importing add(llvm::StringRef target, Aliasing aliasing, Importing import = nullptr);

  /// Adds a row for `target` with the import function and the aliasing of `other`, which has the same arguments. Does
  /// nothing if the table already has a row for `target`.
  void addSynonym(llvm::StringRef target, llvm::StringRef other);

  /// Sets the family of the rows that are added next. Rows with an import function have the kind `kind`.
  void beginFamily(llvm::StringRef title, OperatorKind kind);

  /// Returns the row of `target`, or null.
  const Operator *find(llvm::StringRef target) const;

  const llvm::StringMap<Operator> &rows() const { return operators; }

private:
  llvm::StringMap<Operator> operators;
  llvm::StringRef family;
  OperatorKind kind = OperatorKind::Import;
};

/// Imports GraphBuilder::loweringTarget.
Results importLowering(Node &node);

/// Returns the table, which is built at the first call.
const Table &operatorTable();

/// Returns the row of `target` if it has OperatorKind::Import, otherwise null.
const Operator *findImported(llvm::StringRef target);

// Each function adds the rows of one family. It is defined in the file of the same name (registerReductions() in
// Reductions.cpp), except that registerCheckedLosses() is defined in Losses.cpp.
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
void registerOrderStatistics(Table &table);
void registerSearches(Table &table);
void registerContractions(Table &table);
void registerScaledProducts(Table &table);
void registerExperts(Table &table);
void registerTriangularSolves(Table &table);
void registerCholeskyFactors(Table &table);
void registerLuFactors(Table &table);
void registerLinearSystems(Table &table);
void registerConvolutions(Table &table);
void registerAttention(Table &table);
void registerEncoderLayers(Table &table);
void registerSoftmax(Table &table);
void registerLayerNorms(Table &table);
void registerBatchNorms(Table &table);
void registerPooling(Table &table);
void registerGridSampling(Table &table);
void registerGridSamplingGradients(Table &table);
void registerAdaptivePooling(Table &table);
void registerFractionalPooling(Table &table);
void registerPoolingGradients(Table &table);
void registerPaddingGradients(Table &table);
void registerIndexing(Table &table);
void registerScatters(Table &table);
void registerMaskedScatters(Table &table);
void registerSegmentReductions(Table &table);
void registerEmbeddingBags(Table &table);
void registerEmbeddingBagGradients(Table &table);
void registerCreation(Table &table);
void registerRandom(Table &table);
void registerDistributions(Table &table);
void registerQuantization(Table &table);
void registerSpecialFunctions(Table &table);
void registerGammaFunctions(Table &table);
void registerBesselFunctions(Table &table);
void registerChebyshevPolynomials(Table &table);
void registerDistances(Table &table);
void registerCheckedLosses(Table &table);
void registerLosses(Table &table);
void registerClassLosses(Table &table);
void registerLossGradients(Table &table);
void registerViewCopies(Table &table);
// Further families of composite operators, in addition to registerLosses() and registerClassLosses():
void registerComposites(Table &table);
void registerCompositeNorms(Table &table);
void registerCompositeViews(Table &table);
void registerInterpolation(Table &table);
void registerCompositeActivations(Table &table);
void registerRecurrent(Table &table);
void registerWindows(Table &table);
/// Adds rows for synonyms of operators that are in the table.
void registerSynonyms(Table &table);

} // namespace tilewright

#endif

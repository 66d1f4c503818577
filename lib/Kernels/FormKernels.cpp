//===- FormKernels.cpp - cluster the ops of @main, one kernel per cluster ----===//
//
// Before:
//   func @main(%x, %w, %bias) {
//     %0 = linalg.contract ins(%x, %w) outs(%zero)
//     %1 = linalg.generic {add bias; gelu} ins(%0, %bias)
//     return %1 }
// After:
//   func @main(%x, %w, %bias) {
//     %e = tensor.empty
//     %1 = call @kernel_0(%x, %w, %bias, %e)
//     return %1 }
//   func private @kernel_0(...) attributes {tw.kernel} { the two ops, the last one into the last argument }
//
// All targets use the same algorithm, with their limits as options. Ops are visited from the last to the first. An op
// joins the kernel of one of its users if the members can then still be tiled along common rows (dialects/Tile/Rows.h)
// and if fusion is not slower, for example because threads would be idle. Otherwise the op becomes the anchor of a new
// kernel. There are five kinds of kernels:
//   - at most one contraction, with elementwise ops and reductions;
//   - several products whose results are combined element by element (the gate and the values of a gated feed-forward
//     layer, the two products of a recurrent cell);
//   - a scatter and the op that produces its rows;
//   - a concatenation and the elementwise producers of its parts;
//   - one other op, such as a sort, a padding or attention.
// For each attempt to add an op to the kernel of one of its users, the attribute tw.decisions of the module states
// whether the op was added, and if not, the reason (dialects/Graph/Decisions.h, kind "fusion"). Afterwards, @main
// contains only calls, tensor.empty ops, views, constants and index computations, and equal kernels are one function.
//
// Tests: test/Kernels/form-kernels.mlir, test/Kernels/form-columns.mlir, test/Kernels/form-grouped.mlir,
// test/Kernels/form-products.mlir, test/Kernels/form-scatter.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Decisions.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Tile.h"
#include "lib/Kernels/FixedValues.h"
#include "lib/Kernels/OutlineKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/Pass.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_FORMKERNELS
#include "tilewright/Passes.h.inc"
namespace structured {
using namespace tile;
namespace {

/// Returns true for ops that a kernel executes; all other ops in @main are views, constants or index computations.
bool isComputation(Operation *op) {
  return isa<linalg::LinalgOp>(op) || op->getName().getDialectNamespace() == "tw_tile" ||
         isa<tensor::PadOp, tensor::InsertSliceOp>(op);
}

/// Returns the op of @main that uses a value: `user`, or the op whose body contains it (the body of a gather
/// reads its source).
Operation *inMain(Operation *user, func::FuncOp main) { return main.getBody().front().findAncestorOpInBlock(*user); }

/// Returns `size`, or 128 if it is symbolic.
int64_t countedSize(int64_t size) { return ShapedType::isDynamic(size) ? 128 : size; }

/// A fill that is a result or is reshaped becomes a kernel. CSE may have merged this fill with fills into which ops
/// accumulate, and such an op would overwrite the shared fill. Therefore, clones the fill for each op that accumulates
/// into it.
void separateFills(func::FuncOp main) {
  for (auto fill : llvm::make_early_inc_range(main.getBody().front().getOps<linalg::FillOp>())) {
    if (llvm::all_of(fill->getUsers(), isComputation))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(fill->getUses())) {
      auto dps = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
      if (dps && dps.isDpsInit(&use)) {
        OpBuilder builder(use.getOwner());
        use.set(builder.clone(*fill)->getResult(0));
      }
    }
  }
}

class Clustering {
public:
  Clustering(func::FuncOp main, int64_t mostProducts, int64_t columnsToSpan, bool computePieces)
      : main(main), fixedValues(main), mostProducts(mostProducts), columnsToSpan(columnsToSpan),
        computePieces(computePieces) {}

  void run() {
    int64_t position = 0;
    for (Operation &op : main.getBody().front())
      order[&op] = position++;
    for (Operation &op : llvm::reverse(main.getBody().front())) {
      if (!isComputation(&op))
        continue;
      // A fill whose users are all computations is cloned into their kernels. A fill that is a result or is reshaped is
      // a separate kernel; the ops that accumulate into it have clones (separateFills).
      if (isa<linalg::FillOp>(op) && llvm::all_of(op.getUsers(), isComputation))
        continue;
      if (!join(&op)) {
        clusterOf[&op] = clusters.size();
        clusters.emplace_back();
        clusters.back().push_back(&op);
        levelOf.push_back(highestReaderLevel(&op, /*except=*/-1) + 1);
      }
    }
  }

  std::vector<SmallVector<Operation *>> clusters; ///< members, anchor first (program order reversed)
  llvm::DenseMap<Operation *, int64_t> clusterOf;
  graph::DecisionList decisions;

private:
  /// Visits the kernels of the users of `op`, and adds `op` to the first kernel that may contain it. Reports why the
  /// kernels visited before may not contain it. Returns false if no kernel may.
  bool join(Operation *op) {
    llvm::SmallSetVector<int64_t, 4> candidates;
    for (Operation *user : op->getUsers()) {
      auto found = clusterOf.find(inMain(user, main));
      if (found != clusterOf.end())
        candidates.insert(found->second);
    }
    for (int64_t candidate : candidates) {
      std::string reason;
      if (admissible(op, candidate, reason)) {
        tell(true, op, clusters[candidate].front(), "");
        clusterOf[op] = candidate;
        clusters[candidate].push_back(op);
        raiseLevel(candidate, highestReaderLevel(op, candidate) + 1);
        return true;
      }
      tell(false, op, clusters[candidate].front(), reason);
    }
    return false;
  }

  bool admissible(Operation *op, int64_t candidate, std::string &reason) {
    SmallVector<Operation *> &members = clusters[candidate];
    // All insertions of a concatenation are in one kernel.
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
      auto next = llvm::find_if(llvm::reverse(members), llvm::IsaPred<tensor::InsertSliceOp>);
      if (next != members.rend() && op->hasOneUse() &&
          cast<tensor::InsertSliceOp>(*next).getDest() == insert.getResult())
        return true;
      reason = "a concatenation runs in a separate kernel";
      return false;
    }
    for (Operation *user : op->getUsers())
      if (Operation *reader = inMain(user, main); reader != user && llvm::is_contained(members, reader)) {
        reason = describe(reader) + " reads it at computed indices, so all of it must be computed first";
        return false;
      }
    if (!isa<linalg::LinalgOp, GroupedConvolutionOp>(op)) {
      reason = describe(op) + " runs in a separate kernel";
      return false;
    }
    if (makesRowsOf(op, members) || makesPieceOf(op, members))
      return true;
    for (Operation *member : members)
      if (!isa<linalg::LinalgOp, GroupedConvolutionOp>(member)) {
        reason = describe(member) + " cannot be fused with its producers";
        return false;
      }
    bool rooted = llvm::any_of(members, isContractionRoot);
    if (isContractionRoot(op) && rooted && !multipliesInParallel(op, members)) {
      reason = mostProducts > 1
                   ? "a kernel has one contraction, or products of equal sizes with enough tiles for many threads"
                   : "a kernel has one contraction";
      return false;
    }
    if (isContractionRoot(members.front()) || (rooted && feedsContraction(op, members))) {
      reason = "a contraction reads its operands many times: computing " + describe(op) + " inside would repeat it";
      return false;
    }
    // A limit on the number of ops bounds the live values and the compile time of a kernel. Its value is not based on
    // measurements.
    constexpr size_t mostOps = 24;
    if (members.size() + 1 > mostOps) {
      reason = "the kernel has " + std::to_string(mostOps) + " ops already";
      return false;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic && generic.getNumResults() == 1 && fixedValues.contains(generic.getResult(0)) &&
        !llvm::all_of(members, [this](Operation *member) { return fixedValues.contains(member->getResult(0)); })) {
      reason = "it depends only on parameters and is computed once";
      return false;
    }
    if (generic && candidateSumsRowsOf(generic, candidate) && readsRowReduction(generic) &&
        isStoredFor(generic, candidate)) {
      reason = "it is stored for other kernels, and the sums over its rows that it reads can be computed in its kernel";
      return false;
    }
    if (reachesThroughOthers(op, candidate)) {
      reason = "a third kernel between them needs the result first";
      return false;
    }
    // An elementwise op that reads a contraction joins a kernel only if the contraction could also join this kernel.
    // Otherwise the op becomes the anchor of a kernel that the contraction can join.
    SmallVector<Operation *> together(members.rbegin(), members.rend());
    together.insert(together.begin(), op);
    llvm::sort(together, [&](Operation *a, Operation *b) { return order[a] < order[b]; });
    std::optional<RowMap> rows = computeRows(together, reason);
    if (!rows)
      return false;
    if (!isContractionRoot(op) && leavesThreadsIdle(op, together, *rows)) {
      reason = "a kernel of both would have too few rows for the threads to share";
      return false;
    }
    if (!isContractionRoot(op) && leavesColumns(op, *rows)) {
      reason = "the rows of a kernel of both would be columns of the reduction, which reads only a few elements of "
               "each cache line";
      return false;
    }
    Operation *contraction = isContractionRoot(op) ? op : (generic ? producingContraction(generic) : nullptr);
    for (Operation *member : members) {
      if (isContractionRoot(member))
        contraction = member;
      else if (auto finish = dyn_cast<linalg::GenericOp>(member); finish && !contraction)
        contraction = producingContraction(finish);
    }
    if (isContractionRoot(op) && rooted && rows->numRows < cast<ShapedType>(op->getResult(0).getType()).getRank()) {
      reason =
          "a kernel of several products needs each result tile by tile, and a reduction after them needs whole rows";
      return false;
    }
    // A task of a grouped convolution always computes all channels of a pixel.
    if (isa_and_nonnull<GroupedConvolutionOp>(contraction)) {
      if (rows->numRows >= numLoops(contraction))
        return true;
      reason = "a task of " + describe(contraction) + " would have to compute whole images";
      return false;
    }
    if (contraction && rows->numRows < cast<ShapedType>(contraction->getResult(0).getType()).getRank() &&
        !affordsWholeRows(contraction, rows->numRows)) {
      reason = "a tile of " + describe(contraction) + " would have to span whole rows of the reduction, " +
               (columnsToSpan ? "so that the threads share only the rows and each tile reads all weights; this is "
                                "faster only with at least " +
                                    std::to_string(rowsToSpan) + " rows and with at most " +
                                    std::to_string(columnsToSpan) + " columns"
                              : "which no schedule of the target supports");
      return false;
    }
    return true;
  }

  /// Returns true if a kernel reads a result of `op` in a reduction whose last loop is parallel, that is, a sum of
  /// columns.
  bool candidateSumsRowsOf(linalg::GenericOp op, int64_t candidate) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      auto found = clusterOf.find(user);
      auto reader = dyn_cast<linalg::LinalgOp>(user);
      return found != clusterOf.end() && found->second == candidate && reader && reader.getNumReductionLoops() > 0 &&
             reader.getIteratorTypesArray().back() == utils::IteratorType::parallel;
    });
  }

  /// Returns true if `op` is elementwise and reads the result of a reduction of rows, as in the gradient of a norm.
  /// This result, or an elementwise function of it, is broadcast along the last loop.
  static bool readsRowReduction(linalg::GenericOp op) {
    if (op.getNumReductionLoops() > 0 || op.getNumLoops() == 0)
      return false;
    auto reduces = [](Value value) {
      auto producer = value.getDefiningOp<linalg::LinalgOp>();
      return producer && producer.getNumReductionLoops() > 0 && !isContractionRoot(producer);
    };
    return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
      if (op.getMatchingIndexingMap(input).isFunctionOfDim(op.getNumLoops() - 1))
        return false;
      auto producer = input->get().getDefiningOp<linalg::LinalgOp>();
      return producer && (reduces(input->get()) || llvm::any_of(producer.getDpsInputs(), reduces));
    });
  }

  /// Returns true if ops outside of the kernel `candidate` read a result of `op`.
  bool isStoredFor(linalg::GenericOp op, int64_t candidate) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      auto found = clusterOf.find(inMain(user, main));
      return found == clusterOf.end() || found->second != candidate;
    });
  }

  /// Returns true if the kernel consists only of a scatter of whole rows, and `op` is the elementwise op that computes
  /// these rows for no other user. `op` must not call math functions, and its result must not be a fixed value. For
  /// example, `op` gathers the rows of an embedding bag's table. After fusion, the rows need not be stored. The scatter
  /// is one task with or without fusion, and reads the same number of elements.
  bool makesRowsOf(Operation *op, ArrayRef<Operation *> members) {
    auto scatter = members.size() == 1 ? dyn_cast<ScatterOp>(members.front()) : nullptr;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    return scatter && generic && op->getNumResults() == 1 && op->hasOneUse() && generic.getNumReductionLoops() == 0 &&
           scatter.getInputs()[0] == op->getResult(0) && writesRows(scatter) &&
           !fixedValues.contains(op->getResult(0)) &&
           generic.getMatchingIndexingMap(generic.getDpsInitOperand(0)).isIdentity() &&
           !generic.payloadUsesValueFromOperand(generic.getDpsInitOperand(0)) &&
           llvm::none_of(generic.getBlock()->getOperations(),
                         [](Operation &inner) { return inner.getDialect()->getNamespace() == "math"; });
  }

  /// Returns true if each task may compute its rows of all parts of a concatenation directly into the result. This
  /// requires the option compute-pieces, and that `op` is the elementwise producer of one of a few parts, which have
  /// enough rows for tasks. `op` must not be a gather, and its result must not be a fixed value.
  bool makesPieceOf(Operation *op, ArrayRef<Operation *> members) const {
    // If a concatenation has more than `mostPieces` parts, the parts are usually the results of the steps of a
    // recurrence. The steps have equal kernels, which become one function.
    constexpr int64_t mostPieces = 7, enough = 8;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!computePieces || !generic || op->getNumResults() != 1 || !op->hasOneUse() ||
        fixedValues.contains(op->getResult(0)) || generic.getNumReductionLoops() > 0 ||
        !generic.getMatchingIndexingMap(generic.getDpsInitOperand(0)).isIdentity() ||
        generic.payloadUsesValueFromOperand(generic.getDpsInitOperand(0)) ||
        !generic.getBlock()->getOps<tensor::ExtractOp>().empty())
      return false;
    auto piece = dyn_cast<tensor::InsertSliceOp>(*op->user_begin());
    if (!piece || piece.getSource() != op->getResult(0) || !llvm::is_contained(members, piece.getOperation()))
      return false;
    int64_t pieces = 0;
    llvm::SmallBitVector shared(piece.getType().getRank(), true);
    for (auto insert = dyn_cast<tensor::InsertSliceOp>(members.front()); insert;
         insert = insert.getDest().getDefiningOp<tensor::InsertSliceOp>()) {
      if (++pieces > mostPieces || insert.getSourceType().getRank() != insert.getType().getRank() ||
          !insert.hasUnitStride())
        return false;
      for (int64_t dim = 0; dim < insert.getType().getRank(); ++dim)
        if (!isConstantIntValue(insert.getMixedOffsets()[dim], 0) ||
            insert.getSourceType().getDimSize(dim) != insert.getType().getDimSize(dim))
          shared.reset(dim);
    }
    int64_t rows = 1;
    for (unsigned dim : shared.set_bits())
      rows *= countedSize(piece.getType().getDimSize(dim));
    return rows >= enough;
  }

  /// Returns true if `op` and all products of the kernel are linalg.contract ops with results of one type. In addition,
  /// their number must be at most `mostProducts`, and each must have enough tiles for many threads. The op that
  /// combines the results then reads their tiles from the cache, and no product is written to memory.
  bool multipliesInParallel(Operation *op, ArrayRef<Operation *> members) const {
    constexpr int64_t tileRows = 128, tileColumns = 64, enough = 16;
    auto type = cast<ShapedType>(op->getResult(0).getType());
    int64_t products = 1, rank = type.getRank();
    for (Operation *member : members) {
      if (!isContractionRoot(member))
        continue;
      ++products;
      if (!isa<linalg::ContractOp>(member) || member->getResult(0).getType() != type)
        return false;
    }
    if (!isa<linalg::ContractOp>(op) || products > mostProducts || rank < 2)
      return false;
    int64_t tiles = llvm::divideCeil(countedSize(type.getDimSize(rank - 2)), tileRows) *
                    llvm::divideCeil(countedSize(type.getDimSize(rank - 1)), tileColumns);
    for (int64_t size : type.getShape().drop_back(2))
      tiles *= countedSize(size);
    return tiles >= enough;
  }

  /// Returns the product of the first `count` sizes of the result of `anchor`, where a symbolic size is assumed to be
  /// 128.
  static int64_t countRows(Operation *anchor, int64_t count) {
    int64_t product = 1;
    for (int64_t size : cast<ShapedType>(anchor->getResult(0).getType()).getShape().take_front(count))
      product *= countedSize(size);
    return product;
  }

  /// Returns true if a kernel that consists only of `op` has much work and enough rows for many threads, but a kernel
  /// of the ops `together` has too few rows.
  static bool leavesThreadsIdle(Operation *op, ArrayRef<Operation *> together, const RowMap &rows) {
    constexpr int64_t much = 32768, enough = 8;
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured || countRows(together.back(), rows.numRows) >= enough)
      return false;
    int64_t work = 1;
    for (int64_t size : structured.getStaticLoopRanges())
      work *= countedSize(size);
    std::string none;
    std::optional<RowMap> own = computeRows(op, none);
    return work >= much && own && countRows(op, own->numRows) >= enough;
  }

  /// Returns true if `op` is a reduction whose last loop is parallel, and if the kernel would tile this loop but no
  /// other parallel loop. Each result of `op` is contiguous along the last loop.
  static bool leavesColumns(Operation *op, const RowMap &rows) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured || structured.getNumReductionLoops() == 0)
      return false;
    SmallVector<int64_t> rowOfLoop = rows.rowOfLoop.lookup(op);
    SmallVector<utils::IteratorType> kinds = structured.getIteratorTypesArray();
    if (kinds.back() != utils::IteratorType::parallel || rowOfLoop.back() < 0)
      return false;
    for (auto [kind, row] : llvm::zip_equal(kinds, rowOfLoop))
      if (kind == utils::IteratorType::parallel && row < 0)
        return true;
    return false;
  }

  /// The minimum number of rows with which a kernel may compute whole rows of a product. With so many rows, the threads
  /// have enough tiles although the columns are not tiled. Each tile reads the weights once for many rows. If the
  /// product has few columns, the tile's result stays in the L2 cache for the row reduction that follows.
  static constexpr int64_t rowsToSpan = 1024;
  bool affordsWholeRows(Operation *contraction, int64_t numRows) const {
    auto type = cast<ShapedType>(contraction->getResult(0).getType());
    return type.getRank() == 2 && numRows == 1 && type.hasStaticShape() && type.getDimSize(0) >= rowsToSpan &&
           type.getDimSize(1) <= columnsToSpan;
  }

  /// Returns the contraction whose result `op` reads element by element; null if there is none.
  Operation *producingContraction(linalg::GenericOp op) {
    for (OpOperand *input : op.getDpsInputOperands())
      if (Operation *producer = input->get().getDefiningOp())
        if (isContractionRoot(producer) && op.getMatchingIndexingMap(input).isPermutation())
          return producer;
    return nullptr;
  }

  bool feedsContraction(Operation *op, ArrayRef<Operation *> members) {
    return llvm::any_of(op->getUsers(),
                        [&](Operation *user) { return isContractionRoot(user) && llvm::is_contained(members, user); });
  }

  /// Returns the highest level of the kernels, except `except`, that read a result of `op`; -1 if none does.
  int64_t highestReaderLevel(Operation *op, int64_t except) {
    int64_t level = -1;
    SmallVector<Operation *> stack{op};
    llvm::SmallPtrSet<Operation *, 8> seen;
    while (!stack.empty())
      for (Operation *nested : stack.pop_back_val()->getUsers()) {
        Operation *user = inMain(nested, main);
        auto found = clusterOf.find(user);
        if (found == clusterOf.end()) {
          if (seen.insert(user).second)
            stack.push_back(user); // a view
        } else if (found->second != except) {
          level = std::max(level, levelOf[found->second]);
        }
      }
    return level;
  }

  /// Raises the level of `cluster` to at least `level`. Raises the levels of all clusters whose results it reads, too,
  /// so that they remain higher.
  void raiseLevel(int64_t cluster, int64_t level) {
    SmallVector<std::pair<int64_t, int64_t>> work{{cluster, level}};
    while (!work.empty()) {
      auto [raised, to] = work.pop_back_val();
      if (levelOf[raised] >= to)
        continue;
      levelOf[raised] = to;
      SmallVector<Operation *> readers(clusters[raised]);
      llvm::SmallPtrSet<Operation *, 8> seen;
      while (!readers.empty())
        readers.pop_back_val()->walk([&](Operation *inner) {
          for (Value operand : inner->getOperands()) {
            Operation *producer = operand.getDefiningOp() ? inMain(operand.getDefiningOp(), main) : nullptr;
            if (!producer)
              continue;
            if (auto found = clusterOf.find(producer); found == clusterOf.end()) {
              if (!isComputation(producer) && seen.insert(producer).second)
                readers.push_back(producer); // a view
            } else if (found->second != raised) {
              work.push_back({found->second, to + 1});
            }
          }
        });
    }
  }

  /// Returns true if a path leads from `op` through an op outside of the candidate kernel back into the kernel. If `op`
  /// joined the kernel, there would be a cycle.
  bool reachesThroughOthers(Operation *op, int64_t candidate) {
    SmallVector<Operation *> stack;
    llvm::DenseSet<Operation *> seen;
    const int64_t level = levelOf[candidate];
    auto visit = [&](Operation *from) {
      for (Operation *nested : from->getUsers()) {
        Operation *user = inMain(nested, main);
        auto found = clusterOf.find(user);
        if (found != clusterOf.end() && found->second == candidate) {
          if (from != op)
            return true;
          continue;
        }
        // A kernel runs as a whole, so the consumers of any of its members run after all of its members.
        if (found != clusterOf.end()) {
          if (levelOf[found->second] <= level)
            continue; // no path leads from this cluster to the candidate
          for (Operation *member : clusters[found->second])
            if (seen.insert(member).second)
              stack.push_back(member);
        } else if (seen.insert(user).second) {
          stack.push_back(user);
        }
      }
      return false;
    };
    if (visit(op))
      return true;
    while (!stack.empty())
      if (visit(stack.pop_back_val()))
        return true;
    return false;
  }

  void tell(bool fused, Operation *producer, Operation *consumer, StringRef reason) {
    std::string subject = describe(producer) + (fused ? " with " : " separate from ") + describe(consumer);
    decisions.add(producer->getLoc(), {"FormKernels", "fusion", fused, subject, reason.str()});
  }

  func::FuncOp main;
  const FixedValues fixedValues;
  int64_t mostProducts, columnsToSpan;
  bool computePieces;
  llvm::DenseMap<Operation *, int64_t> order;
  /// The level of each cluster is higher than the levels of all clusters that read its results. Without levels, each
  /// search for a path to a kernel would visit all ops that follow in the graph.
  std::vector<int64_t> levelOf;
};

struct FormKernels : impl::FormKernelsBase<FormKernels> {
  using Base::Base;
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main)
      return;
    // A dead op would still be a user of its operands, which would become kernel results that no call uses.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    separateFills(main);
    Clustering clustering(main, mostProducts, columnsToSpan, computePieces);
    clustering.run();
    if (Attribute earlier = main->removeAttr(graph::decisionsAttrName)) // decisions that passes have stored on @main
      module->setAttr(graph::decisionsAttrName, earlier);
    clustering.decisions.store(module);
    if (failed(outlineKernels(module, main, clustering.clusters, readSlices)))
      signalPassFailure();
  }
};
} // namespace

} // namespace structured
} // namespace tilewright

//===- OutlineKernels.cpp - clusters of @main become kernel functions --------===//
#include "lib/Kernels/OutlineKernels.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Tile/Views.h"
#include "lib/Kernels/FixedValues.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "tilewright/AttributeNames.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::structured {
using namespace tile;
namespace {

/// With `readSlices`, if a tensor that is not a parameter has at least this many dense slices of one type, the slices
/// are operands of kernels, and are not cloned into the kernels.
constexpr size_t manySlices = 8;

/// Returns the dense slices of @main whose source has many slices of the same type. Slices of parameters are not
/// included, because a parameter is packed as a whole. Slices that are returned, reshaped or sliced again are not
/// included either.
llvm::DenseSet<Operation *> slicesToRead(func::FuncOp main) {
  const FixedValues fixedValues(main);
  llvm::MapVector<std::pair<Value, Type>, SmallVector<Operation *>> bySource;
  for (auto slice : main.getBody().front().getOps<tensor::ExtractSliceOp>())
    if (denseSliceOffset(slice) && !fixedValues.contains(slice.getSource()) &&
        llvm::none_of(slice->getUsers(), [](Operation *user) {
          return isa<func::ReturnOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user);
        }))
      bySource[{slice.getSource(), slice.getType()}].push_back(slice);
  llvm::DenseSet<Operation *> found;
  for (auto &[source, slices] : bySource)
    if (slices.size() >= manySlices)
      found.insert(slices.begin(), slices.end());
  return found;
}

/// Returns true for small ops that are cloned into a kernel, so that their results are not passed to it.
bool isCloned(Operation *op) {
  if (isa<tensor::EmptyOp, linalg::FillOp, tensor::ExtractSliceOp>(op))
    return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return !isa<ShapedType>(constant.getType()) || isa<SplatElementsAttr>(constant.getValue());
  // A reshape of a slice is not dense before it is copied, so it cannot be an operand.
  if (isa<tensor::ExpandShapeOp>(op))
    return op->getOperand(0).getDefiningOp<tensor::ExtractSliceOp>() != nullptr;
  return false;
}

/// Returns the symbol of kernel `number`, which computes `ops`: "matmul_add_gelu_3" for "matmul+add+gelu". Consecutive
/// equal ops are named once, and a long name is truncated after an op. Without the number, a kernel of one op could
/// have the name of a function of the C library, such as exp.
std::string kernelName(StringRef ops, size_t number) {
  constexpr size_t longest = 60;
  SmallVector<StringRef> parts;
  ops.split(parts, '+', -1, /*KeepEmpty=*/false);
  parts.erase(llvm::unique(parts), parts.end());
  std::string name;
  for (StringRef part : parts) {
    if (!name.empty() && name.size() + part.size() > longest)
      break;
    for (char c : part)
      name += llvm::isAlnum(c) ? c : '_';
    name += '_';
  }
  if (name.empty() || !llvm::isAlpha(name.front()))
    name = "kernel_" + name;
  return name + std::to_string(number);
}

class Outliner {
public:
  Outliner(ModuleOp module, func::FuncOp main, bool readSlices)
      : module(module), main(main), builder(module.getContext()) {
    if (readSlices)
      operandSlices = slicesToRead(main);
  }

  LogicalResult outline(ArrayRef<Operation *> reversedMembers) {
    members.assign(reversedMembers.rbegin(), reversedMembers.rend());
    llvm::sort(members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    memberSet = llvm::SmallPtrSet<Operation *, 16>(members.begin(), members.end());
    Operation *anchor = members.back();

    // The ops that are cloned into the kernel, and the kernel's inputs and results.
    llvm::SetVector<Operation *> clones;
    llvm::SetVector<Value> tensors, indices;
    aliases.clear();
    for (Operation *member : members)
      collect(member, clones, tensors, indices);
    SmallVector<Value> results;
    for (Operation *member : members)
      for (Value result : member->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !isMember(user); }))
          results.push_back(result);
    if (results.empty())
      return success();

    builder.setInsertionPoint(anchor);
    // The sizes of operands and results are index arguments of the kernel. Each distinct size is passed once.
    SmallVector<Value> shaped(tensors.begin(), tensors.end());
    shaped.append(results.begin(), results.end());
    SmallVector<SmallVector<AffineExpr>> sizes;
    llvm::DenseMap<AffineExpr, Value> sizeValues; // one value per size; affine.apply ops may express it differently
    for (Value value : shaped) {
      FailureOr<SmallVector<AffineExpr>> known = knownSizes(value);
      if (failed(known))
        return failure();
      for (AffineExpr size : *known)
        if (!isa<AffineConstantExpr>(size))
          indices.insert(sizeValues[size] = valueOf(size));
      sizes.push_back(*known);
    }
    SmallVector<Value> operands(indices.begin(), indices.end());
    operands.append(tensors.begin(), tensors.end());
    SmallVector<Location> fusedLocations;
    std::string ops;
    // Begin with the locations of the ops that can fail at run time (because of computed indices, divisors or required
    // conditions), if there are any.
    for (Operation *member : members)
      member->walk([&](Operation *op) {
        if (isa<tile::PlaceOp, tile::DivisorOp, tile::RequireOp, tile::ScatterOp>(op))
          fusedLocations.push_back(op->getLoc());
      });
    for (Operation *member : members) {
      fusedLocations.push_back(member->getLoc());
      constexpr size_t mostCharacters = 160; // maximum length of the list of a kernel's ops, apart from the last op
      if (ops.size() < mostCharacters)
        ops += (ops.empty() ? "" : "+") + describe(member);
    }
    SmallVector<Type> resultTypes;
    for (auto [index, result] : llvm::enumerate(results)) {
      auto type = cast<RankedTensorType>(result.getType());
      resultTypes.push_back(type);
      SmallVector<Value> dynamic;
      for (AffineExpr size : sizes[tensors.size() + index])
        if (!isa<AffineConstantExpr>(size))
          dynamic.push_back(valueOf(size));
      operands.push_back(tensor::EmptyOp::create(builder, anchor->getLoc(), type, dynamic));
    }

    // The function.
    const std::string name = kernelName(ops, count);
    OpBuilder functionBuilder(module.getContext());
    functionBuilder.setInsertionPointToEnd(module.getBody());
    auto kernel = func::FuncOp::create(functionBuilder, anchor->getLoc(), name,
                                       functionBuilder.getFunctionType(TypeRange(ValueRange(operands)), resultTypes));
    kernel.setPrivate();
    kernel->setAttr(kernelAttrName, functionBuilder.getUnitAttr());
    // Express the sizes of the arguments in terms of the kernel's index arguments.
    llvm::DenseMap<AffineExpr, AffineExpr> symbolOf;
    for (auto [size, value] : sizeValues)
      symbolOf[size] = builder.getAffineSymbolExpr(llvm::find(indices, value) - indices.begin());
    for (auto [index, known] : llvm::enumerate(sizes)) {
      SmallVector<AffineExpr> mine;
      for (AffineExpr size : known)
        mine.push_back(isa<AffineConstantExpr>(size) ? size : symbolOf.lookup(size));
      kernel.setArgAttr(indices.size() + index, sizesAttrName,
                        AffineMapAttr::get(AffineMap::get(0, indices.size(), mine, builder.getContext())));
    }
    Block *body = kernel.addEntryBlock();
    IRMapping mapping;
    mapping.map(ArrayRef<Value>(operands).drop_back(results.size()), body->getArguments().drop_back(results.size()));
    for (auto [value, canonical] : aliases)
      mapping.map(value, mapping.lookup(canonical));
    OpBuilder inside = OpBuilder::atBlockBegin(body);
    SmallVector<Operation *> all(clones.begin(), clones.end());
    all.append(members.begin(), members.end());
    llvm::sort(all, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    // If a result is used outside of the kernel, it is computed into its destination argument.
    llvm::DenseMap<Value, Value> destination;
    for (auto [index, result] : llvm::enumerate(results))
      destination[result] = body->getArgument(body->getNumArguments() - results.size() + index);
    for (Operation *op : all) {
      Operation *copy = inside.clone(*op, mapping);
      copy->setLoc(op->getLoc());
      auto dps = dyn_cast<DestinationStyleOpInterface>(copy);
      if (!memberSet.contains(op))
        continue;
      if (auto insert = dyn_cast<tensor::InsertSliceOp>(copy)) {
        // If a chain of insertions begins with a tensor.empty, replace the tensor.empty by the destination.
        if (auto found = destination.find(op->getResult(0)); found != destination.end()) {
          Operation *first = insert;
          while (auto before = cast<tensor::InsertSliceOp>(first).getDest().getDefiningOp<tensor::InsertSliceOp>())
            first = before;
          if (cast<tensor::InsertSliceOp>(first).getDest().getDefiningOp<tensor::EmptyOp>())
            cast<tensor::InsertSliceOp>(first).getDestMutable().assign(found->second);
        }
        continue;
      }
      if (!dps)
        continue;
      for (OpResult result : op->getResults()) {
        auto found = destination.find(result);
        if (found == destination.end())
          continue;
        OpOperand *init = dps.getTiedOpOperand(copy->getResult(result.getResultNumber()));
        Operation *initOp = init->get().getDefiningOp();
        if (isa_and_nonnull<tensor::EmptyOp>(initOp)) {
          init->set(found->second);
        } else if (auto fill = dyn_cast_or_null<linalg::FillOp>(initOp)) {
          inside.setInsertionPoint(copy);
          auto newFill = linalg::FillOp::create(inside, fill.getLoc(), fill.getInputs(), found->second);
          init->set(newFill.getResult(0));
          inside.setInsertionPointToEnd(body);
        }
      }
    }
    SmallVector<Value> returned;
    for (Value result : results)
      returned.push_back(mapping.lookup(result));
    func::ReturnOp::create(inside, anchor->getLoc(), returned);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    simplifyDeadFills(body);

    // Use the text of the function to find an equal kernel, so that equal kernels are compiled once.
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel.setSymName("k");
    kernel->print(stream, OpPrintingFlags().useLocalScope().assumeVerified().enableDebugInfo(false));
    kernel.setSymName(name);
    auto [entry, isNew] = kernelByText.try_emplace(text, kernel);
    if (isNew) {
      kernel->setAttr(opsAttrName, builder.getStringAttr(ops));
      ++count;
    } else {
      noteLocations(entry->second, kernel);
      kernel.erase();
    }
    auto call = func::CallOp::create(builder, builder.getFusedLoc(fusedLocations), entry->second.getSymName(),
                                     resultTypes, operands);
    call->setAttr(opsAttrName, builder.getStringAttr(ops));
    for (auto [from, to] : llvm::zip_equal(results, call.getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) { return !isMember(use.getOwner()); });
    for (Operation *member : llvm::reverse(members))
      member->erase();
    return success();
  }

  /// Adds to the location of each op of a kernel the locations of the corresponding ops of the equal kernels that the
  /// kernel replaces.
  void fuseLocations() {
    for (auto &[op, others] : locations) {
      others.insert(others.begin(), op->getLoc());
      op->setLoc(builder.getFusedLoc(others));
    }
  }

private:
  /// Records the locations of `same`, which equals `kept` except for its locations.
  void noteLocations(func::FuncOp kept, func::FuncOp same) {
    SmallVector<Operation *> ops;
    kept->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    auto next = ops.begin();
    same->walk<WalkOrder::PreOrder>([&](Operation *op) { locations[*next++].push_back(op->getLoc()); });
  }

  /// Returns true if `user`, or the op of @main whose body contains it, is a member.
  bool isMember(Operation *user) { return memberSet.contains(main.getBody().front().findAncestorOpInBlock(*user)); }

  void collect(Operation *op, llvm::SetVector<Operation *> &clones, llvm::SetVector<Value> &tensors,
               llvm::SetVector<Value> &indices) {
    auto take = [&](Value value) {
      Operation *definition = value.getDefiningOp();
      if (definition && (memberSet.contains(definition) || clones.contains(definition)))
        return;
      if (definition && definition->getBlock() != &main.getBody().front())
        return; // inside a body
      if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() != &main.getBody().front())
        return;
      if (definition && isCloned(definition) && !operandSlices.contains(definition)) {
        collect(definition, clones, tensors, indices);
        clones.insert(definition);
      } else if (isa<IndexType>(value.getType())) {
        AffineExpr expr = exprOf(value);
        indices.insert(expr ? valueOf(expr) : value);
        if (expr && valueOf(expr) != value)
          aliases.push_back({value, valueOf(expr)});
      } else {
        tensors.insert(value);
      }
    };
    op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), take); });
  }

  /// Returns the unique value in @main for `expr`, an expression of the symbols of @main.
  Value valueOf(AffineExpr expr) {
    auto [entry, isNew] = valueByExpr.try_emplace(expr);
    if (isNew) {
      OpBuilder top = OpBuilder::atBlockBegin(&main.getBody().front());
      OpFoldResult made = materialize(top, main.getLoc(), expr, indexArguments(main));
      entry->second = getValueOrCreateConstantIndexOp(top, main.getLoc(), made);
    }
    return entry->second;
  }

  /// Returns the sizes of `value`, or an error at its location if they are unknown.
  FailureOr<SmallVector<AffineExpr>> knownSizes(Value value) {
    SmallVector<AffineExpr> sizes = tile::sizesOf(value);
    if (sizes.size() != static_cast<size_t>(cast<RankedTensorType>(value.getType()).getRank())) {
      emitError(value.getLoc()) << "the sizes of " << value.getType() << " cannot be computed from the symbolic sizes";
      return failure();
    }
    return sizes;
  }

  /// Erases fills and empty tensors that became unused when results were redirected to destination arguments.
  void simplifyDeadFills(Block *body) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isa<linalg::FillOp, tensor::EmptyOp>(op) && op.use_empty())
        op.erase();
  }

  ModuleOp module;
  func::FuncOp main;
  OpBuilder builder;
  int64_t count = 0;
  SmallVector<Operation *> members;
  llvm::SmallPtrSet<Operation *, 16> memberSet;
  llvm::DenseSet<Operation *> operandSlices; ///< slices that stay in @main
  llvm::StringMap<func::FuncOp> kernelByText;
  /// For each op: the locations of the same op in equal kernels.
  llvm::MapVector<Operation *, SmallVector<Location>> locations;
  llvm::DenseMap<AffineExpr, Value> valueByExpr;
  SmallVector<std::pair<Value, Value>> aliases; ///< pairs of an index value and the canonical value that is equal to it
};
} // namespace

LogicalResult outlineKernels(ModuleOp module, func::FuncOp main, ArrayRef<SmallVector<Operation *>> clusters,
                             bool readSlices) {
  Outliner outliner(module, main, readSlices);
  // The first cluster contains the last ops of @main. Outline producers before consumers, so that the inputs that other
  // clusters compute are already results of calls.
  SmallVector<ArrayRef<Operation *>> inOrder;
  for (const SmallVector<Operation *> &cluster : llvm::reverse(clusters))
    inOrder.push_back(cluster);
  for (ArrayRef<Operation *> cluster : inOrder)
    if (failed(outliner.outline(cluster)))
      return failure();
  outliner.fuseLocations();
  Block &body = main.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  sortTopologically(&body);
  return success();
}

} // namespace tilewright::structured

//===- ResolveLayouts.cpp - contractions read packed panels -------------------===//
//
// Before:
//   func @kernel_0(%a, %w, %out) { linalg.contract ins(%a, %w) outs(%zero) ... }
//   func @main: call @kernel_0(%x, %w, %e)                             // %w is a parameter
// After:
//   func @kernel_0(%a, %packed, %out) { tw_tile.matmul ins(%a, %packed) ... }
//   func @pack_0(%w, %packed) { tw_tile.pack ... }
//   func @main: %p = call @pack_0(%w, %e) {tw.once}; call @kernel_0(%x, %p, %e)
//
// The panel width depends on N, the vector width and the instructions, but not on the number of rows of A. Therefore,
// the same packed form of a weight is used for any number of rows of A. If B is a parameter, it is packed once. If the
// graph computes B, it is packed at each call, unless the product has fewer than 8 rows. Such a product reads B
// unpacked (linalg.contract remains), unless k is contiguous in B and K is above 1 and less than the number of lanes of
// a vector. If B consists of slices that are selected from a parameter (a mixture of experts), the product reads the
// packed parameter, and the indices of the slices are the third input of tw_tile.matmul. If k is not contiguous in A,
// as in the gradient of a weight, a separate kernel transposes A if servesMany() returns true, for example if the
// product has enough columns to amortize the copy. A contraction is not changed if there is no micro-kernel for it, if
// the kernel computes B, or if another op of the kernel reads B.
//
// Tests: test/Codegen/CPU/Schedule/resolve-layouts.mlir, test/Codegen/CPU/Schedule/resolve-few-rows.mlir,
// test/Codegen/CPU/Schedule/resolve-transposed.mlir, test/Codegen/CPU/Schedule/resolve-chosen.mlir
//
//===----------------------------------------------------------------------===//
#include "ChosenSlices.h"
#include "ContractionForm.h"
#include "dialects/Graph/Decisions.h"
#include "dialects/Tile/CopyReason.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Views.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_RESOLVELAYOUTS
#include "tilewright/Passes.h.inc"
namespace tiled {
using namespace tile;
namespace {

/// The value that replaces a kernel's argument, such as a packed operand, and how it is computed from the argument.
struct Prepared {
  RankedTensorType type;
  SmallVector<AffineExpr> sizes; ///< sizes as expressions of the kernel's index arguments
  Attribute how; ///< kind of the computation; calls with the same source share a replacement of equal type and `how`
  StringRef name;
  function_ref<Value(OpBuilder &, Location, Value source, Value destination)> make;
};

class LayoutResolver {
public:
  LayoutResolver(ModuleOp module, func::FuncOp main, const ResolveLayoutsOptions &options)
      : module(module), main(main), lanes(options.vectorLanes), options(options), builder(module.getContext()) {}

  LogicalResult run() {
    SmallVector<func::FuncOp> kernels;
    for (auto kernel : module.getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName))
        kernels.push_back(kernel);
    for (func::FuncOp kernel : kernels) {
      SmallVector<Operation *> contractions;
      kernel.walk([&](Operation *op) {
        if (isa<linalg::ContractOp, linalg::Conv2DNhwcHwcfOp>(op))
          contractions.push_back(op);
      });
      for (Operation *op : contractions)
        if (failed(rewrite(kernel, op)))
          return failure();
    }
    for (func::FuncOp chooser : choosers)
      if (callsOf(chooser).empty())
        chooser.erase();
    for (auto kernel : module.getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName))
        dropSymbols(kernel);
    sinkPrepared();
    markOnce();
    decisions.store(module);
    return success();
  }

  /// Moves each call that prepares an operand right before the first user of its result. Otherwise, all prepared
  /// operands would be live from the first kernel on, for example the packed form of an activation that is saved for
  /// the backward graph.
  void sinkPrepared() {
    for (auto &[key, made] : preparedOf) {
      Operation *first = nullptr, *call = made.getDefiningOp();
      for (Operation *user : made.getUsers())
        if (!first || user->isBeforeInBlock(first))
          first = user;
      if (first)
        call->moveBefore(first);
    }
  }

  /// Removes the index arguments (symbols) of a kernel that does not use them and whose sizes are all static. A packing
  /// kernel then runs once even if the graph has a symbolic batch size, and its code is the same as in a graph without
  /// symbols.
  void dropSymbols(func::FuncOp kernel) {
    unsigned count = tile::indexArguments(kernel).size();
    if (count == 0 || kernel.isExternal())
      return;
    for (BlockArgument argument : kernel.getArguments()) {
      bool index = isa<IndexType>(argument.getType());
      auto sizes = kernel.getArgAttrOfType<AffineMapAttr>(argument.getArgNumber(), sizesAttrName);
      if (index ? !argument.use_empty() || argument.getArgNumber() >= count
                : sizes && llvm::any_of(sizes.getValue().getResults(),
                                        [](AffineExpr size) { return !isa<AffineConstantExpr>(size); }))
        return;
    }
    for (func::CallOp call : callsOf(kernel))
      call->eraseOperands(0, count);
    BitVector symbols(kernel.getNumArguments());
    symbols.set(0, count);
    if (failed(kernel.eraseArguments(symbols)))
      return;
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      if (auto sizes = kernel.getArgAttrOfType<AffineMapAttr>(i, sizesAttrName))
        kernel.setArgAttr(i, sizesAttrName,
                          AffineMapAttr::get(AffineMap::get(0, 0, sizes.getValue().getResults(), kernel.getContext())));
  }

  /// Marks calls that run once per version of the parameters, for example to permute weights. Such a call reads only
  /// parameters, constants and results of other marked calls. A call whose result is returned to the caller is not
  /// marked.
  void markOnce() {
    llvm::DenseSet<Value> fixed;
    auto isFixed = [&](Value value) {
      while (Operation *op = value.getDefiningOp()) {
        if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
          break;
        value = op->getOperand(0);
      }
      return fixed.contains(value) || (value.getDefiningOp<func::CallOp>() ? false : isStatic(value));
    };
    for (auto call : main.getOps<func::CallOp>()) {
      auto inputs = ValueRange(call.getOperands()).drop_back(call.getNumResults());
      bool once = false;
      for (Value input : inputs)
        once |= isa<RankedTensorType>(input.getType());
      for (Value input : inputs)
        once &= isa<RankedTensorType>(input.getType()) && isFixed(input);
      for (Value result : call.getResults())
        once &= !leaves(result);
      if (once)
        call->setAttr(onceAttrName, builder.getUnitAttr());
      else
        call->removeAttr(onceAttrName);
      if (once)
        fixed.insert(call.getResults().begin(), call.getResults().end());
    }
  }

  /// Returns true if @main returns `value` or a view of it.
  static bool leaves(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return isa<func::ReturnOp>(user) || (tile::isViewOfAll(user) && leaves(user->getResult(0)));
    });
  }

private:
  graph::DecisionList decisions;
  llvm::SmallSetVector<func::FuncOp, 4> choosers; ///< kernels whose slices are now read from the table

  LogicalResult rewrite(func::FuncOp kernel, Operation *op) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    Value rhs = linalgOp.getDpsInputs()[1], lhs = linalgOp.getDpsInputs()[0], result = op->getResult(0);
    Type element = cast<ShapedType>(rhs.getType()).getElementType();
    Type accumulator = cast<ShapedType>(result.getType()).getElementType();
    bool bytes = element.isInteger(8) && accumulator.isInteger(32);
    if (!bytes && (!accumulator.isF32() || !(element.isF32() || element.isBF16() || element.isF16())))
      return keepUnpacked(op, "products of " + textOf(element) + " with sums of " + textOf(accumulator) +
                                  " have no micro-kernel; vectorized loops compute them");
    auto argument = dyn_cast<BlockArgument>(rhs);
    if (!argument || !llvm::hasSingleElement(argument.getUsers()))
      return keepUnpacked(op,
                          "its right-hand side is computed in its kernel, or is read by other ops of the kernel, too");
    int64_t group = 1, depth = 1;
    if (bytes) {
      group = options.int8Group;
      depth = options.int8Depth;
    } else if (element.isBF16()) {
      group = options.bf16Group;
      depth = options.bf16Depth;
    } else if (element.isF16() && !(options.splitF16 && isa<linalg::Conv2DNhwcHwcfOp>(op))) {
      group = options.f16Group;
      depth = options.f16Depth;
    }
    // A panel for AMX tiles has at most two vectors of columns, because more would leave no tile register for A.
    bool tiles = depth > group;
    SmallVector<AffineExpr> rhsSizes = tile::sizesOf(rhs), outSizes = tile::sizesOf(result);
    ContractionForm form;
    std::optional<Choice> choice;
    int64_t inner = 0, panel, mergedWidth = 0, mergedHeight = 0;
    if (auto contract = dyn_cast<linalg::ContractOp>(op)) {
      std::string reason;
      std::optional<ContractionForm> found = formOf(contract, reason);
      if (!found)
        return keepUnpacked(op, reason);
      form = *found;
      if (outSizes.size() == 3 && form.batchedRhs && form.rhsPermutation[0] == 0)
        choice =
            choiceOfArgument(callsOf(kernel), argument.getArgNumber(), [&](Value table) { return isStatic(table); });
      if (choice) {
        for (func::FuncOp chooser : takeTable(kernel, callsOf(kernel), argument, *choice))
          choosers.insert(chooser);
        rhsSizes = tile::sizesOf(argument);
        for (int64_t &dim : form.rhsPermutation)
          dim = choice->dims[dim];
      }
      auto rows = dyn_cast<AffineConstantExpr>(outSizes[outSizes.size() - 2]);
      if (!isParameter(kernel, argument.getArgNumber()) && rows && rows.getValue() < 8 &&
          !gathersShortRuns(form, rhsSizes))
        return keepUnpacked(op, "the graph computes its right-hand side, and packing it takes longer than the product "
                                "with the few rows of the left-hand side");
      panel = tiles ? panelFor(outSizes.back(), lanes, {2, 1}) : panelFor(outSizes.back(), lanes, {3, 2, 4, 1});
    } else {
      auto conv = cast<linalg::Conv2DNhwcHwcfOp>(op);
      mergedWidth = mergedWidthOf(conv);
      mergedHeight = mergedWidth && tiles ? mergedHeightOf(conv, depth) : 0;
      if (mergedHeight) {
        rhsSizes = {rhsSizes[0] * rhsSizes[1] * rhsSizes[2], rhsSizes[3]};
        mergeWindow(kernel, argument, rhsSizes, {{0, 1, 2}, {3}});
      } else if (mergedWidth) {
        rhsSizes = {rhsSizes[0], rhsSizes[1] * rhsSizes[2], rhsSizes[3]};
        mergeWindow(kernel, argument, rhsSizes, {{0}, {1, 2}, {3}});
      }
      inner = mergedHeight ? 0 : mergedWidth ? 1 : 2;
      for (size_t dim = 0; dim < rhsSizes.size(); ++dim)
        form.rhsPermutation.push_back(dim);
      panel = panelFor(outSizes.back(), lanes, {2, 1});
    }
    // The sizes of the packed operand: [b...] panels [kh kw] k/group panel*group, with k rounded up to a multiple of
    // `depth` for AMX tiles, otherwise of `group`.
    SmallVector<AffineExpr> canonical;
    for (int64_t dim : form.rhsPermutation)
      canonical.push_back(rhsSizes[dim]);
    SmallVector<AffineExpr> packed;
    int64_t batches = inner ? 0 : canonical.size() - 2;
    for (int64_t dim = 0; dim < batches; ++dim)
      packed.push_back(canonical[dim]);
    packed.push_back(canonical.back().ceilDiv(panel));
    for (int64_t dim = 0; dim < inner; ++dim)
      packed.push_back(canonical[dim]);
    AffineExpr k = canonical[canonical.size() - 2];
    packed.push_back(tiles ? k.ceilDiv(depth) * (depth / group) : k.ceilDiv(group));
    packed.push_back(builder.getAffineConstantExpr(panel * group));

    auto pack = [&](OpBuilder &at, Location loc, Value source, Value destination) {
      return PackOp::create(at, loc, TypeRange{destination.getType()}, ValueRange{source}, ValueRange{destination},
                            panel, group, form.rhsPermutation, inner)
          .getResults()[0];
    };
    prepare(kernel, argument,
            {typeOf(packed, element), packed, builder.getDenseI64ArrayAttr(form.rhsPermutation), "pack", pack});
    const bool turns = tiles && element.getIntOrFloatBitWidth() == 16 && !(element.isF16() && options.splitF16);
    if (isa<linalg::ContractOp>(op) && servesMany(lhs, form, outSizes, panel, turns))
      transpose(kernel, cast<BlockArgument>(lhs), form.lhsPermutation);

    builder.setInsertionPoint(op);
    Value init = linalgOp.getDpsInits()[0];
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      init = fill.getOutputs()[0];
    Operation *made;
    if (auto conv = dyn_cast<linalg::Conv2DNhwcHwcfOp>(op))
      made = ConvolutionOp::create(builder, op->getLoc(), TypeRange{result.getType()}, ValueRange{lhs, rhs},
                                   ValueRange{init}, llvm::to_vector(conv.getStrides().getValues<int64_t>()),
                                   llvm::to_vector(conv.getDilations().getValues<int64_t>()), panel, group, mergedWidth,
                                   mergedHeight);
    else {
      SmallVector<Value> inputs{lhs, rhs};
      if (choice)
        inputs.push_back(kernel.getArgument(argument.getArgNumber() + 1));
      made = MatmulOp::create(builder, op->getLoc(), TypeRange{result.getType()}, inputs, ValueRange{init}, panel,
                              group, form.lhsPermutation, choice && choice->fromEnd);
    }
    if (Attribute name = op->getAttr(opAttrName))
      made->setAttr(opAttrName, name);
    result.replaceAllUsesWith(made->getResult(0));
    op->erase();
    return success();
  }

  /// Adds a decision with the reason why `op` reads its right-hand side unpacked.
  LogicalResult keepUnpacked(Operation *op, const std::string &reason) {
    decisions.add(op->getLoc(), {"ResolveLayouts", "pack", /*done=*/false, tile::describe(op), reason});
    return success();
  }

  static std::string textOf(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  /// Returns true if k is contiguous in B, and K is above 1 and less than the number of lanes, so that reads of
  /// unpacked B would gather single elements. Packing transposes such a B in registers.
  bool gathersShortRuns(const ContractionForm &form, ArrayRef<AffineExpr> rhsSizes) const {
    const int64_t k = form.rhsPermutation[form.rhsPermutation.size() - 2];
    auto depth = dyn_cast<AffineConstantExpr>(rhsSizes[k]);
    return depth && k + 1 == int64_t(rhsSizes.size()) && depth.getValue() > 1 && depth.getValue() < lanes;
  }

  /// Returns true if the pixels of `image` are contiguous, that is, if `image` is not a slice along the channels.
  static bool hasWholePixels(Value image) {
    for (auto slice = image.getDefiningOp<tensor::ExtractSliceOp>(); slice;
         slice = slice.getSource().getDefiningOp<tensor::ExtractSliceOp>())
      if (slice.getSourceType().getShape().back() != slice.getType().getShape().back())
        return false;
    return true;
  }

  /// Returns KW if the sizes of the window and the number of channels are static, and a line of the window is
  /// contiguous in memory and has more than one pixel. Otherwise returns 0.
  static int64_t mergedWidthOf(linalg::Conv2DNhwcHwcfOp conv) {
    auto input = cast<RankedTensorType>(conv.getInputs()[0].getType());
    auto weight = cast<RankedTensorType>(conv.getInputs()[1].getType());
    bool gaps = *(conv.getDilations().getValues<int64_t>().begin() + 1) != 1;
    return gaps || input.isDynamicDim(3) || !weight.hasStaticShape() || weight.getDimSize(1) == 1 ||
                   !hasWholePixels(conv.getInputs()[0])
               ? 0
               : weight.getDimSize(1);
  }

  /// Returns KH if a line of a window (KW*C elements) leaves much of the matrix unit's depth unused, for example in an
  /// image with 3 channels. Otherwise returns 0.
  static int64_t mergedHeightOf(linalg::Conv2DNhwcHwcfOp conv, int64_t depth) {
    auto weight = cast<RankedTensorType>(conv.getInputs()[1].getType());
    int64_t line = weight.getDimSize(1) * weight.getDimSize(2);
    return line < 2 * depth && line % depth ? weight.getDimSize(0) : 0;
  }

  /// Merges the groups of dimensions `together` of `argument`, a convolution's weight KH x KW x C x F, in `kernel` and
  /// in its calls.
  void mergeWindow(func::FuncOp kernel, BlockArgument argument, ArrayRef<AffineExpr> sizes,
                   ArrayRef<ReassociationIndices> together) {
    for (func::CallOp call : callsOf(kernel)) {
      Value source = call.getOperand(argument.getArgNumber());
      Value &merged = mergedOf[{source, sizes.size()}];
      if (!merged) {
        builder.setInsertionPointAfterValue(source);
        merged = tensor::CollapseShapeOp::create(builder, call.getLoc(), source, together);
      }
      call.setOperand(argument.getArgNumber(), merged);
    }
    auto type = cast<RankedTensorType>(argument.getType());
    argument.setType(typeOf(sizes, type.getElementType()));
    kernel.setArgAttr(argument.getArgNumber(), sizesAttrName,
                      AffineMapAttr::get(AffineMap::get(0, indexArguments(kernel).size(), sizes, kernel.getContext())));
  }

  RankedTensorType typeOf(ArrayRef<AffineExpr> sizes, Type element) {
    SmallVector<int64_t> shape;
    for (AffineExpr size : sizes) {
      auto constant = dyn_cast<AffineConstantExpr>(size);
      shape.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
    }
    return RankedTensorType::get(shape, element);
  }

  SmallVector<func::CallOp> callsOf(func::FuncOp kernel) {
    SmallVector<func::CallOp> calls;
    for (auto call : main.getOps<func::CallOp>())
      if (call.getCallee() == kernel.getSymName())
        calls.push_back(call);
    return calls;
  }

  /// Returns true if every call passes a parameter, a constant, or a view of one of them as this argument.
  bool isParameter(func::FuncOp kernel, unsigned argument) {
    return llvm::all_of(callsOf(kernel), [&](func::CallOp call) { return isStatic(call.getOperand(argument)); });
  }
  bool isStatic(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
        return isa<arith::ConstantOp>(op);
      value = op->getOperand(0);
    }
    return main.getArgAttr(cast<BlockArgument>(value).getArgNumber(), staticAttrName) != nullptr;
  }

  /// The maximum size in bytes of an f32 operand that a separate kernel transposes.
  static constexpr int64_t mostCopied = int64_t(32) << 20;

  /// Returns true if a separate kernel should transpose `lhs`. Without this kernel, each task reads `lhs` with a
  /// stride along k. If the product's instructions take groups of consecutive elements along k, the elements of each
  /// group must then be loaded one by one. In f32, the copy is amortized only if four or more panels of columns read it
  /// (docs/decisions/0012). A product with fewer than 8 rows reads `lhs` without a copy. If the product's kernel
  /// transposes the operand in registers (`turns`, 16-bit tiles) and m is the contiguous dimension of `lhs`, no copy is
  /// made.
  static bool servesMany(Value lhs, const ContractionForm &form, ArrayRef<AffineExpr> outSizes, int64_t panel,
                         bool turns) {
    auto argument = dyn_cast<BlockArgument>(lhs);
    const int64_t rank = form.lhsPermutation.size();
    if (turns && form.lhsPermutation[rank - 2] + 1 == rank)
      return false;
    if (!argument || !llvm::hasSingleElement(argument.getUsers()) || form.lhsPermutation.back() + 1 == rank)
      return false;
    auto atLeast = [](AffineExpr size, int64_t least) {
      auto known = dyn_cast<AffineConstantExpr>(size);
      return !known || known.getValue() >= least;
    };
    const auto type = cast<ShapedType>(lhs.getType());
    const bool f32 = type.getElementType().isF32();
    // An f32 operand above this size is stored in huge pages, in which reads with a large stride take no longer than a
    // copy (docs/decisions/0012). Also, the copy would be the largest buffer of a training step.
    if (f32 && type.hasStaticShape() && type.getNumElements() * 4 > mostCopied)
      return false;
    return atLeast(outSizes[outSizes.size() - 2], 8) && atLeast(outSizes.back(), f32 ? 4 * panel : 1);
  }

  /// Changes the callers of `kernel` so that they transpose `argument` by `permutation`. Then sets `permutation` to the
  /// identity.
  void transpose(func::FuncOp kernel, BlockArgument argument, SmallVector<int64_t> &permutation) {
    SmallVector<AffineExpr> sizes, loops(permutation.size());
    SmallVector<AffineExpr> from = tile::sizesOf(argument);
    for (auto [loop, dim] : llvm::enumerate(permutation)) {
      sizes.push_back(from[dim]);
      loops[dim] = builder.getAffineDimExpr(loop);
      permutation[loop] = loop;
    }
    MLIRContext *context = module.getContext();
    AffineMap read = AffineMap::get(loops.size(), 0, loops, context);
    auto copy = [&](OpBuilder &at, Location loc, Value source, Value destination) {
      AffineMap written = AffineMap::getMultiDimIdentityMap(loops.size(), context);
      SmallVector<utils::IteratorType> iterators(loops.size(), utils::IteratorType::parallel);
      auto generic = linalg::GenericOp::create(at, loc, TypeRange{destination.getType()}, ValueRange{source},
                                               ValueRange{destination}, {read, written}, iterators,
                                               [](OpBuilder &inside, Location where, ValueRange values) {
                                                 linalg::YieldOp::create(inside, where, values.front());
                                               });
      generic->setAttr(opAttrName, at.getStringAttr("transpose"));
      return generic.getResult(0);
    };
    Type element = cast<ShapedType>(argument.getType()).getElementType();
    prepare(kernel, argument, {typeOf(sizes, element), sizes, AffineMapAttr::get(read), "transpose", copy});
  }

  /// Changes the callers of `kernel` so that they compute `what` from `argument`, and pass the result instead of
  /// `argument`.
  void prepare(func::FuncOp kernel, BlockArgument argument, const Prepared &what) {
    const unsigned number = argument.getArgNumber();
    for (func::CallOp call : callsOf(kernel))
      call.setOperand(number, preparedFor(kernel, call, number, what));
    argument.setType(what.type);
    kernel.setArgAttr(
        number, sizesAttrName,
        AffineMapAttr::get(AffineMap::get(0, indexArguments(kernel).size(), what.sizes, kernel.getContext())));
    SmallVector<Type> inputs(kernel.getArgumentTypes());
    inputs[number] = what.type;
    kernel.setFunctionType(FunctionType::get(kernel.getContext(), inputs, kernel.getResultTypes()));
  }

  /// Returns the value that `call` of `kernel` passes as argument `number`. Calls with the same source share the value
  /// if the type and the attribute `how` of `what` are equal.
  Value preparedFor(func::FuncOp kernel, func::CallOp call, unsigned number, const Prepared &what) {
    Value source = call.getOperand(number);
    Value &have = preparedOf[std::make_tuple(source, what.type, what.how)];
    if (have)
      return have;
    // The sizes are expressions of the kernel's indices, whose values in @main are operands of the call.
    SmallVector<Value> indices;
    for (Value operand : call.getOperands())
      if (isa<IndexType>(operand.getType()))
        indices.push_back(operand);
    // Insert the call right after the definitions of its operands, because earlier calls may also use the result.
    // sinkPrepared() later moves it before its first user.
    Operation *latest = source.getDefiningOp();
    for (Value index : indices)
      if (Operation *made = index.getDefiningOp(); made && (!latest || latest->isBeforeInBlock(made)))
        latest = made;
    if (latest)
      builder.setInsertionPointAfter(latest);
    else
      builder.setInsertionPointToStart(&main.getBody().front());
    SmallVector<Value> dynamic;
    for (AffineExpr size : what.sizes)
      if (!isa<AffineConstantExpr>(size))
        dynamic.push_back(getValueOrCreateConstantIndexOp(builder, call.getLoc(),
                                                          tile::materialize(builder, call.getLoc(), size, indices)));
    func::FuncOp function = preparing(cast<RankedTensorType>(source.getType()), indices.size(), kernel, number, what);
    SmallVector<Value> operands(indices);
    operands.push_back(source);
    operands.push_back(tensor::EmptyOp::create(builder, call.getLoc(), what.type, dynamic));
    const Location loc = tile::withCopyReason(
        call.getLoc(), kernel.getSymName() + (what.name == "transpose"
                                                  ? " would read the operand with a stride in each tile"
                                                  : " reads the operand in panels, which are adjacent in the copy"));
    auto made = func::CallOp::create(builder, loc, function, operands);
    made->setAttr(opsAttrName, builder.getStringAttr(what.name));
    if (isStatic(source))
      made->setAttr(onceAttrName, builder.getUnitAttr());
    return have = made.getResult(0);
  }

  /// Returns a kernel that computes `what` from a value of type `source`, the previous type of argument `argument` of
  /// `kernel`. If the module already has an equal kernel, returns this kernel.
  func::FuncOp preparing(RankedTensorType source, unsigned indices, func::FuncOp kernel, unsigned argument,
                         const Prepared &what) {
    AffineMap sourceSizes = cast<AffineMapAttr>(kernel.getArgAttr(argument, sizesAttrName)).getValue();
    AffineMap sizes = AffineMap::get(0, indices, what.sizes, module.getContext());
    auto key = std::make_tuple(source, what.type, what.how, sourceSizes, sizes);
    for (auto &[have, function] : preparations)
      if (have == key)
        return function;
    OpBuilder at(module.getContext());
    at.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> types(indices, at.getIndexType());
    types.push_back(source);
    types.push_back(what.type);
    auto function = func::FuncOp::create(at, kernel.getLoc(), (what.name + "_" + Twine(preparations.size())).str(),
                                         at.getFunctionType(types, {what.type}));
    function.setPrivate();
    function->setAttr(kernelAttrName, at.getUnitAttr());
    function->setAttr(opsAttrName, at.getStringAttr(what.name));
    function.setArgAttr(indices, sizesAttrName, AffineMapAttr::get(sourceSizes));
    function.setArgAttr(indices + 1, sizesAttrName, AffineMapAttr::get(sizes));
    Block *body = function.addEntryBlock();
    at.setInsertionPointToStart(body);
    func::ReturnOp::create(at, kernel.getLoc(),
                           what.make(at, kernel.getLoc(), body->getArgument(indices), body->getArgument(indices + 1)));
    preparations.push_back({key, function});
    return function;
  }

  ModuleOp module;
  func::FuncOp main;
  int64_t lanes;
  ResolveLayoutsOptions options;
  OpBuilder builder;
  llvm::MapVector<std::tuple<Value, RankedTensorType, Attribute>, Value> preparedOf;
  llvm::DenseMap<std::pair<Value, size_t>, Value> mergedOf; ///< results of mergeWindow(); keys: the weight and the rank
  std::vector<std::pair<std::tuple<RankedTensorType, RankedTensorType, Attribute, AffineMap, AffineMap>, func::FuncOp>>
      preparations;
};

struct ResolveLayouts : impl::ResolveLayoutsBase<ResolveLayouts> {
  using ResolveLayoutsBase::ResolveLayoutsBase;
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main &&
        failed(LayoutResolver(getOperation(), main,
                              {vectorLanes, bf16Group, bf16Depth, f16Group, f16Depth, splitF16, int8Group, int8Depth})
                   .run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace tiled
} // namespace tilewright

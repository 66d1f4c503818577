//===- PoolingOps.td - pools and the gradient of the maximum -------------------===//
//
// GraphOps.td includes this file. It describes how constraints are numbered.
//
//===----------------------------------------------------------------------===//
def TW_MaxPoolOp : TW_Op<"max_pool"> {
  let summary = "Largest element of each window, and its linear index (i64) in the spatial dimensions of the input";
  let description = [{
    1. (max_pool_c1) the input is N x C x spatial with d = 1, 2 or 3 spatial dimensions, and the attributes have d
       entries.
    2. (max_pool_c2) both results have the same shape, with the input's N and C.
    3. (max_pool_c3) the number of windows is the number that torch computes with or without ceil_mode: the last
       window begins inside the input or inside its leading padding, and no further complete window fits into the
       padded input.
    4. (max_pool_c4) the result has the input's element type, which is not i1, and the indices are i64.
  }];
  let arguments = (ins TW_Tensor:$input, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation);
  let results = (outs TW_Tensor:$result, TW_Tensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result) `,` type($indices)";
  let hasVerifier = 1;
}
def TW_MaxPoolGradOp : TW_Op<"max_pool_grad"> {
  let summary = "Gradient of tw.max_pool with respect to its input";
  let description = [{
    `grad` is the gradient of the pool's result, and `indices` are the pool's indices. An element of the result is the
    sum of the gradients of the windows whose maximum it is. An index outside of its window contributes nothing.
    1. (max_pool_grad_c1) the constraints max_pool_c1 and max_pool_c2 hold if the result is the pool's input, and `grad`
       and `indices` are its results.
    2. (max_pool_grad_c2) the constraint max_pool_c3 holds.
    3. (max_pool_grad_c3) the result has the element type of `grad`, which is a float type, and the indices are i64.
  }];
  let arguments = (ins TW_Tensor:$grad, TW_Tensor:$indices, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$dilation);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$grad `,` $indices attr-dict `:` type($grad) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}
def TW_AvgPoolOp : TW_Op<"avg_pool"> {
  let summary = "Mean of the elements of each window";
  let description = [{
    The sum of a window is divided by the number of its elements, which includes elements of the padding if
    `count_include_pad` is set. `divisor`, if present, replaces this number. With a divisor of 1, the op computes the
    sum of each window, also of integers.
    1. (avg_pool_c1) the constraints max_pool_c1 and max_pool_c2 hold.
    2. (avg_pool_c2) the constraint max_pool_c3 holds.
    3. (avg_pool_c3) the input and the result are both of f64, both of other float types, or both of i64. With a divisor
       of 1, they can also be of signed integers, of which the result has at least as many bits as the input.
  }];
  let arguments = (ins TW_Tensor:$input, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
    UnitAttr:$count_include_pad, OptionalAttr<I64Attr>:$divisor);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

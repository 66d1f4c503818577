// RUN: tilewright-opt %s -verify-diagnostics -split-input-file
// Each function violates one constraint of dialects/Graph/GraphOps.td, and is named after this constraint.

func.func @elementwise_c1(%a: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{elementwise_c1: operand 1 of sizes 3 does not broadcast to 4}}
  %0 = tw.add %a, %b : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @elementwise_c2(%a: tensor<4xf32>, %b: tensor<4xi32>) {
  // expected-error @below {{elementwise_c2: operands of 'f32' and 'i32'; cast one}}
  %0 = tw.add %a, %b : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @elementwise_c2_result(%a: tensor<4xf32>) {
  // expected-error @below {{elementwise_c2: the result is of 'f32' but should be of 'i1'}}
  %0 = tw.eq %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @elementwise_c3(%a: tensor<4xi64>) {
  // expected-error @below {{elementwise_c3: it is not defined for elements of 'i64'}}
  %0 = tw.silu %a : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @elementwise_c3_bits(%a: tensor<4xf32>) {
  // expected-error @below {{elementwise_c3: it is not defined for elements of 'f32'}}
  %0 = tw.bitwise_and %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @elementwise_c3_booleans(%a: tensor<4xi1>) {
  // expected-error @below {{elementwise_c3: it is not defined for elements of 'i1'}}
  %0 = tw.remainder %a, %a : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @elementwise_c2_quantize(%a: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{elementwise_c2: the range -128 .. 127 is not within the range of 'ui8'}}
  %0 = tw.quantize %a, %s, %s {low = -128 : i64, high = 127 : i64} : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xui8>
  return
}

// -----

func.func @elementwise_c2_quantize_of_f64(%a: tensor<4xf64>, %s: tensor<f32>) {
  // expected-error @below {{elementwise_c2: operands of 'f64', 'f32' and 'f32', not a float of at most 32 bits, f32 and f32}}
  %0 = tw.quantize %a, %s, %s {low = -128 : i64, high = 127 : i64} : (tensor<4xf64>, tensor<f32>, tensor<f32>) -> tensor<4xi8>
  return
}

// -----

func.func @elementwise_c2_dequantize_to_f64(%a: tensor<4xi8>, %s: tensor<f32>, %z: tensor<i32>) {
  // expected-error @below {{elementwise_c2: the result is of 'f64', not a float of at most 32 bits}}
  %0 = tw.dequantize %a, %s, %z : (tensor<4xi8>, tensor<f32>, tensor<i32>) -> tensor<4xf64>
  return
}

// -----

func.func @elementwise_c2_dequantize(%a: tensor<4xi16>, %s: tensor<f32>, %z: tensor<i32>) {
  // expected-error @below {{elementwise_c2: the input is of 'i16', not i8 or ui8}}
  %0 = tw.dequantize %a, %s, %z : (tensor<4xi16>, tensor<f32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @elementwise_c2_dequantize_scale(%a: tensor<4xi8>, %s: tensor<f64>, %z: tensor<i32>) {
  // expected-error @below {{elementwise_c2: scale and zero_point are of 'f64' and 'i32', not f32 and i32}}
  %0 = tw.dequantize %a, %s, %z : (tensor<4xi8>, tensor<f64>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @elementwise_c2_condition(%a: tensor<4xf32>) {
  // expected-error @below {{elementwise_c2: the condition is of 'f32', not i1}}
  %0 = tw.where %a, %a, %a : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @elementwise_c2_required_condition(%a: tensor<4xf32>) {
  // expected-error @below {{elementwise_c2: the condition is of 'f32', not i1}}
  %0 = tw.require %a, %a {message = "a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @iota_c1() {
  // expected-error @below {{iota_c1: dimension 1 is out of range for rank 1}}
  %0 = tw.iota {dim = 1 : i64} : tensor<4xi64>
  return
}

// -----

func.func @random_c1(%a: tensor<2xi64>) {
  // expected-error @below {{random_c1: the seed is 'tensor<2xi64>'}}
  %0 = tw.random bits %a {stream = 0 : i64} : tensor<2xi64> -> tensor<4xi64>
  return
}

// -----

func.func @reshape_c1(%a: tensor<4xf32>) {
  // expected-error @below {{reshape_c1: 4 elements cannot become 5}}
  %0 = tw.reshape %a : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @permute_c1(%a: tensor<4x5xf32>) {
  // expected-error @below {{permute_c1: dimension 0 is given twice}}
  %0 = tw.permute %a {permutation = array<i64: 0, 0>} : tensor<4x5xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @permute_c2(%a: tensor<4x5xf32>) {
  // expected-error @below {{permute_c2: the result has the sizes 4x5 but should have 5x4}}
  %0 = tw.permute %a {permutation = array<i64: 1, 0>} : tensor<4x5xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @broadcast_c1(%a: tensor<4xf32>) {
  // expected-error @below {{broadcast_c1: 4 does not broadcast to 4x5}}
  %0 = tw.broadcast %a : tensor<4xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @slice_c1(%a: tensor<4xf32>) {
  // expected-error @below {{slice_c1: stride 0 is not positive}}
  %0 = tw.slice %a {offsets = affine_map<() -> (0)>, strides = array<i64: 0>} : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @slice_c2(%a: tensor<4xf32>) {
  // expected-error @below {{slice_c2: dimension 0 of size 4 ends before element 3 of the slice with offset 2 and stride 1}}
  %0 = tw.slice %a {offsets = affine_map<() -> (2)>, strides = array<i64: 1>} : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @flip_c1(%a: tensor<4xf32>) {
  // expected-error @below {{flip_c1: dimension 1 is out of range}}
  %0 = tw.flip %a {dims = array<i64: 1>} : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @pad_c1(%a: tensor<4xf32>) {
  // expected-error @below {{pad_c1: 2 low and 1 high amounts for rank 1}}
  %0 = tw.pad %a {low = array<i64: 1, 1>, high = array<i64: 0>, value = 0.0 : f32} : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @pad_c2(%a: tensor<4xf32>) {
  // expected-error @below {{pad_c2: the result has the sizes 6 but should have 5}}
  %0 = tw.pad %a {low = array<i64: 1>, high = array<i64: 0>, value = 0.0 : f32} : tensor<4xf32> -> tensor<6xf32>
  return
}

// -----

func.func @concat_c1(%a: tensor<4xf32>) {
  // expected-error @below {{concat_c1: dimension 1 is out of range}}
  %0 = tw.concat %a {dim = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @concat_c2(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) {
  // expected-error @below {{concat_c2: operand 1 is 'tensor<4x3xf32>' but operand 0 is 'tensor<4x2xf32>'}}
  %0 = tw.concat %a, %b {dim = 0 : i64} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @reduce_c1(%a: tensor<4xf32>) {
  // expected-error @below {{reduce_c1: dimension 1 is out of range}}
  %0 = tw.reduce sum %a {dims = array<i64: 1>} : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c2(%a: tensor<4x5xf32>) {
  // expected-error @below {{reduce_c2: the result has the sizes 5 but should have 4}}
  %0 = tw.reduce sum %a {dims = array<i64: 1>} : tensor<4x5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @reduce_c3(%a: tensor<4x5xf32>) {
  // expected-error @below {{reduce_c3: max and min of 'f32' cannot have a result of 'f64'}}
  %0 = tw.reduce max %a {dims = array<i64: 1>} : tensor<4x5xf32> -> tensor<4xf64>
  return
}

// -----

func.func @arg_reduce_c1(%a: tensor<4xf32>) {
  // expected-error @below {{arg_reduce_c1: kind is sum, not max or min}}
  %0 = tw.arg_reduce sum %a {dim = 0 : i64} : tensor<4xf32> -> tensor<i64>
  return
}

// -----

func.func @arg_reduce_c2(%a: tensor<4xf32>) {
  // expected-error @below {{arg_reduce_c2: the result is of 'i32', not i64}}
  %0 = tw.arg_reduce max %a {dim = 0 : i64} : tensor<4xf32> -> tensor<i32>
  return
}

// -----

func.func @var_mean_c1(%a: tensor<4xf32>) {
  // expected-error @below {{var_mean_c1: dimension 3 is out of range}}
  %0:2 = tw.var_mean %a {dims = array<i64: 3>, correction = 0.0 : f64} : tensor<4xf32> -> tensor<f32>, tensor<f32>
  return
}

// -----

func.func @var_mean_c2(%a: tensor<4xf32>) {
  // expected-error @below {{var_mean_c2: the mean has the sizes 1 but should have 0-d}}
  %0:2 = tw.var_mean %a {dims = array<i64: 0>, correction = 0.0 : f64} : tensor<4xf32> -> tensor<f32>, tensor<1xf32>
  return
}

// -----

func.func @softmax_c1(%a: tensor<4xi32>) {
  // expected-error @below {{softmax_c1: elements of 'i32' are not floats}}
  %0 = tw.softmax %a {dim = 0 : i64} : tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @softmax_c2(%a: tensor<4xf32>) {
  // expected-error @below {{softmax_c2: the result has the sizes 5 but should have 4}}
  %0 = tw.softmax %a {dim = 0 : i64} : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @softmax_c2_of_f64(%a: tensor<4xf32>) {
  // expected-error @below {{softmax_c2: a result is of 'f64' but the input is of 'f32'; cast the input to 'f64'}}
  %0 = tw.softmax %a {dim = 0 : i64} : tensor<4xf32> -> tensor<4xf64>
  return
}

// -----

func.func @layer_norm_c4_of_weight(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{layer_norm_c4: an operand is of 'f64' but the input is of 'f32'; either all operands are of 'f64', or none}}
  %0:3 = tw.layer_norm %a weight(%b : tensor<4xf64>) {rank = 1 : i64, eps = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
  return
}

// -----

func.func @layer_norm_c4_of_mean(%a: tensor<4xf32>) {
  // expected-error @below {{layer_norm_c4: a result is of 'f64' but the input is of 'f32'}}
  %0:3 = tw.layer_norm %a {rank = 1 : i64, eps = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>, tensor<1xf64>, tensor<1xf32>
  return
}

// -----

func.func @rms_norm_c4_of_weight(%a: tensor<4xf64>, %b: tensor<4xf32>) {
  // expected-error @below {{rms_norm_c4: an operand is of 'f32' but the input is of 'f64'}}
  %0:2 = tw.rms_norm %a weight(%b : tensor<4xf32>) {rank = 1 : i64, eps = 0.0 : f64} : tensor<4xf64> -> tensor<4xf64>, tensor<1xf64>
  return
}

// -----

func.func @var_mean_c3_of_f64(%a: tensor<4xf32>) {
  // expected-error @below {{var_mean_c3: a result is of 'f64' but the input is of 'f32'}}
  %0:2 = tw.var_mean %a {dims = array<i64: 0>, correction = 0.0 : f64} : tensor<4xf32> -> tensor<f64>, tensor<f64>
  return
}

// -----

func.func @layer_norm_c1(%a: tensor<4xf32>) {
  // expected-error @below {{layer_norm_c1: rank 2 for an input of rank 1}}
  %0:3 = tw.layer_norm %a {rank = 2 : i64, eps = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
  return
}

// -----

func.func @layer_norm_c2(%a: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{layer_norm_c2: the weight has the sizes 3 but should have 4}}
  %0:3 = tw.layer_norm %a weight(%b : tensor<3xf32>) {rank = 1 : i64, eps = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
  return
}

// -----

func.func @layer_norm_c3(%a: tensor<4xf32>) {
  // expected-error @below {{layer_norm_c3: a statistic has the sizes 4 but should have 1}}
  %0:3 = tw.layer_norm %a {rank = 1 : i64, eps = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<1xf32>
  return
}

// -----

func.func @rms_norm_c1(%a: tensor<4xf32>) {
  // expected-error @below {{rms_norm_c1: rank 0 for an input of rank 1}}
  %0:2 = tw.rms_norm %a {rank = 0 : i64, eps = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>, tensor<1xf32>
  return
}

// -----

func.func @rms_norm_c2(%a: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{rms_norm_c2: the weight has the sizes 3 but should have 4}}
  %0:2 = tw.rms_norm %a weight(%b : tensor<3xf32>) {rank = 1 : i64, eps = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>, tensor<1xf32>
  return
}

// -----

func.func @rms_norm_c3(%a: tensor<4xf32>) {
  // expected-error @below {{rms_norm_c3: the result has the sizes 5 but should have 4}}
  %0:2 = tw.rms_norm %a {rank = 1 : i64, eps = 0.0 : f64} : tensor<4xf32> -> tensor<5xf32>, tensor<1xf32>
  return
}

// -----

func.func @scan_c1(%a: tensor<4xf32>) {
  // expected-error @below {{scan_c1: dimension 1 is out of range}}
  %0 = tw.scan sum %a {dim = 1 : i64} : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @scan_c2(%a: tensor<4xf32>) {
  // expected-error @below {{scan_c2: the result has the sizes 5 but should have 4}}
  %0 = tw.scan sum %a {dim = 0 : i64} : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @sort_c1(%a: tensor<4xf32>) {
  // expected-error @below {{sort_c1: k is 5 for a dimension of size 4}}
  %0:2 = tw.sort %a {dim = 0 : i64, k = 5 : i64} : tensor<4xf32> -> tensor<5xf32>, tensor<5xi64>
  return
}

// -----

func.func @sort_c2(%a: tensor<4xf32>) {
  // expected-error @below {{sort_c2: indices has the sizes 5 but should have 4}}
  %0:2 = tw.sort %a {dim = 0 : i64} : tensor<4xf32> -> tensor<4xf32>, tensor<5xi64>
  return
}

// -----

func.func @matmul_c1(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{matmul_c1: ranks 1 and 1; both should be equal and at least 2}}
  %0 = tw.matmul %a, %b  : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_c2(%a: tensor<2x3x4xf32>, %b: tensor<5x4x3xf32>) {
  // expected-error @below {{matmul_c2: batch dimension 0 is 2 in lhs but 5 in rhs}}
  %0 = tw.matmul %a, %b  : (tensor<2x3x4xf32>, tensor<5x4x3xf32>) -> tensor<2x3x3xf32>
  return
}

// -----

func.func @matmul_c3(%a: tensor<3x4xf32>, %b: tensor<5x3xf32>) {
  // expected-error @below {{matmul_c3: lhs K is 4 but rhs K is 5}}
  %0 = tw.matmul %a, %b  : (tensor<3x4xf32>, tensor<5x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @matmul_c4(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>) {
  // expected-error @below {{matmul_c4: the result has the sizes 3x4 but should have 3x3}}
  %0 = tw.matmul %a, %b  : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @matmul_c5(%a: tensor<3x4xf32>, %b: tensor<4x3xf64>) {
  // expected-error @below {{matmul_c5: lhs is of 'f32' but rhs of 'f64'}}
  %0 = tw.matmul %a, %b  : (tensor<3x4xf32>, tensor<4x3xf64>) -> tensor<3x3xf32>
  return
}

// -----

func.func @matmul_c5_float8(%a: tensor<3x4xf8E4M3FN>, %b: tensor<4x3xf16>) {
  // expected-error @below {{matmul_c5: lhs is of 'f8E4M3FN' but rhs of 'f16'}}
  %0 = tw.matmul %a, %b  : (tensor<3x4xf8E4M3FN>, tensor<4x3xf16>) -> tensor<3x3xf32>
  return
}

// -----

func.func @matmul_c5_result(%a: tensor<3x4xf8E4M3FN>, %b: tensor<4x3xf8E5M2>) {
  // expected-error @below {{matmul_c5: the result of 8-bit floats is of 'f8E4M3FN', not f32, f16 or bf16}}
  %0 = tw.matmul %a, %b  : (tensor<3x4xf8E4M3FN>, tensor<4x3xf8E5M2>) -> tensor<3x3xf8E4M3FN>
  return
}

// -----

func.func @convolution_c1(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) {
  // expected-error @below {{convolution_c1: ranks 2 and 2; both should be 3, 4 or 5}}
  %0 = tw.convolution %a, %b  {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @convolution_c2(%a: tensor<2x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @below {{convolution_c2: stride has 1 entries for 2 spatial dimensions}}
  %0 = tw.convolution %a, %b  {stride = array<i64: 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  return
}

// -----

func.func @convolution_c3(%a: tensor<2x3x8x8xf32>, %b: tensor<4x2x3x3xf32>) {
  // expected-error @below {{convolution_c3: the input has 3 channels but the weight takes 2}}
  %0 = tw.convolution %a, %b  {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<2x4x6x6xf32>
  return
}

// -----

func.func @convolution_c4(%a: tensor<2x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  // expected-error @below {{convolution_c4: the result has the sizes 2x4x8x6 but should have 2x4x6x6}}
  %0 = tw.convolution %a, %b  {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x6xf32>
  return
}

// -----

func.func @convolution_weight_grad_c1(%a: tensor<2x3x8x8xf32>, %b: tensor<2x4x6x6xf32>) {
  // expected-error @below {{convolution_weight_grad_c1: a weight of 5x3x3x3 does not match an input of 2x3x8x8}}
  %0 = tw.convolution_weight_grad %a, %b  {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<2x4x6x6xf32>) -> tensor<5x3x3x3xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x3x8x4xf32>, %k: tensor<2x3x8x5xf32>, %v: tensor<2x3x8x4xf32>) {
  // expected-error @below {{attention_c1: query 2x3x8x4, key 2x3x8x5 and value 2x3x8x4 do not fit}}
  %0:2 = tw.attention %q, %k, %v {scale = 1.0 : f64} : tensor<2x3x8x4xf32>, tensor<2x3x8x5xf32>, tensor<2x3x8x4xf32> -> tensor<2x3x8x4xf32>, tensor<2x3x8xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<2x3x8x4xf32>, %k: tensor<2x2x8x4xf32>, %v: tensor<2x2x8x4xf32>) {
  // expected-error @below {{attention_c2: 3 heads are not a multiple of 2 key heads}}
  %0:2 = tw.attention %q, %k, %v {scale = 1.0 : f64} : tensor<2x3x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32> -> tensor<2x3x8x4xf32>, tensor<2x3x8xf32>
  return
}

// -----

func.func @attention_c3(%q: tensor<2x3x8x4xf32>, %k: tensor<2x3x8x4xf32>, %v: tensor<2x3x8x4xf32>, %m: tensor<5x8xi1>) {
  // expected-error @below {{attention_c3: a mask of 5x8 does not broadcast to 2x3x8x8}}
  %0:2 = tw.attention %q, %k, %v mask(%m : tensor<5x8xi1>) {scale = 1.0 : f64} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32> -> tensor<2x3x8x4xf32>, tensor<2x3x8xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<2x3x8x4xf32>, %k: tensor<2x3x8x4xf32>, %v: tensor<2x3x8x4xf32>) {
  // expected-error @below {{attention_c4: logsumexp has the sizes 2x3x4 but should have 2x3x8}}
  %0:2 = tw.attention %q, %k, %v {scale = 1.0 : f64} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32> -> tensor<2x3x8x4xf32>, tensor<2x3x4xf32>
  return
}

// -----

func.func @attention_gradient_c1(%q: tensor<2x3x8x4xf32>, %l: tensor<2x3x4xf32>) {
  // expected-error @below {{attention_gradient_c1: logsumexp has the sizes 2x3x4 but should have 2x3x8}}
  %0:3 = tw.attention_gradient %q, %q, %q, %q, %q, %l {scale = 1.0 : f64} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>
  return
}

// -----

func.func @attention_gradient_c2(%q: tensor<2x3x8x4xf32>, %l: tensor<2x3x8xf32>, %m: tensor<5x8xi1>) {
  // expected-error @below {{attention_gradient_c2: a mask of 5x8 does not broadcast to 2x3x8x8}}
  %0:3 = tw.attention_gradient %q, %q, %q, %q, %q, %l mask(%m : tensor<5x8xi1>) {scale = 1.0 : f64} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8xf32> -> tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>
  return
}

// -----

func.func @attention_gradient_c3(%q: tensor<2x3x8x4xf32>, %l: tensor<2x3x8xf32>) {
  // expected-error @below {{attention_gradient_c3: the key's gradient has the sizes 2x3x8x5 but should have 2x3x8x4}}
  %0:3 = tw.attention_gradient %q, %q, %q, %q, %q, %l {scale = 1.0 : f64} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8xf32> -> tensor<2x3x8x4xf32>, tensor<2x3x8x5xf32>, tensor<2x3x8x4xf32>
  return
}

// -----

func.func @max_pool_c1(%a: tensor<2x3x8x8xf32>) {
  // expected-error @below {{max_pool_c1: kernel has 1 entries for 2 spatial dimensions}}
  %0:2 = tw.max_pool %a {kernel = array<i64: 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64>
  return
}

// -----

func.func @max_pool_c2(%a: tensor<2x3x8x8xf32>) {
  // expected-error @below {{max_pool_c2: a result of 2x4x4x4 for an input of 2x3x8x8}}
  %0:2 = tw.max_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>, tensor<2x4x4x4xi64>
  return
}

// -----

func.func @max_pool_grad_c1(%g: tensor<2x3x4x4xf32>, %i: tensor<2x4x4x4xi64>) {
  // expected-error @below {{max_pool_grad_c1: a result of 2x4x4x4 for an input of 2x3x8x8}}
  %0 = tw.max_pool_grad %g, %i {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<2x3x4x4xf32>, tensor<2x4x4x4xi64> -> tensor<2x3x8x8xf32>
  return
}

// -----

func.func @max_pool_grad_c2(%g: tensor<1x1x9x9xf32>, %i: tensor<1x1x9x9xi64>) {
  // expected-error @below {{max_pool_grad_c2: 9 windows of 2 with stride 2 and padding 0 over 12 elements}}
  %0 = tw.max_pool_grad %g, %i {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x1x9x9xf32>, tensor<1x1x9x9xi64> -> tensor<1x1x12x12xf32>
  return
}

// -----

func.func @max_pool_grad_c3(%g: tensor<1x1x6x6xi32>, %i: tensor<1x1x6x6xi64>) {
  // expected-error @below {{max_pool_grad_c3: a gradient of 'i32'; it should be of a float type}}
  %0 = tw.max_pool_grad %g, %i {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x1x6x6xi32>, tensor<1x1x6x6xi64> -> tensor<1x1x12x12xi32>
  return
}

// -----

func.func @max_pool_grad_c3_indices(%g: tensor<1x1x6x6xf32>) {
  // expected-error @below {{max_pool_grad_c3: the tensor of indices is of 'f32' but should be of 'i64'}}
  %0 = tw.max_pool_grad %g, %g {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x1x6x6xf32>, tensor<1x1x6x6xf32> -> tensor<1x1x12x12xf32>
  return
}

// -----

func.func @avg_pool_c1(%a: tensor<2x8xf32>) {
  // expected-error @below {{avg_pool_c1: rank 2; it should be 3, 4 or 5}}
  %0 = tw.avg_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : tensor<2x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @take_c1(%a: tensor<4xf32>, %b: tensor<2xi64>) {
  // expected-error @below {{take_c1: 1 index tensors from dimension 1 on do not fit rank 1}}
  %0 = tw.take %a[%b] {dim = 1 : i64}  : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @take_c2(%a: tensor<4x3xf32>, %b: tensor<2xi64>) {
  // expected-error @below {{take_c2: the result has the sizes 4x3 but should have 2x3}}
  %0 = tw.take %a[%b] {dim = 0 : i64}  : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @take_c3(%a: tensor<4xf32>, %b: tensor<2xi1>) {
  // expected-error @below {{take_c3: an index tensor of 'i1'}}
  %0 = tw.take %a[%b] {dim = 0 : i64}  : (tensor<4xf32>, tensor<2xi1>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_c1(%a: tensor<4xf32>, %b: tensor<2xi64>) {
  // expected-error @below {{gather_c1: dimension 1 is out of range}}
  %0 = tw.gather %a[%b] {dim = 1 : i64}  : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_c2(%a: tensor<4xf32>, %b: tensor<2xi64>) {
  // expected-error @below {{gather_c2: the result has the sizes 4 but should have 2}}
  %0 = tw.gather %a[%b] {dim = 0 : i64}  : (tensor<4xf32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @gather_c3(%a: tensor<4xf32>, %b: tensor<2xi8>) {
  // expected-error @below {{gather_c3: an index of 'i8'}}
  %0 = tw.gather %a[%b] {dim = 0 : i64}  : (tensor<4xf32>, tensor<2xi8>) -> tensor<2xf32>
  return
}

// -----

func.func @scatter_c1(%a: tensor<4xf32>, %i: tensor<2xi64>, %s: tensor<2xf32>) {
  // expected-error @below {{scatter_c1: dimension 2 is out of range}}
  %0 = tw.scatter add %a[%i], %s {dim = 2 : i64} : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_c2(%a: tensor<4xf32>, %i: tensor<2xi64>, %s: tensor<2xf32>) {
  // expected-error @below {{scatter_c2: 'tensor<4xf32>' cannot become 'tensor<5xf32>'}}
  %0 = tw.scatter add %a[%i], %s {dim = 0 : i64} : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @scatter_c3(%a: tensor<4xf32>, %i: tensor<2xi64>, %s: tensor<3xf32>) {
  // expected-error @below {{scatter_c3: the source has the sizes 3 but should have 2}}
  %0 = tw.scatter add %a[%i], %s {dim = 0 : i64} : (tensor<4xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @put_c1(%a: tensor<4xf32>, %i: tensor<2xi64>, %s: tensor<2xf32>) {
  // expected-error @below {{put_c1: 1 index tensors from dimension 1 on do not fit rank 1}}
  %0 = tw.put add %a[%i], %s {dim = 1 : i64} : (tensor<4xf32>, tensor<2xf32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @put_c2(%a: tensor<4xf32>, %i: tensor<2xi64>, %s: tensor<3xf32>) {
  // expected-error @below {{put_c2: a source of type 'tensor<3xf32>' does not broadcast to 2}}
  %0 = tw.put add %a[%i], %s {dim = 0 : i64} : (tensor<4xf32>, tensor<3xf32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @put_c3(%a: tensor<4xf32>, %i: tensor<2xi64>, %s: tensor<2xf32>) {
  // expected-error @below {{put_c3: 'tensor<4xf32>' cannot become 'tensor<5xf32>'}}
  %0 = tw.put add %a[%i], %s {dim = 0 : i64} : (tensor<4xf32>, tensor<2xf32>, tensor<2xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @max_pool_c3(%a: tensor<1x1x12x12xf32>) {
  // expected-error @below {{max_pool_c3: 9 windows of 2 with stride 2 and padding 0 over 12 elements}}
  %0:2 = tw.max_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x1x12x12xf32> -> tensor<1x1x9x9xf32>, tensor<1x1x9x9xi64>
  return
}

// -----

func.func @max_pool_c3_fewer(%a: tensor<1x1x12x12xf32>) {
  // expected-error @below {{max_pool_c3: 5 windows of 2 with stride 2 and padding 0 over 12 elements}}
  %0:2 = tw.max_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x1x12x12xf32> -> tensor<1x1x5x5xf32>, tensor<1x1x5x5xi64>
  return
}

// -----

func.func @avg_pool_c2(%a: tensor<1x1x12x12xf32>) {
  // expected-error @below {{avg_pool_c2: 9 windows of 2 with stride 2 and padding 0 over 12 elements}}
  %0 = tw.avg_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : tensor<1x1x12x12xf32> -> tensor<1x1x9x9xf32>
  return
}

// -----

func.func @gather_c4(%a: tensor<9x8xf32>, %i: tensor<17x8xi64>) {
  // expected-error @below {{gather_c4: an index of sizes 17x8 is larger in dimension 0 than the input of 9x8}}
  %0 = tw.gather %a[%i] {dim = 1 : i64} : (tensor<9x8xf32>, tensor<17x8xi64>) -> tensor<17x8xf32>
  return
}

// -----

func.func @scatter_c4(%a: tensor<9x8xf32>, %i: tensor<17x8xi64>, %s: tensor<17x8xf32>) {
  // expected-error @below {{scatter_c4: an index of sizes 17x8 is larger in dimension 0 than the input of 9x8}}
  %0 = tw.scatter add %a[%i], %s {dim = 1 : i64} : (tensor<9x8xf32>, tensor<17x8xi64>, tensor<17x8xf32>) -> tensor<9x8xf32>
  return
}

// -----

func.func @pad_c3(%a: tensor<3xf32>) {
  // expected-error @below {{pad_c3: 5 elements are cut off a dimension of 3}}
  %0 = tw.pad %a {low = array<i64: -5>, high = array<i64: 4>, value = 0.0 : f32} : tensor<3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @take_c1_broadcast(%a: tensor<4x5xf32>, %i: tensor<3xi64>, %j: tensor<2xi64>) {
  // expected-error @below {{take_c1: an index tensor of sizes 3 does not broadcast to 2}}
  %0 = tw.take %a[%i, %j] {dim = 0 : i64} : (tensor<4x5xf32>, tensor<3xi64>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @complex_elements(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be ranked tensor of booleans, integers of at most 64 bits, or floats of a supported format}}
  %0 = tw.flip %a {dims = array<i64: 0>} : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @permute_c3(%a: tensor<4x6xf32>) {
  // expected-error @below {{permute_c3: the result is of 'f64' but should be of 'f32'}}
  %0 = tw.permute %a {permutation = array<i64: 1, 0>} : tensor<4x6xf32> -> tensor<6x4xf64>
  return
}

// -----

func.func @pad_c1_result(%a: tensor<4xf32>) {
  // expected-error @below {{pad_c1: the result is of 'bf16' but should be of 'f32'}}
  %0 = tw.pad %a {low = array<i64: 1>, high = array<i64: 1>, value = 0.0 : f32} : tensor<4xf32> -> tensor<6xbf16>
  return
}

// -----

func.func @var_mean_c3(%a: tensor<4x6xf32>) {
  // expected-error @below {{var_mean_c3: elements of 'i1' are not floats}}
  %0:2 = tw.var_mean %a {dims = array<i64: 1>, correction = 0.0 : f64} : tensor<4x6xf32> -> tensor<4xi1>, tensor<4xf32>
  return
}

// -----

func.func @softmax_c2_floats(%a: tensor<4x6xf32>) {
  // expected-error @below {{softmax_c2: elements of 'i32' are not floats}}
  %0 = tw.softmax %a {dim = 1 : i64} : tensor<4x6xf32> -> tensor<4x6xi32>
  return
}

// -----

func.func @layer_norm_c4(%a: tensor<4x6xi32>) {
  // expected-error @below {{layer_norm_c4: elements of 'i32' are not floats}}
  %0:3 = tw.layer_norm %a {rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<4x6xi32> -> tensor<4x6xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  return
}

// -----

func.func @rms_norm_c4(%a: tensor<4x6xf32>) {
  // expected-error @below {{rms_norm_c4: elements of 'i1' are not floats}}
  %0:2 = tw.rms_norm %a {rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x1xi1>
  return
}

// -----

func.func @sort_c3(%a: tensor<4x6xf32>) {
  // expected-error @below {{sort_c3: the tensor of indices is of 'i32' but should be of 'i64'}}
  %0:2 = tw.sort %a {dim = 1 : i64} : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x6xi32>
  return
}

// -----

func.func @convolution_c5(%a: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xbf16>) {
  // expected-error @below {{convolution_c5: the input is of 'f32' but the weight of 'bf16'}}
  %0 = tw.convolution %a, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xbf16>) -> tensor<1x8x8x8xf32>
  return
}

// -----

func.func @convolution_weight_grad_c2(%a: tensor<1x4x8x8xf32>, %g: tensor<1x8x8x8xf64>) {
  // expected-error @below {{convolution_weight_grad_c2: the input is of 'f32' but the gradient of 'f64'}}
  %0 = tw.convolution_weight_grad %a, %g {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<1x8x8x8xf64>) -> tensor<8x4x3x3xf32>
  return
}

// -----

func.func @attention_c5(%q: tensor<1x2x8x16xf32>) {
  // expected-error @below {{attention_c5: logsumexp is of 'f64'; f32 is needed}}
  %0:2 = tw.attention %q, %q, %q {scale = 0.25 : f64} : tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32> -> tensor<1x2x8x16xf32>, tensor<1x2x8xf64>
  return
}

// -----

func.func @attention_c5_key(%q: tensor<1x2x8x16xf32>, %k: tensor<1x2x8x16xbf16>) {
  // expected-error @below {{attention_c5: a tensor is of 'bf16' but should be of 'f32'}}
  %0:2 = tw.attention %q, %k, %q {scale = 0.25 : f64} : tensor<1x2x8x16xf32>, tensor<1x2x8x16xbf16>, tensor<1x2x8x16xf32> -> tensor<1x2x8x16xf32>, tensor<1x2x8xf32>
  return
}

// -----

func.func @attention_c5_result(%q: tensor<1x2x8x16xf32>) {
  // expected-error @below {{attention_c5: the result is of 'f64' but the query of 'f32'}}
  %0:2 = tw.attention %q, %q, %q {scale = 0.25 : f64} : tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32> -> tensor<1x2x8x16xf64>, tensor<1x2x8xf32>
  return
}

// -----

func.func @attention_gradient_c4(%q: tensor<1x2x8x16xf32>, %l: tensor<1x2x8xf32>) {
  // expected-error @below {{attention_gradient_c4: a tensor is of 'f16' but should be of 'f32'}}
  %0:3 = tw.attention_gradient %q, %q, %q, %q, %q, %l {scale = 0.25 : f64} : tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8xf32> -> tensor<1x2x8x16xf32>, tensor<1x2x8x16xf16>, tensor<1x2x8x16xf32>
  return
}

// -----

func.func @avg_pool_c3(%a: tensor<1x1x12x12xi32>) {
  // expected-error @below {{avg_pool_c3: a result of 'f32' for an input of 'i32'}}
  %0 = tw.avg_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : tensor<1x1x12x12xi32> -> tensor<1x1x6x6xf32>
  return
}

// -----

func.func @avg_pool_c3_narrow(%a: tensor<1x1x12x12xi16>) {
  // expected-error @below {{avg_pool_c3: a result of 'i8' for an input of 'i16'}}
  %0 = tw.avg_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, divisor = 1 : i64} : tensor<1x1x12x12xi16> -> tensor<1x1x6x6xi8>
  return
}

// -----

func.func @max_pool_c4_of_booleans(%a: tensor<1x1x12x12xi1>) {
  // expected-error @below {{max_pool_c4: booleans have no maximum; cast the input, or use tw.reduce any}}
  %0:2 = tw.max_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x1x12x12xi1> -> tensor<1x1x6x6xi1>, tensor<1x1x6x6xi64>
  return
}

// -----

func.func @max_pool_c4(%a: tensor<1x1x12x12xf32>) {
  // expected-error @below {{max_pool_c4: the tensor of indices is of 'f32' but should be of 'i64'}}
  %0:2 = tw.max_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x1x12x12xf32> -> tensor<1x1x6x6xf32>, tensor<1x1x6x6xf32>
  return
}

// -----

func.func @take_c2_elements(%a: tensor<4x6xf32>, %i: tensor<3xi64>) {
  // expected-error @below {{take_c2: the result is of 'f64' but should be of 'f32'}}
  %0 = tw.take %a[%i] {dim = 0 : i64} : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<3x6xf64>
  return
}

// -----

func.func @gather_c2_elements(%a: tensor<4x6xbf16>, %i: tensor<4x1xi64>) {
  // expected-error @below {{gather_c2: the result is of 'f16' but should be of 'bf16'}}
  %0 = tw.gather %a[%i] {dim = 1 : i64} : (tensor<4x6xbf16>, tensor<4x1xi64>) -> tensor<4x1xf16>
  return
}

// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// Each tw op in this file is printed as it was parsed.

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>, %i: tensor<4xi32>) {
  // CHECK: tw.abs %
  %abs = tw.abs %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.neg %
  %neg = tw.neg %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.exp %
  %exp = tw.exp %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.exp2 %
  %exp2 = tw.exp2 %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.expm1 %
  %expm1 = tw.expm1 %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.log %
  %log = tw.log %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.log2 %
  %log2 = tw.log2 %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.log10 %
  %log10 = tw.log10 %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.log1p %
  %log1p = tw.log1p %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.sqrt %
  %sqrt = tw.sqrt %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.rsqrt %
  %rsqrt = tw.rsqrt %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.reciprocal %
  %reciprocal = tw.reciprocal %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.sin %
  %sin = tw.sin %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.cos %
  %cos = tw.cos %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.tan %
  %tan = tw.tan %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.asin %
  %asin = tw.asin %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.acos %
  %acos = tw.acos %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.atan %
  %atan = tw.atan %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.sinh %
  %sinh = tw.sinh %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.cosh %
  %cosh = tw.cosh %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.tanh %
  %tanh = tw.tanh %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.asinh %
  %asinh = tw.asinh %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.acosh %
  %acosh = tw.acosh %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.atanh %
  %atanh = tw.atanh %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.erf %
  %erf = tw.erf %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.erfc %
  %erfc = tw.erfc %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.sigmoid %
  %sigmoid = tw.sigmoid %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.relu %
  %relu = tw.relu %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.silu %
  %silu = tw.silu %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.gelu %
  %gelu = tw.gelu %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.gelu_tanh %
  %gelu_tanh = tw.gelu_tanh %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.floor %
  %floor = tw.floor %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.ceil %
  %ceil = tw.ceil %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.round %
  %round = tw.round %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.trunc %
  %trunc = tw.trunc %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.sign %
  %sign = tw.sign %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.bitwise_not %
  %bitwise_not = tw.bitwise_not %i : (tensor<4xi32>) -> tensor<4xi32>
  // CHECK: tw.logical_not %
  %logical_not = tw.logical_not %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xi1, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.isnan %
  %isnan = tw.isnan %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xi1, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.isinf %
  %isinf = tw.isinf %x : (tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> tensor<4x?xi1, affine_map<()[s0] -> (4, s0)>>
  // CHECK: tw.cast %{{.*}} : (tensor<4xi32>) -> tensor<4xbf16>
  %cast = tw.cast %i : (tensor<4xi32>) -> tensor<4xbf16>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<4x3xf32>, %y: tensor<3xf32>, %i: tensor<4xi32>) {
  // CHECK: tw.add %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %add = tw.add %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.sub %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %sub = tw.sub %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.mul %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %mul = tw.mul %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.div %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %div = tw.div %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.div_trunc %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %div_trunc = tw.div_trunc %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.div_floor %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %div_floor = tw.div_floor %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.pow %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %pow = tw.pow %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.fmod %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %fmod = tw.fmod %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.remainder %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %remainder = tw.remainder %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.maximum %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %maximum = tw.maximum %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.minimum %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %minimum = tw.minimum %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.atan2 %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %atan2 = tw.atan2 %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // CHECK: tw.bitwise_and %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %bitwise_and = tw.bitwise_and %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: tw.bitwise_or %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %bitwise_or = tw.bitwise_or %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: tw.bitwise_xor %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %bitwise_xor = tw.bitwise_xor %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: tw.shift_left %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %shift_left = tw.shift_left %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: tw.shift_right %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %shift_right = tw.shift_right %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: tw.eq %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %eq = tw.eq %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: tw.ne %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %ne = tw.ne %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: tw.lt %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %lt = tw.lt %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: tw.le %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %le = tw.le %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: tw.gt %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %gt = tw.gt %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: tw.ge %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %ge = tw.ge %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: tw.logical_and %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %logical_and = tw.logical_and %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: tw.logical_or %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %logical_or = tw.logical_or %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  // CHECK: tw.logical_xor %{{.*}}, %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %logical_xor = tw.logical_xor %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  return
}

// CHECK-LABEL: func.func @other_ops
func.func @other_ops(%n: index {tw.symbol = "s0", tw.min = 2 : i64, tw.max = 64 : i64}, %x: tensor<2x3x8x8xf32>, %m: tensor<4x6xf32>,
                  %seed: tensor<1xi64>, %mask: tensor<4x6xi1>, %index: tensor<5xi64>, %grid: tensor<4x6xi64>) {
  // CHECK: tw.where
  %where = tw.where %mask, %m, %m : (tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: tw.require %{{.*}}, %{{.*}} {message = "m is positive"}
  %require = tw.require %mask, %m {message = "m is positive"} : (tensor<4x6xi1>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: tw.constant dense<1.000000e+00> : tensor<f32>
  %constant = tw.constant dense<1.0> : tensor<f32>
  // CHECK: tw.from_index #{{.*}} : tensor<i64>
  %from_index = tw.from_index affine_map<()[s0] -> (s0 * 2)> : tensor<i64>
  // CHECK: tw.iota {dim = 0 : i64} : tensor<4xi64>
  %iota = tw.iota {dim = 0 : i64} : tensor<4xi64>
  // CHECK: tw.random uniform
  %random = tw.random uniform %seed {stream = 0 : i64} : tensor<1xi64> -> tensor<4xf32>
  // CHECK: tw.reshape
  %reshape = tw.reshape %m : tensor<4x6xf32> -> tensor<24xf32>
  // CHECK: tw.permute %{{.*}} {permutation = array<i64: 1, 0>}
  %permute = tw.permute %m {permutation = array<i64: 1, 0>} : tensor<4x6xf32> -> tensor<6x4xf32>
  // CHECK: tw.broadcast
  %broadcast = tw.broadcast %m : tensor<4x6xf32> -> tensor<2x4x6xf32>
  // CHECK: tw.slice
  %slice = tw.slice %m {offsets = affine_map<()[s0] -> (1, 0)>, strides = array<i64: 1, 2>} : tensor<4x6xf32> -> tensor<3x3xf32>
  // CHECK: tw.flip
  %flip = tw.flip %m {dims = array<i64: 0>} : tensor<4x6xf32> -> tensor<4x6xf32>
  // CHECK: tw.pad
  %pad = tw.pad %m {low = array<i64: 1, 0>, high = array<i64: 0, -1>, value = 0.0 : f32} : tensor<4x6xf32> -> tensor<5x5xf32>
  // CHECK: tw.concat
  %concat = tw.concat %m, %m {dim = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  // CHECK: tw.reduce sum
  %reduce = tw.reduce sum %m {dims = array<i64: 1>, keepdim} : tensor<4x6xf32> -> tensor<4x1xf32>
  // CHECK: tw.arg_reduce max
  %arg = tw.arg_reduce max %m {dim = 1 : i64} : tensor<4x6xf32> -> tensor<4xi64>
  // CHECK: tw.var_mean
  %var, %mean = tw.var_mean %m {dims = array<i64: 1>, correction = 0.0 : f64} : tensor<4x6xf32> -> tensor<4xf32>, tensor<4xf32>
  // CHECK: tw.softmax %{{.*}} {dim = 1 : i64, safe}
  %softmax = tw.softmax %m {dim = 1 : i64, safe} : tensor<4x6xf32> -> tensor<4x6xf32>
  %w = tw.constant dense<1.0> : tensor<6xf32>
  // CHECK: tw.layer_norm %{{.*}} weight(%{{.*}} : tensor<6xf32>) bias(%{{.*}} : tensor<6xf32>)
  %ln, %lm, %lr = tw.layer_norm %m weight(%w : tensor<6xf32>) bias(%w : tensor<6xf32>) {rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  // CHECK: tw.rms_norm
  %rms, %rr = tw.rms_norm %m weight(%w : tensor<6xf32>) {rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<4x6xf32> -> tensor<4x6xf32>, tensor<4x1xf32>
  // CHECK: tw.scan sum
  %scan = tw.scan sum %m {dim = 0 : i64} : tensor<4x6xf32> -> tensor<4x6xf32>
  // CHECK: tw.sort
  %sv, %si = tw.sort %m {dim = 1 : i64, descending, k = 2 : i64} : tensor<4x6xf32> -> tensor<4x2xf32>, tensor<4x2xi64>
  // CHECK: tw.matmul
  %matmul = tw.matmul %m, %permute : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %k = tw.constant dense<1.0> : tensor<4x3x3x3xf32>
  // CHECK: tw.convolution
  %conv = tw.convolution %x, %k {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x4xf32>
  // CHECK: tw.convolution_weight_grad
  %grad = tw.convolution_weight_grad %x, %conv {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<2x4x4x4xf32>) -> tensor<4x3x3x3xf32>
  // CHECK: tw.attention
  %att, %lse = tw.attention %x, %x, %x {scale = 0.5 : f64, causal} : tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32> -> tensor<2x3x8x8xf32>, tensor<2x3x8xf32>
  // CHECK: tw.max_pool
  %mp, %mi = tw.max_pool %x {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64>
  // CHECK: tw.max_pool_grad
  %mg = tw.max_pool_grad %mp, %mi {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64> -> tensor<2x3x8x8xf32>
  // CHECK: tw.avg_pool
  %ap = tw.avg_pool %x {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, count_include_pad} : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>
  // CHECK: tw.take
  %take = tw.take %m[%index] {dim = 0 : i64} : (tensor<4x6xf32>, tensor<5xi64>) -> tensor<5x6xf32>
  // CHECK: tw.gather
  %gather = tw.gather %m[%grid] {dim = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xi64>) -> tensor<4x6xf32>
  // CHECK: tw.scatter add
  %scatter = tw.scatter add %m[%grid], %m {dim = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xi64>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: tw.put set
  %put = tw.put set %m[%index], %take {dim = 0 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>, tensor<5xi64>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @quantize
func.func @quantize(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %z: tensor<f32>) {
  // CHECK: tw.quantize %{{.*}}, %{{.*}}, %{{.*}} {high = 255 : i64, low = 0 : i64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<4x8xui8>
  %0 = tw.quantize %x, %s, %z {low = 0 : i64, high = 255 : i64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<4x8xui8>
  return
}

// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%x: tensor<4x8xui8>, %s: tensor<8xf32>, %z: tensor<i32>) {
  // CHECK: tw.dequantize %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xui8>, tensor<8xf32>, tensor<i32>) -> tensor<4x8xf32>
  %0 = tw.dequantize %x, %s, %z : (tensor<4x8xui8>, tensor<8xf32>, tensor<i32>) -> tensor<4x8xf32>
  return
}

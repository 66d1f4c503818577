// A convolution, a pooling op, a sort, a scan and reads at the indices in a tensor.
func.func @main(%x: tensor<1x4x12x12xf32>, %w: tensor<8x4x3x3xf32> {tw.static}, %i: tensor<5xi64>)
    -> (tensor<1x8x5x5xf32>, tensor<5x5xf32>, tensor<5x5xi64>, tensor<1x8x5x5xbf16>) {
  %c = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64}
      : (tensor<1x4x12x12xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x10x10xf32>
  %a = tw.relu %c : (tensor<1x8x10x10xf32>) -> tensor<1x8x10x10xf32>
  %p, %n = tw.max_pool %a {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
      : tensor<1x8x10x10xf32> -> tensor<1x8x5x5xf32>, tensor<1x8x5x5xi64>
  %f = tw.reshape %p : tensor<1x8x5x5xf32> -> tensor<40x5xf32>
  %t = tw.take %f [%i] {dim = 0 : i64} : (tensor<40x5xf32>, tensor<5xi64>) -> tensor<5x5xf32>
  %v, %k = tw.sort %t {dim = 1 : i64} : tensor<5x5xf32> -> tensor<5x5xf32>, tensor<5x5xi64>
  %u = tw.scan sum %v {dim = 0 : i64} : tensor<5x5xf32> -> tensor<5x5xf32>
  %b = tw.cast %p : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xbf16>
  return %p, %u, %k, %b : tensor<1x8x5x5xf32>, tensor<5x5xf32>, tensor<5x5xi64>, tensor<1x8x5x5xbf16>
}

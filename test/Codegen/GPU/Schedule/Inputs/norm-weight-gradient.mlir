func.func @main(%g: tensor<ROWSx96xbf16>, %x: tensor<ROWSx96xf32>, %mean: tensor<ROWSx1xf32>, %rstd: tensor<ROWSx1xf32>) -> tensor<96xf32> {
  %d = tw.sub %x, %mean : (tensor<ROWSx96xf32>, tensor<ROWSx1xf32>) -> tensor<ROWSx96xf32>
  %xhat = tw.mul %d, %rstd : (tensor<ROWSx96xf32>, tensor<ROWSx1xf32>) -> tensor<ROWSx96xf32>
  %wide = tw.cast %g : (tensor<ROWSx96xbf16>) -> tensor<ROWSx96xf32>
  %p = tw.mul %wide, %xhat : (tensor<ROWSx96xf32>, tensor<ROWSx96xf32>) -> tensor<ROWSx96xf32>
  %dw = tw.reduce sum %p {dims = array<i64: 0>} : tensor<ROWSx96xf32> -> tensor<96xf32>
  return %dw : tensor<96xf32>
}

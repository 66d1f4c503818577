// A residual connection. A queue holds all of x until the result of the second product is available.
func.func @main(%x: tensor<1x67xi32> {tw.name = "x"}, %w: tensor<67x67xi32> {tw.name = "w"}, %v: tensor<67x67xi32> {tw.name = "v"}) -> (tensor<1x67xi32> {tw.name = "y"}) {
  %h = tw.matmul %x, %w : (tensor<1x67xi32>, tensor<67x67xi32>) -> tensor<1x67xi32>
  %m = tw.matmul %h, %v : (tensor<1x67xi32>, tensor<67x67xi32>) -> tensor<1x67xi32>
  %y = tw.add %x, %m : (tensor<1x67xi32>, tensor<1x67xi32>) -> tensor<1x67xi32>
  return %y : tensor<1x67xi32>
}

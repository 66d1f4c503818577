// A residual join: x goes to the sum directly and past two products, the first of which needs all of it before its first
// element comes out. 67 has no divisors: elements go one by one, in queues, and the direct one must hold all of x.
func.func @main(%x: tensor<1x67xf32> {tw.name = "x"}, %w1: tensor<67x67xf32> {tw.name = "w1"},
                %w2: tensor<67x67xf32> {tw.name = "w2"}) -> (tensor<1x67xf32> {tw.name = "y"}) {
  %h = tw.matmul %x, %w1 : (tensor<1x67xf32>, tensor<67x67xf32>) -> tensor<1x67xf32>
  %m = tw.matmul %h, %w2 : (tensor<1x67xf32>, tensor<67x67xf32>) -> tensor<1x67xf32>
  %y = tw.add %x, %m : (tensor<1x67xf32>, tensor<1x67xf32>) -> tensor<1x67xf32>
  return %y : tensor<1x67xf32>
}

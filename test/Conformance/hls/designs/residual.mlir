// A residual connection: x is added to the result of two products, the first of which reads all of x before it writes an
// element. 67 is prime, so queues pass single elements, and the queue from x to the sum must hold all of x.
func.func @main(%x: tensor<1x67xf32> {tw.name = "x"}, %w1: tensor<67x67xf32> {tw.name = "w1"},
                %w2: tensor<67x67xf32> {tw.name = "w2"}) -> (tensor<1x67xf32> {tw.name = "y"}) {
  %h = tw.matmul %x, %w1 : (tensor<1x67xf32>, tensor<67x67xf32>) -> tensor<1x67xf32>
  %m = tw.matmul %h, %w2 : (tensor<1x67xf32>, tensor<67x67xf32>) -> tensor<1x67xf32>
  %y = tw.add %x, %m : (tensor<1x67xf32>, tensor<1x67xf32>) -> tensor<1x67xf32>
  return %y : tensor<1x67xf32>
}

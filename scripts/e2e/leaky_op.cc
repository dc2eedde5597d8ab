// A custom operation of TensorFlow that keeps a copy of every input: the leak of
// scripts/e2e-tensorflow.sh in a library that tf.load_op_library loads.
#include <cstring>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

using namespace tensorflow;

REGISTER_OP("LeakySum").Input("values: float").Output("sum: float").SetShapeFn([](shape_inference::InferenceContext* c) {
  c->set_output(0, c->Scalar());
  return Status();
});

class LeakySumOp : public OpKernel {
 public:
  explicit LeakySumOp(OpKernelConstruction* context) : OpKernel(context) {}

  void Compute(OpKernelContext* context) override {
    auto values = context->input(0).flat<float>();
    float* copy = Keep(values.data(), values.size());
    Tensor* sum = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &sum));
    sum->scalar<float>()() = 0;
    for (int64_t i = 0; i < values.size(); i++) sum->scalar<float>()() += copy[i];
  }

 private:
  static float* Keep(const float* values, int64_t n) {
    float* copy = new float[n];
    std::memcpy(copy, values, n * sizeof *copy);
    return copy;
  }
};

REGISTER_KERNEL_BUILDER(Name("LeakySum").Device(DEVICE_CPU), LeakySumOp);

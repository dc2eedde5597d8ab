"""Training steps of TensorFlow from PyPI on a fresh batch of 32 images of 28 x 28. OPS is the directory of keep_op.so.

  tensors.py op       LEAK: the custom operation KeepSum copies each batch and never frees it (keep_op.cc, KeepSumOp::Keep),
                      98 KiB a step.
  tensors.py graph    LEAK: the step writes its batch into the graph as a constant, which stays, 98 KiB a step.
  tensors.py retrace  LEAK: a tf.function is called with a Python number that is new in each step, is traced again, and
                      keeps every graph.
  tensors.py eager    no leak: the same arithmetic without a graph.
  tensors.py traced   LEAK: a tf.function that is traced once. But tf.constant(float(n)) keeps a tensor of every number,
                      780 B a step.
"""
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
import numpy as np
import tensorflow as tf

import pace

SIZE = 32 * 28 * 28
RATE = float(os.environ.get("RATE", "0")) or {"op": 20, "graph": 4, "retrace": 3, "eager": 20, "traced": 20}[sys.argv[1]]


def op():
    library = tf.load_op_library(os.path.join(os.environ["OPS"], "keep_op.so"))
    return lambda n: library.keep_sum(np.full(SIZE, n, np.float32))


def graph():
    v1 = tf.compat.v1
    v1.disable_eager_execution()
    weights = v1.get_variable("weights", [SIZE], initializer=v1.zeros_initializer())
    session = v1.Session()
    session.run(v1.global_variables_initializer())
    return lambda n: session.run(tf.reduce_sum(tf.add(weights, np.full(SIZE, n, np.float32))))


def retrace():
    weights = tf.Variable(np.ones((28 * 28, 64), np.float32))

    @tf.function
    def train(batch, n):
        hidden = tf.nn.relu(tf.matmul(batch, weights))
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            loss = tf.reduce_mean(tf.square(hidden)) * n
        return loss, tape.gradient(loss, hidden)

    return lambda n: train(tf.constant(np.full((32, 28 * 28), n, np.float32)), n)


def eager():
    weights = tf.Variable(np.zeros(SIZE, np.float32))
    return lambda n: tf.reduce_sum(tf.add(weights, np.full(SIZE, n, np.float32))).numpy()


def traced():
    weights = tf.Variable(np.ones((28 * 28, 64), np.float32))

    @tf.function
    def train(batch, n):
        return tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(batch, weights)))) * n

    return lambda n: train(tf.constant(np.full((32, 28 * 28), n, np.float32)), tf.constant(float(n)))


step = {"op": op, "graph": graph, "retrace": retrace, "eager": eager, "traced": traced}[sys.argv[1]]()
for tick in pace.ticks(RATE):
    step(tick)

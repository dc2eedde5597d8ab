"""The loops of scripts/e2e-tensorflow.sh: the same arithmetic on a fresh batch in each step.

Usage: loops.py grows|final|eager|op
"""
import os
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")  # quiet
import numpy as np
import tensorflow as tf

SIZE = 32 * 28 * 28  # a batch of 32 images of MNIST, float32: 98 KiB
v1 = tf.compat.v1


def steps(count, a_second):
    """Counts steps that start at a fixed rate: a graph that grows makes each step slower than the one before, which would bend the curve."""
    start = time.monotonic()
    for step in range(count):
        time.sleep(max(0.0, start + step / a_second - time.monotonic()))
        yield step
    print(f"{count} steps in {time.monotonic() - start:.0f} s")


def session():
    v1.disable_eager_execution()
    weights = v1.get_variable("weights", [SIZE], initializer=v1.zeros_initializer())
    s = v1.Session()
    s.run(v1.global_variables_initializer())
    return s, weights


def grows():
    """The mistake: what is fed to the step is written into the graph, as a constant and the nodes that use it."""
    s, weights = session()
    for step in steps(240, a_second=3):
        s.run(tf.reduce_sum(tf.add(weights, np.full(SIZE, step, np.float32))))
    return s


def final():
    """The mistake mended: the graph is built once, and finalize() makes a further node an error."""
    s, weights = session()
    batch = v1.placeholder(tf.float32, [SIZE])
    total = tf.reduce_sum(tf.add(weights, batch))
    s.graph.finalize()
    for step in steps(1500, a_second=50):
        s.run(total, {batch: np.full(SIZE, step, np.float32)})
    return s


def eager():
    """The same without a graph."""
    weights = tf.Variable(np.zeros(SIZE, np.float32))
    for step in steps(1500, a_second=50):
        tf.reduce_sum(tf.add(weights, np.full(SIZE, step, np.float32))).numpy()


def op():
    """A custom operation whose library, leaky_op.cc, keeps a copy of each batch."""
    library = tf.load_op_library(os.path.abspath("leaky_op.so"))
    for step in steps(1500, a_second=25):
        library.leaky_sum(np.full(SIZE, step, np.float32))


# The session, if there is one, is open until the process ends, as that of a server.
s = {"grows": grows, "final": final, "eager": eager, "op": op}[sys.argv[1]]()
if s:
    print(len(s.graph.get_operations()), "nodes in the graph at the end")

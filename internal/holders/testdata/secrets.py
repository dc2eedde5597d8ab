# Has secrets in all places where the data of a program can be. What contains "s3cr3t" must not be in an answer.
import collections
import functools
import sys
import time
import types

MARK = "s3cr3t"


def secret(*words):
    """A text that is no identifier."""
    return " ".join((MARK,) + words) + "!"


class Session:
    pass


BY_NAME = {}  # secrets that may be identifiers are keys of an ordinary dict
COUNTER = collections.Counter()
ORDERED = collections.OrderedDict()
DEFAULT = collections.defaultdict(list)
SESSIONS = []
NAMESPACE = types.SimpleNamespace()
KEPT = []


class Attributes(dict):
    """A dict whose keys are attributes, too."""

    def __init__(self):
        self.__dict__ = self


BOTH = Attributes()


@functools.lru_cache(maxsize=None)
def cached(key):
    return [key]


def keep(**arguments):
    KEPT.append(lambda: arguments)


def main():
    for i in range(200):
        key, value = MARK + "_key_%d" % i, [MARK + "_value_%d" % i]
        BY_NAME[key] = {MARK + "_inner_%d" % i: value}
        COUNTER[key] += 1000 + i
        ORDERED[key] = [key]
        DEFAULT[key].append(bytearray(key, "ascii"))
        cached(key)
        keep(**{key: [key]})
        s = Session()
        s.token = MARK + "_token_%d" % i
        s.data = {key: [value]}
        setattr(s, secret("attribute", str(i)), [value])
        s.__dict__[MARK + ":%d" % i] = [value]
        SESSIONS.append(s)
        setattr(NAMESPACE, secret("name", str(i)), [i])
        BOTH[MARK + "_both_%d" % i] = [i]
        globals()[secret("global", str(i))] = [i]
        setattr(Session, secret("class", str(i)), [i])
    for i in range(20):
        name = secret("type", str(i))
        made = type(name, (Session,), {secret("in type", str(i)): [i]})
        made.__module__ = secret("module of type")
        made.__qualname__ = secret("qualified", str(i))
        KEPT.append(made())
        KEPT[-1].content = [i]
        module = types.ModuleType(secret("module", str(i)))
        module.content = [i]
        sys.modules[secret("modules", str(i))] = module
        sys.modules[MARK + "/%d" % i] = KEPT[-1]
        code = keep.__code__.replace(co_name=secret("code"), co_filename="/srv/" + secret("file"))
        f = types.FunctionType(code, globals())
        f.__name__ = f.__qualname__ = secret("function")
        f.kept = [i]
        setattr(f, secret("of function"), [i])
        KEPT.append(f)
        f(**{secret("argument"): [i]})
        error = ValueError(secret("error"))
        error.content = [secret("in error")]
        setattr(error, secret("of error"), [i])
        KEPT.append(error)
    scope = {secret("variable"): [1]}
    exec(compile("def generate():\n  x = [1]\n  yield x\ng = generate(); next(g)", secret("file name"), "exec"), scope)
    KEPT.append(scope)
    print("ready", flush=True)
    while True:
        time.sleep(0.1)


main()

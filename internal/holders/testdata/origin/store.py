CACHE = {}


def get(key):
    return CACHE[key]

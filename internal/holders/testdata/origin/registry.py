def make():
    kept = []

    def register(o):
        kept.append(o)

    return register


register = make()

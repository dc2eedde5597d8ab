class Pool:
    def __init__(self):
        self.items = []


POOL = Pool()

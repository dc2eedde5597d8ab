# Allocates small objects only: 400,000 pairs and numbers, each pair holding the one before.
def keep(node, i):
    return (node, i)
def main():
    node = None
    for i in range(400000):
        node = keep(node, i)
    return node
kept = main()

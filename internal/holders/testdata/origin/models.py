class Model:
    seen = []

THIRD = []

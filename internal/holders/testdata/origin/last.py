from third import THIRD

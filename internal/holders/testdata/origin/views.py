from created import CREATED
from models import Model
from pool import POOL
from registry import register as add
from store import CACHE as SHARED, get
from third import THIRD

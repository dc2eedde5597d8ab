import models
import pool
import registry
import store

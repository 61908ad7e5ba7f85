from popart import *

from spans.compound import *

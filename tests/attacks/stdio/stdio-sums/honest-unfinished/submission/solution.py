import sys

def value(text):

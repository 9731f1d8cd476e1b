"""Does the same as Patterns.java, for Python."""
import base64
import re
import sys

for line in sys.stdin.read().rstrip("\n").split("\n"):
    pattern, text = (base64.b64decode(part).decode() for part in line.split(" "))
    print("1" if re.search(pattern, text) else "0")

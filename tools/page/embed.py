"""embed.py HEADER FILE...: a C header with the text of each file, and of each file its SHA-256 as a
Content-Security-Policy names it."""
import base64
import hashlib
import os
import sys


def main(header, *paths):
    with open(header, "w", encoding="ascii") as out:
        out.write("/* Made by tools/page/embed.py. */\n")
        for path in paths:
            with open(path, "rb") as file:
                text = file.read()
            name = os.path.basename(path).replace(".", "_")
            digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
            out.write(f"static const char {name}[] = {{{','.join(map(str, text + bytes(1)))}}};\n")
            out.write(f'static const char {name}_hash[] = "{digest}";\n')


main(*sys.argv[1:])

"""The parts of a multipart body that a recorder received."""

import re


def parts_of(recorded):
    """Return name, file name, media type and content of each part, in their order."""
    boundary = re.search("boundary=(.*)", recorded.header("content-type"))[1].encode()
    parts = []
    for part in recorded.body.split(b"--" + boundary)[1:-1]:
        head, _, content = part.strip(b"\r\n").partition(b"\r\n\r\n")
        words = dict(re.findall(r'(\w+)="(.*?)"', head.decode()))
        kind = re.search("Content-Type: (.*)", head.decode())
        parts.append((words["name"], words.get("filename"), kind and kind[1], content.decode()))
    return parts

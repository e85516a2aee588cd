"""Characters of generated files that a reader would not see, or would see in another place."""

import re
import unicodedata

# Default_Ignorable_Code_Point of Unicode 16 outside the categories Cf and Cn, and blank symbols.
IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\u2800\U000e0100-\U000e01ef]"
)
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def unseen_in(text):
    """Return the characters of a file that have to be escapes, but for spaces and line feeds."""
    return sorted(
        {
            character
            for character in text
            if character not in " \n"
            and (
                unicodedata.category(character) in UNSEEN
                or unicodedata.bidirectional(character) in BIDI
                or IGNORED.match(character)
            )
        }
    )


def loose_marks_in(text):
    """Return the combining marks that sit on a quote, a bracket, a space or a backslash."""
    pairs = zip(f" {text}", text, strict=False)
    return [b for a, b in pairs if unicodedata.category(b)[0] == "M" and a in "\"'()[]{}\\ \n:,="]

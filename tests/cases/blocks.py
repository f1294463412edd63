"""The building blocks of pcaps/make for the variants: headers, checksums, ICRC, FPDUs."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "pcaps" / "make"))
from octets import *

"""What readers add: texts of tables, JSON lines, translation memories, catalogues, Parquet and data sets."""

from nmt.addons import AddOn

ADDON = AddOn(package="nmt.formats", offers={"formats": "nmt.formats.reading"})

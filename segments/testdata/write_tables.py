"""Writes one table of messages in every way that pyarrow and Polars have:
write_tables.py FOLDER. The test knows what is in it.
"""

import datetime
import os
import sys

import polars
import pyarrow
import pyarrow.feather
import pyarrow.ipc

folder = sys.argv[1]
UTC = datetime.timezone.utc
N = 5000


def columns():
    return {
        "publish_time": [datetime.datetime.fromtimestamp(1700000000 + i, UTC) for i in range(N)],
        "not_ours": [{"a": i, "b": ["x"] * (i % 3)} for i in range(N)],
        "key": [None if i % 7 == 3 else "key %d" % (i % 50) for i in range(N)],
        "value": [None if i % 11 == 5 else (b"" if i % 5 == 0 else b"\xff value %d of some length" % i) for i in range(N)],
        "sequence": list(range(N)),
        "producer": ["p%d" % (i % 3) for i in range(N)],
        "properties": [None if i % 2 else [{"key": "k", "value": b"v%d" % i}, {"key": "k", "value": None}] for i in range(N)],
    }


def path(name):
    return os.path.join(folder, name + ".arrow")


table = pyarrow.table(columns())
text = table.schema.get_field_index("key")
wide = table.set_column(text, "key", table["key"].cast(pyarrow.large_string()))
view = table.set_column(text, "key", table["key"].cast(pyarrow.string_view()))
value = table.schema.get_field_index("value")
wide = wide.set_column(value, "value", wide["value"].cast(pyarrow.large_binary()))
view = view.set_column(value, "value", view["value"].cast(pyarrow.binary_view()))
words = table.set_column(text, "key", table["key"].dictionary_encode())

for kind, made in {"plain": table, "large": wide, "view": view, "dictionary": words}.items():
    for codec in [None, "lz4", "zstd"]:
        options = pyarrow.ipc.IpcWriteOptions(compression=codec)
        for form, new in {"file": pyarrow.ipc.new_file, "stream": pyarrow.ipc.new_stream}.items():
            with new(path("pyarrow-%s-%s-%s" % (kind, codec, form)), made.schema, options=options) as w:
                w.write_table(made, max_chunksize=1000)
pyarrow.feather.write_feather(table, path("pyarrow-feather"))

frame = polars.DataFrame(columns())
for codec in ["uncompressed", "lz4", "zstd"]:
    frame.write_ipc(path("polars-%s-file" % codec), compression=codec)
    frame.write_ipc_stream(path("polars-%s-stream" % codec), compression=codec)
frame.with_columns(polars.col("key").cast(polars.Categorical)).write_ipc(path("polars-categorical-file"))
frame.write_ipc(path("polars-oldest-file"), compat_level=polars.CompatLevel.oldest())

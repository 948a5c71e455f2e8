"""Prints the rows of an Arrow file as lines of JSON: read_segment.py TOOL FILE.

Bytes are printed in base64, times as milliseconds since 1970.
"""

import base64
import datetime
import json
import sys

tool, name = sys.argv[1:]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(milliseconds=1)
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


if tool == "pyarrow":
    import pyarrow
    import pyarrow.ipc

    with pyarrow.ipc.open_file(name) as file:
        table = file.read_all()
    table.validate(full=True)
    rows = table.to_pylist()
    version = pyarrow.__version__
else:
    import polars

    frame = polars.read_ipc(name)
    rows = frame.to_dicts()
    version = polars.__version__

for row in rows:
    print(json.dumps({k: plain(v) for k, v in row.items()}))
print(tool, version, "read", len(rows), "rows", file=sys.stderr, end="")

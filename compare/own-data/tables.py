"""Tables and texts as the programs here read them."""
import gzip, io
import numpy as np, pandas as pd

LABELS = {"diamonds": "cut"}  # elsewhere the last column

def read(data, name, **options):
    """(columns, labels) of a table."""
    with gzip.open(f"{data}/tables/{name}.csv.gz", "rt", encoding="utf-8-sig") as file:
        frame = pd.read_csv(io.StringIO(file.read()), quotechar='"', **options)
    label = LABELS.get(name, frame.columns[-1])
    return frame.drop(columns=label), frame[label]

def raw(data, name):
    """All columns but the label, every cell as it is in the file."""
    if name == "ag-news":
        return pd.read_csv(f"{data}/text/ag-news.csv.gz", dtype=str, keep_default_na=False).drop(columns="label")
    return read(data, name, dtype=str, keep_default_na=False)[0]

def table(data, name):
    """(frame of numbers and categories, or of one column `text`; labels; classes)."""
    if name == "ag-news":
        frame = pd.read_csv(f"{data}/text/ag-news.csv.gz")
        texts = pd.DataFrame({"text": frame["title"] + " " + frame["description"]})
        return texts, *pd.factorize(frame["label"], sort=True)
    frame, labels = read(data, name, na_values=["?", "'?'"])
    labels, classes = pd.factorize(labels, sort=True)
    for column in frame:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = pd.factorize(frame[column], sort=True)[0].astype("float")
            frame[column] = pd.Categorical(frame[column].replace(-1, np.nan))
    return frame, labels, classes

def columns_json(frame):
    """The columns as judge_json reads them."""
    for name in frame:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = [None if c < 0 else int(c) for c in column.cat.codes]
            yield {"codes": codes, "levels": max(1, len(column.cat.categories))}
        else:
            yield {"numbers": [None if np.isnan(v) else float(v) for v in column.astype("float32")]}

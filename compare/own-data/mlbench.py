"""Writes more tables for `run`: python mlbench.py MLBENCH OUT

MLBENCH is the folder `data` of R's package mlbench (Debian: `apt-get download r-cran-mlbench; dpkg -x r-cran-mlbench*.deb .`, then
usr/lib/R/site-library/mlbench/data). Needs pandas, scikit-learn and pyreadr. OUT/tables/NAME.csv.gz: the label is the last column.
Development: glass sonar vehicle pimaindiansdiabetes2 wine. Aside: ionosphere housevotes84 breastcancer zoo vowel satellite."""
import pathlib, sys
import pyreadr
from sklearn import datasets

LABELS = {"Glass": "Type", "Vehicle": "Class", "Vowel": "Class", "Sonar": "Class", "Ionosphere": "Class", "PimaIndiansDiabetes2": "diabetes",
          "HouseVotes84": "Class", "Soybean": "Class", "Satellite": "classes", "Zoo": "type", "DNA": "Class", "BreastCancer": "Class", "LetterRecognition": "lettr"}

def write(place, name, frame, label):
    frame = frame[[column for column in frame if column != label] + [label]]
    frame[frame[label].notna()].to_csv(place / f"{name}.csv.gz", index=False)

source, place = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "tables"
place.mkdir(parents=True, exist_ok=True)
for name, label in LABELS.items():
    frame = next(iter(pyreadr.read_r(source / f"{name}.rda").values())).drop(columns="Id", errors="ignore")
    for column in frame.select_dtypes("category"):
        frame[column] = frame[column].astype(str).where(frame[column].notna(), None)
    write(place, name.lower(), frame, label)
for name in ("wine", "digits"):
    known = getattr(datasets, f"load_{name}")(as_frame=True)
    write(place, name, known.data.assign(label=known.target.map(lambda label: f"k{label}")), "label")

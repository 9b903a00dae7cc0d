"""The peers: majority, crowd-kit's Dawid-Skene, GLAD and MACE, cleanlab's CROWDLAB. Each gives labels, and a quality per annotator or None."""
import warnings
import numpy as np
warnings.filterwarnings("ignore")

def frame(found):
    import pandas
    return pandas.DataFrame(dict(task=found["row"], worker=found["annotator"], label=found["label"]))

def wide(found):
    table = np.full((len(found["truth"]), int(found["annotator"].max()) + 1), np.nan)
    table[found["row"], found["annotator"]] = found["label"]
    return table

def vote(found):
    from sets import majority
    return majority(len(found["truth"]), found["probs"].shape[1], found["row"], found["label"]), None

def of_crowd_kit(make):
    def run(found):
        model = make(); said = model.fit_predict(frame(found)).reindex(np.arange(len(found["truth"]))).to_numpy().astype(int)
        quality = None
        if hasattr(model, "errors_") and model.errors_ is not None:
            right = np.array([said[r] == l for r, l in zip(found["row"], found["label"])], float); people = int(found["annotator"].max()) + 1
            quality = np.bincount(found["annotator"], right, people) / np.maximum(1, np.bincount(found["annotator"], minlength=people))
        return said, quality
    return run

def dawid_skene():
    from crowdkit.aggregation import DawidSkene
    return DawidSkene(n_iter=100)

def glad():
    from crowdkit.aggregation import GLAD
    return GLAD(n_iter=20, silent=True)

def mace():
    from crowdkit.aggregation import MACE
    return MACE(n_restarts=3, n_iter=30, random_state=0)

def crowdlab(found):
    from cleanlab.multiannotator import get_label_quality_multiannotator
    table = wide(found); used = ~np.isnan(table).all(0)
    result = get_label_quality_multiannotator(table[:, used], found["probs"], verbose=False)
    quality = np.full(table.shape[1], np.nan); stats = result["annotator_stats"]["annotator_quality"]
    quality[np.flatnonzero(used)[stats.index.to_numpy().astype(int)]] = stats.to_numpy()
    return result["label_quality"]["consensus_label"].to_numpy(), quality

PEERS = {"majority": vote, "Dawid-Skene (crowd-kit)": of_crowd_kit(dawid_skene), "CROWDLAB (cleanlab)": crowdlab, "GLAD (crowd-kit)": of_crowd_kit(glad), "MACE (crowd-kit)": of_crowd_kit(mace)}

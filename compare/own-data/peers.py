"""The alternatives: judges whose probabilities cleanlab audits, and learners. All with their defaults."""
import numpy as np, pandas as pd
from cleanlab.classification import CleanLearning
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

def is_text(frame):
    return list(frame) == ["text"]

def usable(frame):
    """scikit-learn fails on a column without a single value, also when that happens in one fold."""
    return [c for c in frame if frame[c].isna().mean() <= 0.99]

def encoder(frame):
    categories = [c for c in usable(frame) if isinstance(frame[c].dtype, pd.CategoricalDtype)]
    numbers = [c for c in usable(frame) if c not in categories]
    return ColumnTransformer([("n", make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler()), numbers),
                              ("c", OneHotEncoder(handle_unknown="ignore", sparse_output=False), categories)])

def linear(frame):
    if is_text(frame):
        words = ColumnTransformer([("t", TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2), "text")])
        return make_pipeline(words, LogisticRegression(max_iter=1000))
    return make_pipeline(encoder(frame), LogisticRegression(max_iter=1000))

def boosting(frame):
    if is_text(frame): return None
    keep = ColumnTransformer([("all", "passthrough", usable(frame))], verbose_feature_names_out=False).set_output(transform="pandas")
    return make_pipeline(keep, HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0))

def forest(frame):
    return None if is_text(frame) else make_pipeline(encoder(frame), RandomForestClassifier(random_state=0))

def plain(make):
    def fit(train, given, test):
        model = make(train)
        return None if model is None else model.fit(train, given).predict(test)
    return fit

def clean_learning(model):
    """CleanLearning takes numbers: the encoded columns."""
    def fit(train, given, test):
        if is_text(train): return None
        encode = encoder(train).fit(train)
        return CleanLearning(model()).fit(encode.transform(train), given).predict(encode.transform(test))
    return fit

JUDGES = {"logistic regression": linear, "boosting": boosting}
LEARNERS = {"logistic regression": plain(linear), "boosting": plain(boosting), "random forest": plain(forest),
            "CleanLearning, logistic regression": clean_learning(lambda: LogisticRegression(max_iter=1000)),
            "CleanLearning, boosting": clean_learning(lambda: HistGradientBoostingClassifier(random_state=0))}

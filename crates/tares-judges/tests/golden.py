"""Prints the golden values of linear.rs and text.rs, made with scikit-learn 1.9.0: `python3 golden.py`."""
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

def rows(count, width, classes):
    """The same numbers as `rows` in linear.rs: a linear congruential generator, exact in 32-bit floats."""
    state, values = 1, []
    for _ in range(count * width + count):
        state = (state * 1103515245 + 12345) % 2**31
        values.append((state >> 16) % 64 / 16 - 2)
    x = np.array(values[:count * width]).reshape(count, width)
    noise = np.array(values[count * width:])
    score = x[:, 0] - 0.5 * x[:, 1] + noise
    y = np.clip(np.floor((score + 3) * classes / 6), 0, classes - 1).astype(int)
    return x, y

print("linear: log-probabilities of the first row, log-loss of all")
for classes, c in ((2, 0.5), (3, 0.1), (4, 10.0)):
    x, y = rows(200, 3, classes)
    z = (x - x.mean(0)) / x.std(0)
    model = LogisticRegression(C=c, tol=1e-12, max_iter=10000).fit(z, y)
    p = np.log(model.predict_proba(z))
    print(classes, c, [round(v, 9) for v in p[0]], round(-p[np.arange(len(y)), y].mean(), 9))

print("text: values of every row, ascending; words and characters scaled by 1/sqrt 2")
texts = ["The cat sat on the mat, the cat!", "A dog sat there", "Été à la mer; la mer", "cat & dog", ""]
spaced = lambda text: " " + " ".join(text.lower().split()) + " " if text.split() else ""
for sublinear, least in ((False, 1), (True, 2)):
    blocks = [TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=sublinear, min_df=least),
              TfidfVectorizer(analyzer="char", ngram_range=(2, 4), sublinear_tf=sublinear, min_df=least, preprocessor=spaced)]
    made = [block.fit_transform(texts) / 2**.5 for block in blocks]
    for row in range(len(texts)):
        values = np.sort(np.concatenate([block[row].toarray()[0] for block in made]))
        values = values[values > 0]
        print(sublinear, least, len(values), round(values.sum(), 6), [round(v, 6) for v in values[:3]], [round(v, 6) for v in values[-3:]])

print("models of texts: log-probabilities of the first row, log-loss of all")
labels = np.array([0, 1, 2, 1, 0])
blocks = [TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2),
          TfidfVectorizer(analyzer="char", ngram_range=(2, 4), sublinear_tf=True, min_df=2, preprocessor=spaced)]
x = np.hstack([block.fit_transform(texts).toarray() / 2**.5 for block in blocks])
for model in (LogisticRegression(C=0.5, tol=1e-12, max_iter=10000), MultinomialNB(alpha=0.3, class_prior=np.array([2.5, 2.5, 1.5]) / 6.5)):
    p = np.log(model.fit(x, labels).predict_proba(x))
    print([float(round(v, 7)) for v in p[0]], round(-p[np.arange(len(labels)), labels].mean(), 7))

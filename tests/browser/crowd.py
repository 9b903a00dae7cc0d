"""Made-up answers of three people to 600 rows: two are mostly right, one guesses."""
import random

draw = random.Random(3)
print("row,annotator,label")
for row in range(600):
    meant = draw.randrange(10)
    for who, right in (("ann", 0.9), ("bob", 0.8), ("eve", 0.2)):
        print(f"{row},{who},{meant if draw.random() < right else draw.randrange(10)}")

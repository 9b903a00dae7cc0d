"""The runs of a comparison on the workers of a Ray cluster: one task per part, all with one --out on a file system they share.

    python python/examples/ray_shards.py 8 compare --spec table/experiment.toml --out /shared/table
"""

import subprocess
import sys

import ray


@ray.remote(num_cpus=1, max_retries=3)  # a worker that is lost: its part is done again, from its last checkpoints
def part(number: int, of: int, arguments: list[str]) -> None:
    subprocess.run(["tares", *arguments, "--shard", f"{number}/{of}", "--quiet"], check=True)


if __name__ == "__main__":
    of, arguments = int(sys.argv[1]), sys.argv[2:]
    ray.init()
    ray.get([part.remote(number, of, arguments) for number in range(1, of + 1)])

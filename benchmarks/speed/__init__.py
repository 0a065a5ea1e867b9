"""Timings side by side, as ratios: each module with a `run()` measures one thing against others doing it.

`python -m benchmarks.speed` lists them, `python -m benchmarks.speed loading` runs one. Every contender runs
in a process of its own, the contenders take turns, and the best of several runs counts, since what a shared
machine adds to a time is never negative. Results go to `benchmarks/results/speed/NAME.json`.
"""

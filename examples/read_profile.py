"""Profile a PopTorch model, then read the profile with pva: memory of tiles and the longest steps."""

import os

os.environ["POPLAR_ENGINE_OPTIONS"] = '{"autoReport.all": "true", "autoReport.directory": "reports"}'

import poptorch
import pva
import torch


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    inference_model = poptorch.inferenceModel(model)
    inference_model(torch.rand(64, 256))
    inference_model.destroy()

    folder = next(path for path, _, files in os.walk("reports") if "profile.pop" in files)
    with pva.openReport(folder) as report:
        tiles = report.compilation.tiles
        fullest = max(tile.memory.total.includingGaps for tile in tiles)
        print(f"fullest of {len(tiles)} tiles: {fullest:,} bytes (modelled)")
        steps = sorted(report.execution.steps, key=lambda step: step.ipus[0].cycles, reverse=True)
        for step in steps[:3]:
            print(f"{step.ipus[0].cycles:>10,} cycles  {step.program.name}")


if __name__ == "__main__":
    main()

"""A program that reads profiles, writes marks into a trace, and looks at the virtual IPUs."""

import gcipuinfo
import libpvti as pvti
import pva
from tremula import ask, custom_ops, testing


def main() -> None:
    info = gcipuinfo.gcipuinfo()
    info.setUpdateMode(True)
    powers: list[str] = info.getNamedAttributeForAll(gcipuinfo.IpuPower)
    channel: pvti.TraceChannel = pvti.createTraceChannel("application")
    with pvti.Tracepoint(channel, "step"):
        report = pva.openReport("reports/training")
    tiles: int = report.compilation.target.numTiles
    total: int = sum(step.ipus[0].cycles for step in report.execution.steps)
    print(powers, tiles, total)
    custom_ops.register("org.example", "Cube", lambda x: x**3)
    answers = ask.estimate(ask.factory("model.py:make"), ipus=[1, 2], target="bow")
    print(answers.results[0]["throughput"].value)
    testing.assert_fits("model.py:make", target="bow", ipus=1)


if __name__ == "__main__":
    main()

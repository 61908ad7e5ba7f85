"""The file of codelets that the page adds."""

from pathlib import Path

Path("include").mkdir()
Path("codelets.cpp").write_text(
    "#include <poplar/Vertex.hpp>\n"
    "struct Fill : public poplar::Vertex {\n"
    "  poplar::Output<poplar::Vector<float>> out;\n"
    "  bool compute() { for (auto &each : out) each = N; return true; }\n"
    "};\n"
)

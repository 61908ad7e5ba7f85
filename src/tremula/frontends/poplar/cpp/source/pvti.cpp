extern "C" int tremula_pvti() { return 1; }

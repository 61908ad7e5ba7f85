// The only symbol of libraries whose functions are in their headers.
extern "C" int tremula_library_of_headers() { return 1; }

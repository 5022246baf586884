# Installs headers, libraries, the program, a CMake package and a pkg-config file.

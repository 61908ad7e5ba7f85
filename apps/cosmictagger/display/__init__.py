"""Events as pictures: PNG files and a gallery in one HTML file."""

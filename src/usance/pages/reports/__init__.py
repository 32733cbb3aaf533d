"""Reports as one HTML file each: no script, nothing from a network, made to be printed."""

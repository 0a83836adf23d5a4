"""Where and how to compute: the device, and the settings of torch and numpy."""

"""What a simulator of Dragonfly networks writes: iteration marks, port telemetry, configuration.

`folder.read_network_run` reads a run; the other files read one format each.
"""

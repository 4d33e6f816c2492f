"""The terminal: capabilities, background colour, clipboard, signals, output back-pressure and patches of Textual."""

"""The screen. Textual and rich are imported in this package alone, and only when a dashboard is really opened.

app.py       the application: a monitor, its changes, the run that is shown
board.py     the dashboard: panels placed on pages
box.py       one panel as a widget: view -> rows -> changed cells
actions.py   every action with its keys and its help
themes.py    what a role looks like
terminal.py  what this terminal can do
_textual.py  workarounds for Textual, each with its reason
"""

"""The screen. Textual and rich are imported in this package alone, and only when a dashboard is really opened.

app.py       the application: a monitor, its changes, the run that is shown
board.py     the dashboard: panels placed on pages
box.py       one panel as a widget: view -> rows -> changed cells
actions/     every action with its keys and its help, a file a group
work_screen.py  a screen over the dashboard that goes on living; run_list.py, metric_browser.py are such
state.py     what a person has chosen to see; saved_view.py keeps it
themes.py    what a role looks like
terminal.py  what this terminal can do; background.py asks it whether it is dark; clipboard.py
_textual.py  workarounds for Textual, each with its reason
"""

"""The dashboard. Only this package imports Textual and rich, and only when a dashboard is opened.

first_frame.py  the first page, drawn while Textual is imported; page.py has it without widgets
app.py          the application; launch.py runs it
board.py        panels on pages; box.py is the widget of one panel, arrangement.py chooses the panels
redraw_loop.py  when to draw, within the limits of frame_limiter.py
action.py       the type of an action; actions/ has every action with its keys and its help text
screens/        screens on top of the dashboard: run list, metric list, log, config, help, notes, comparison
terminal/       capabilities, output back-pressure, clipboard, signals, patches of Textual; changed_cells.py is the
                patch that sends only the cells that changed
state.py        what the user has chosen to see; saved_view.py stores it
"""

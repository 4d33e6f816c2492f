"""The live page: runs in a browser, changed by server-sent events while the logs grow.

    hub         which pages are open, what they have in view, and when to draw; the HTML of each run's page, drawn once
                for all open pages and versioned, and its best and worst texts while they are in view
    guard       which requests are answered: the token, Host and Origin
    server      the addresses; only here is aiohttp

docs/commands.md describes what a user sees.
"""

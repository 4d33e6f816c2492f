"""The live page: runs in a browser, changed by server-sent events while the logs grow.

    boards      the HTML of the parts of the page, drawn once for all pages and versioned
    texts       the best and worst generated texts of a run, as long as its page has them in view
    hub         which pages are open, what they have in view, and when to draw
    guard       which requests are answered: the token, Host and Origin
    server      the addresses; only here is aiohttp

docs/commands.md describes what a user sees.
"""

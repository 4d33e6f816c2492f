"""For agents: answers.py answers, server.py speaks the Model Context Protocol, skill.md names the commands.

Nothing here writes, starts a program or reads anything but the named targets. Texts from logs are marked as data.
"""

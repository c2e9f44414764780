"""`python -m appliance` is the command line."""

from appliance.cli.main import main

main()

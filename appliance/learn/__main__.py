"""`python -m appliance.learn`: the learner process; started by `appliance.learn.client`."""

from appliance.learn.server import main

main()

add_two = 3

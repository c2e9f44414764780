def reason_of(function, text):
    try:
        function(text)
    except ValueError as error:
        return str(error)
    return ""

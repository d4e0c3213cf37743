"""The dialects' second text form: TVMScript."""
